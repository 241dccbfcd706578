"""The broker's process: `python -m workers.sources.broker --socket PATH --given FD`.

What it is given is JSON in an open file that is inherited: the settings of the sources, and the URLs that stood in
environment variables. It alone has them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from core.settings import Settings
from core.telemetry import configure_logging, log_uncaught
from executor.linux import die_with_parent
from workers.sources.broker.broker import Broker
from workers.sources.broker.server import Server

READY = "broker ready"


def main() -> None:
    """Serve until SIGTERM, or until the process that started it ends."""
    parser = argparse.ArgumentParser(prog="workers.sources.broker")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--given", type=int, required=True)
    options = parser.parse_args()
    die_with_parent(signal.SIGTERM)
    os.umask(0o077)
    with os.fdopen(options.given, "rb") as file:
        given = json.loads(os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0))
    settings = Settings(**given["settings"])
    configure_logging(settings)
    log_uncaught()
    server = Server(Broker(settings, given["urls"]), options.socket)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(READY, flush=True)
    try:
        server.serve()
    finally:
        server.close()


if __name__ == "__main__":
    main()
