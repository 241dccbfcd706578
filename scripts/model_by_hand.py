"""A Chat Completions endpoint whose replies somebody writes: to read the prompts as a model does, and to try them.

    python scripts/model_by_hand.py FOLDER --port 8123
    OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:8123/v1 OPENAI_MODEL=by-hand threadbook ask "…" --file data.csv

Each request becomes FOLDER/NNN.request.json. The reply is read from FOLDER/NNN.reply.json as soon as that is there:
{"content": "text", "tool_calls": [{"name": "run_python", "arguments": {"code": "…", "title": "…"}}]}. Write it under
another name and rename it. Raise `[model] timeout_s` in threadbook.toml: nobody writes as fast as a model does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_POLL_S = 0.2
_MODEL = "by-hand"


def serve(folder: Path, port: int, patience_s: float = 3_600.0) -> ThreadingHTTPServer:
    """The server, not yet started. It listens on loopback only and continues the numbers that the folder has."""
    folder.mkdir(parents=True, exist_ok=True)
    first = 1 + max((int(path.name.split(".")[0]) for path in folder.glob("*.request.json")), default=0)
    numbers = itertools.count(first)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._begin("application/json")
            self.wfile.write(json.dumps({"data": [{"id": _MODEL, "object": "model"}], "object": "list"}).encode())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = f"{next(numbers):03d}"
            (folder / f"{name}.request.json").write_text(
                json.dumps(asked, ensure_ascii=False, indent=1), encoding="utf-8"
            )
            reply = _wait_for(folder / f"{name}.reply.json", patience_s)
            if reply is None:
                self.send_error(503, "nobody answered")
                return
            self._begin("text/event-stream")
            for event in _events(reply, name):
                self.wfile.write(f"data: {event}\n\n".encode())

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def _wait_for(path: Path, patience_s: float) -> dict[str, Any] | None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if path.exists():
            reply: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return reply
        time.sleep(_POLL_S)
    return None


def _events(reply: dict[str, Any], name: str) -> Iterator[str]:
    """The reply as server-sent events: all of it, why it ends, and what it took."""
    calls = [
        {
            "index": place,
            "id": f"call_{name}_{place}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)},
        }
        for place, call in enumerate(reply.get("tool_calls") or [])
    ]
    delta = {"role": "assistant", "content": reply.get("content") or ""} | ({"tool_calls": calls} if calls else {})
    base = {"id": name, "object": "chat.completion.chunk", "created": int(time.time()), "model": _MODEL}
    yield json.dumps(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}, ensure_ascii=False)
    reason = "tool_calls" if calls else "stop"
    yield json.dumps(base | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    yield "[DONE]"


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8123)
    given = parser.parse_args()
    with serve(given.folder, given.port) as server:
        print(f"http://127.0.0.1:{given.port}/v1 writes requests to {given.folder}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
