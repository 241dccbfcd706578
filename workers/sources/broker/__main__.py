"""The broker's process: `python -m workers.sources.broker --socket PATH --settings FD [--secrets FD]`.

The secrets are the URLs that stood in environment variables. URLs in files and in `.env` it reads itself. No other
process of the service has them.
"""

from __future__ import annotations

from core.telemetry import configure_logging, log_uncaught
from workers.sidecar.serving import serve_until_told
from workers.sidecar.starting import begin
from workers.sources.broker.broker import Broker
from workers.sources.broker.memory import hold_to
from workers.sources.broker.server import Server

READY = "broker ready"


def main() -> None:
    """Serve until SIGTERM, or until the process that started it ends."""
    given = begin("workers.sources.broker")
    configure_logging(given.settings)
    hold_to(given.settings.workers.broker_mb)
    log_uncaught()
    serve_until_told(Server(Broker(given.settings, given.secrets), given.socket), READY)


if __name__ == "__main__":
    main()
