"""The tools process as a job sees it. Nothing here holds a secret or speaks the protocol."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from pydantic import ValidationError

from executor.frames import ProtocolError, encode
from workers.sidecar.asking import Late, NotThere, Stopped, connected, receive
from workers.sidecar.messages import raise_failure
from workers.tools import errors
from workers.tools.errors import Cancelled, ToolAway, ToolError
from workers.tools.requests import LIMIT, Answered, Request, ToolNote

AWAY = "The process that calls tools does not answer. Try again in a moment."
LOST = "The call was cut off, so nobody knows whether it was done. Look before you call again."
BACK_S = 5.0
"""A process that ended is back within this time."""
LATE_S = 20.0
"""Seconds that the answer may take longer than the call: the server is told to end first."""
LIST_S = 20.0
KNOWN_S, UNKNOWN_S = 600.0, 30.0
"""Seconds for which the tools of a server count as known, and for which an unavailable server is not asked again. The
second doubles with each failure, up to the first: whoever asks waits for as long as a mute server is given."""


class ToolsClient:
    """Asks the tools process of this node. Safe to share between threads."""

    def __init__(self, path: Path, *, back_s: float = BACK_S) -> None:
        self._path = path
        self._back_s = back_s
        self._known: dict[str, tuple[float, tuple[ToolNote, ...]]] = {}
        self._failures: dict[str, int] = {}

    def ping(self, answer_s: float = LATE_S) -> None:
        """Return when it answers. Raises ToolAway."""
        self._ask(Request(do="ping", seconds=max(answer_s, 0.1)), threading.Event(), late_s=0.0)

    def tools(self, server: str) -> tuple[ToolNote, ...]:
        """The tools of a server that may be called, as it describes them. Raises ToolError."""
        return self._ask(Request(do="list", server=server, seconds=LIST_S), threading.Event()).tools

    def known_tools(self, server: str) -> tuple[ToolNote, ...]:
        """The same as it was some minutes ago, perhaps; nothing for a server that is unavailable. Never raises."""
        at, tools = self._known.get(server, (0.0, ()))
        if time.monotonic() < at:
            return tools
        try:
            tools = self.tools(server)
        except ToolError:
            failures = self._failures[server] = self._failures.get(server, 0) + 1
            pause = min(UNKNOWN_S * 2 ** (failures - 1), KNOWN_S)
            self._known[server] = (time.monotonic() + pause, ())
            return ()
        self._failures.pop(server, None)
        self._known[server] = (time.monotonic() + KNOWN_S, tools)
        return tools

    def call(self, request: Request, stop: threading.Event) -> Answered:
        """The answer of a tool. It is asked once, whatever comes of it; `stop` ends it. Raises ToolError."""
        return self._ask(request, stop)

    def _ask(self, request: Request, stop: threading.Event, late_s: float = LATE_S) -> Answered:
        try:
            with connected(self._path, stop, self._back_s) as peer:
                peer.sendall(encode(request.model_dump()))
                reply, _ = receive(peer, stop, time.monotonic() + request.seconds + late_s, LIMIT)
            raise_failure(reply, errors, ToolError, ToolAway)
            return Answered.model_validate(reply["answered"])
        except NotThere:
            raise ToolAway(AWAY) from None
        except Stopped:
            raise Cancelled("The call was stopped. It may have been done all the same.") from None
        except (Late, OSError, ProtocolError, KeyError, ValidationError):
            raise ToolAway(LOST) from None
