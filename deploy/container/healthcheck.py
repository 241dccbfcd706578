"""The health check of the image: exit code 0 when the process in this container is up, else 1.

A container runs a bot or a worker service. Each has a port of its own, so whichever listens is asked. Standard library
only: it starts every few seconds.
"""

from __future__ import annotations

import os
import sys
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

PORTS = ("THREADBOOK_BOT_HEALTH_PORT", "THREADBOOK_WORKER_HEALTH_PORT")
ANSWER_S = 8


def answer(port: str) -> int:
    """The status of /healthz on this port; 0 when nothing listens."""
    # Without ProxyHandler({}) a proxy of the environment would be asked for 127.0.0.1.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/healthz", timeout=ANSWER_S) as reply:
            return int(reply.status)
    except HTTPError as error:
        return error.code
    except (URLError, OSError):
        return 0


def main() -> int:
    """0 when at least one of the two ports answers, and each that answers says that all is well."""
    ports = [os.environ.get(name, "0") for name in PORTS]
    answers = [found for port in ports if port not in ("", "0") and (found := answer(port))]
    return 0 if answers and all(found == 200 for found in answers) else 1


if __name__ == "__main__":
    sys.exit(main())
