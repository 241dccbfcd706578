"""The broker's process: `python -m workers.sources.broker --socket PATH --settings FD [--urls FD]`.

Two open files that it inherits hold JSON: the settings of the sources, and the URLs that stood in environment
variables. URLs in files and in `.env` it reads itself. No other process of the service has them.
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
from executor.linux import die_with_parent
from workers.sources.broker.broker import Broker
from workers.sources.broker.memory import hold_to
from workers.sources.broker.server import Server

READY = "broker ready"


def main() -> None:
    """Serve until SIGTERM, or until the process that started it ends."""
    parser = argparse.ArgumentParser(prog="workers.sources.broker")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--settings", type=int, required=True)
    parser.add_argument("--urls", type=int)
    options = parser.parse_args()
    die_with_parent(signal.SIGTERM)
    os.umask(0o077)
    settings = Settings(**_read(options.settings))
    urls = {} if options.urls is None else _read(options.urls)
    configure_logging(settings)
    hold_to(settings.workers.broker_mb)
    log_uncaught()
    server = Server(Broker(settings, urls), options.socket)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(READY, flush=True)
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
