"""The health check of the image asks whichever process is in the container."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

FILE = Path(__file__).parents[3] / "deploy" / "container" / "healthcheck.py"
specification = importlib.util.spec_from_file_location("healthcheck", FILE)
assert specification is not None
assert specification.loader is not None
healthcheck = importlib.util.module_from_spec(specification)
specification.loader.exec_module(healthcheck)

Serve = Callable[[int], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a page that answers with a status; gives its port."""
    with ExitStack() as stack:

        def start(status: int) -> str:
            class Page(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(status if self.path == "/healthz" else 404)
                    self.end_headers()

                def log_message(self, format: str, *args: object) -> None:
                    pass

            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Page))
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            stack.callback(server.shutdown)
            return str(server.server_port)

        yield start


@pytest.mark.parametrize(
    ("bot", "worker", "code"), [(200, None, 0), (None, 200, 0), (503, None, 1), (200, 503, 1), (None, None, 1)]
)
def test_a_container_is_well_when_what_listens_in_it_says_so(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, bot: int | None, worker: int | None, code: int
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("THREADBOOK_BOT_HEALTH_PORT", serve(bot) if bot else "1")
    monkeypatch.setenv("THREADBOOK_WORKER_HEALTH_PORT", serve(worker) if worker else "0")
    assert healthcheck.main() == code
