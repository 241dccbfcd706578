"""A small Chat Completions endpoint on a real socket. It behaves as a test tells it to, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]


class Endpoint(ThreadingHTTPServer):
    """Plays `plan`, one behaviour per request, and keeps the requests. The last behaviour repeats."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan: list[Behaviour] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """What OPENAI_BASE_URL would be."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of several tests."""


class Handler(BaseHTTPRequestHandler):
    """One connection; HTTP/1.0, so that closing it ends a stream."""

    server: Endpoint

    def do_POST(self) -> None:
        """A chat completion is asked for."""
        endpoint = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        endpoint.asked.append({"path": self.path, **body})
        endpoint.keys.append(self.headers.get("Authorization", ""))
        place = len(endpoint.asked) - 1
        endpoint.plan[min(place, len(endpoint.plan) - 1)](self)

    def answer(self, status: int, body: bytes, mimetype: str = "application/json", **headers: str) -> None:
        """One whole response with exactly these headers."""
        self.send_response_only(status)
        self.send_header("Content-Type", mimetype)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""


@contextmanager
def endpoint(*plan: Behaviour) -> Iterator[Endpoint]:
    """An endpoint with this plan, running in a thread."""
    with Endpoint() as server:
        server.plan = list(plan)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


# --- behaviours


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One event of a stream, as OpenAI writes it."""
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": choices, **more}


def stream(*events: dict[str, Any] | str, done: bool = True) -> Behaviour:
    """Stream these events; a string is sent as it is."""

    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        handler.end_headers()
        for event in events:
            line = event if isinstance(event, str) else f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
            handler.wfile.write(line.encode())
            handler.wfile.flush()
        if done:
            handler.wfile.write(b"data: [DONE]\n\n")

    return behave


def says(*words: str, prompt: int = 11, completion: int = 7) -> Behaviour:
    """Stream this text and report its usage."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return stream(*(chunk({"content": word}) for word in words), chunk(finish="stop"), chunk(usage=usage))


def refuses(status: int, message: str = "no", code: str | None = None, **headers: str) -> Behaviour:
    """Answer with an error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return lambda handler: handler.answer(status, body, **headers)


def sends(status: int, body: str, mimetype: str = "text/html") -> Behaviour:
    """Answer with this body."""
    return lambda handler: handler.answer(status, body.encode(), mimetype)


def hangs(*first: dict[str, Any]) -> Behaviour:
    """Begin a stream with these events and then say nothing until the test is over."""

    def behave(handler: Handler) -> None:
        stream(*first, done=False)(handler)
        handler.server.closing.wait(30)

    return behave


def pings(handler: Handler) -> None:
    """Keep the stream alive with comments and never say a word."""
    stream(done=False)(handler)
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b": still thinking\n\n")
        handler.wfile.flush()


def chatters(handler: Handler) -> None:
    """Talk without end."""
    stream(done=False)(handler)
    line = f"data: {json.dumps(chunk({'content': 'bla ' * 500}))}\n\n".encode()
    while not handler.server.closing.is_set():
        handler.wfile.write(line)


def calls(name: str, *, prompt: int = 11, completion: int = 7, cached: int = 0, **arguments: Any) -> Behaviour:
    """Stream one tool call, its arguments in two pieces, and report its usage."""
    first, rest = _call_in_pieces(name, arguments)
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return stream(first, rest, chunk(finish="tool_calls"), chunk(usage=usage))


def cuts_off_a_call(name: str, **arguments: Any) -> Behaviour:
    """Begin to stream a tool call and hang up inside its arguments."""
    first, _ = _call_in_pieces(name, arguments)
    return stream(first, done=False)


def _call_in_pieces(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    text = json.dumps(arguments, ensure_ascii=False)
    half = len(text) // 2
    first = {"index": 0, "id": f"call-{name}", "function": {"name": name, "arguments": text[:half]}}
    return (
        chunk({"tool_calls": [first]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": text[half:]}}]}),
    )
