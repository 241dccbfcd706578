"""A Chat Completions endpoint that walks: a question names letters, and each letter is one cell.

    walk q7 a b        →  cell a, cell b, then the report "Walked q7: a b."
    walk q7 p          →  the same with a chart: the cell of this letter draws one

What comes next follows from the messages alone: the first letter whose cell has not said "done". A cell that was cut
off is asked for again under another id. A test may hold a reply back (`hold`), as a slow model would.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
HOLD_S = 120.0

_QUESTION = re.compile(r"walk (\w+)((?: [a-z])+)")
_DONE = re.compile(r"done \w+\.[a-z];")
_CELL = re.compile(r'Cell \d+ ".*": (\w+) \(')
"""The first line of what a model is told of a cell, with its status."""

CELL = """\
import os, time  # try {attempt}
seen = globals().get('seen', [])
time.sleep({nap})
while {held} and not os.path.exists('go-{question}'):
    time.sleep(0.02)
seen.append('{step}')
open('walked.txt', 'a').write('{step} ')
print('done {step};', 'seen', *seen)
print('walked', open('walked.txt').read())
{chart}"""
CHART_LETTER = "p"
_CHART = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.title('chart {step}')\n"


class Walker(ThreadingHTTPServer):
    """The endpoint. `before_report(question)` is called before it writes the report of a question."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.held_replies: dict[str, threading.Event] = {}
        """By "question.letter": the reply that asks for this cell waits until the event is set."""
        self.waiting: set[str] = set()
        """The held replies that somebody waits for now."""
        self.held_cells: set[str] = set()
        """By "question.letter": the cell waits until there is a file go-question in its workspace."""
        self.before_report: Callable[[str], None] = lambda question: None
        self.nap: Callable[[], float] = lambda: 0.0
        """Seconds that the next reply takes, and the next cell."""

    @property
    def url(self) -> str:
        """What OPENAI_BASE_URL is."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed here: one that hangs up is no error."""

    def reply(self, body: Json) -> Json:
        """The delta of the one message that answers this request."""
        if not body.get("tools"):
            return {"content": '{"is_final": true}'}
        time.sleep(self.nap())
        messages = body["messages"]
        opening = max(i for i, m in enumerate(messages) if m["role"] == "user" and _QUESTION.search(_words(m)))
        question, letters = _QUESTION.findall(_words(messages[opening]))[-1]
        since = messages[opening:]
        said = "\n".join(_said_well(_words(message)) for message in since if message["role"] == "tool")
        attempt = sum(message["role"] == "assistant" for message in since)
        for letter in letters.split():
            step = f"{question}.{letter}"
            if f"done {step};" not in said:
                self._wait(step)
                held = step in self.held_cells
                chart = _CHART.format(step=step) if letter == CHART_LETTER else ""
                given = {"step": step, "question": question, "attempt": attempt, "chart": chart}
                code = CELL.format(held=held, nap=self.nap(), **given)
                return _call(f"call-{attempt}", "run_python", {"code": code, "title": f"Step {step}"})
        self.before_report(question)
        return _call(f"call-{attempt}", "finish", {"report": f"Walked {question}:{letters}."})

    def _wait(self, step: str) -> None:
        if gate := self.held_replies.get(step):
            self.waiting.add(step)
            gate.wait(HOLD_S)
            self.waiting.discard(step)


def _said_well(words: str) -> str:
    """What a cell that ended well has said. Another one may have printed "done" before it was cut off: its variables
    are as before it. Raises ValueError when a cell is told of in another form."""
    if not _DONE.search(words):
        return ""
    if not (cell := _CELL.match(words)):
        raise ValueError(f"this is not what a model was told of a cell before: {words[:200]}")
    return words if cell[1] == "ok" else ""


def _words(message: Json) -> str:
    return str(message.get("content") or "")


def _call(call_id: str, name: str, arguments: Json) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]}


class _Handler(BaseHTTPRequestHandler):
    server: Walker

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta = self.server.reply(body)
        finish = "tool_calls" if "tool_calls" in delta else "stop"
        with suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.end_headers()
            for choice in ({"delta": {"role": "assistant", **delta}}, {"delta": {}, "finish_reason": finish}):
                chunk = {
                    "id": "x",
                    "object": "chat.completion.chunk",
                    "model": "m",
                    "choices": [{"index": 0, **choice}],
                }
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""


@contextmanager
def walking() -> Iterator[Walker]:
    """The endpoint, running in a thread."""
    with Walker() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            for gate in server.held_replies.values():
                gate.set()
            server.shutdown()
            thread.join()
