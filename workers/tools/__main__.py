"""The tools process: `python -m workers.tools --socket PATH --settings FD [--secrets FD]`.

Two open files that it inherits hold JSON: the settings of the servers, and what stood for them in environment
variables. What is in `.env` it reads itself. No other process of the service has it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from core.settings import Settings
from core.telemetry import configure_logging, log_uncaught
from executor.linux import die_with_parent, stay_with_orphans
from workers.tools.server import Server


def main() -> None:
    """Serve until SIGTERM, or until the process that started it ends."""
    parser = argparse.ArgumentParser(prog="workers.tools")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--settings", type=int, required=True)
    parser.add_argument("--secrets", type=int)
    options = parser.parse_args()
    die_with_parent(signal.SIGTERM)
    stay_with_orphans()
    os.umask(0o077)
    settings = Settings(**_read(options.settings))
    secrets = {} if options.secrets is None else _read(options.secrets)
    configure_logging(settings)
    log_uncaught()
    server = Server(settings, secrets, options.socket)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server.serve()
    finally:
        server.close()


def _read(descriptor: int) -> dict[str, Any]:
    """The JSON object in an open file, which other processes read as well: their position is not moved."""
    content: dict[str, Any] = json.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    os.close(descriptor)
    return content


if __name__ == "__main__":
    main()
