"""The tools process: `python -m workers.tools --socket PATH --settings FD [--secrets FD]`.

The secrets are what stood in environment variables. What is in `.env` it reads itself. No other process of the service
has it.
"""

from __future__ import annotations

from core.telemetry import configure_logging, log_uncaught
from executor.linux import stay_with_orphans
from workers.sidecar.serving import serve_until_told
from workers.sidecar.starting import begin
from workers.tools.server import Server


def main() -> None:
    """Serve until SIGTERM, or until the process that started it ends."""
    given = begin("workers.tools")
    stay_with_orphans()
    configure_logging(given.settings)
    log_uncaught()
    serve_until_told(Server(given.settings, given.secrets, given.socket))


if __name__ == "__main__":
    main()
