"""A thread with a real endpoint behind it that is down, refuses the key, or talks nonsense."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness import Start
from patience import PATIENCE_S

from workers.models.openai_model import OpenAIModel

pytestmark = pytest.mark.integration

KEY = "sk-not-to-be-shown-anywhere"


@contextmanager
def endpoint(status: int, body: str, mimetype: str) -> Iterator[str]:
    """An endpoint with one answer for everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", mimetype)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


REFUSAL = (
    '{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}'
)
RUBBISH = '{"choices": [{"message": {"role": "assistant", "content": 12, "tool_calls": "no"}}]}'


@pytest.mark.parametrize(
    ("where", "words"),
    [
        pytest.param(nobody, "does not answer at the moment", id="down"),
        pytest.param(lambda: endpoint(401, REFUSAL, "application/json"), "refuses our access", id="wrong-key"),
        pytest.param(lambda: endpoint(503, "busy", "text/plain"), "does not answer at the moment", id="overloaded"),
        pytest.param(lambda: endpoint(200, "<html>hi</html>", "text/html"), "I could not understand", id="html"),
        pytest.param(lambda: endpoint(200, RUBBISH, "application/json"), "could not finish this", id="wrong-shape"),
        pytest.param(lambda: endpoint(200, "data: {{{\n\n", "text/event-stream"), "I could not understand", id="torn"),
    ],
)
def test_an_endpoint_in_trouble_is_one_kind_sentence_in_the_thread(
    start: Start, tmp_path: Path, where: Callable[[], AbstractContextManager[str]], words: str
) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    with where() as url:
        model = OpenAIModel(
            api_key=KEY, base_url=url, model="gpt-test", mode="native", timeout_s=PATIENCE_S, max_retries=0
        )
        talk = start(model).ask("How much was sold?", [path])
    assert talk.turn.status == "stopped"
    assert talk.text.count(words) == 1
    assert "kept" in talk.text or "still here" in talk.text
    assert KEY not in talk.text
    assert talk.reactions() == {"warning"}
