"""The broker as a job sees it. Nothing here holds a URL or loads a driver."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from executor.frames import ProtocolError, encode
from workers.sidecar.asking import Late, NotThere, Stopped, connected, receive
from workers.sidecar.messages import raise_failure
from workers.sources import errors
from workers.sources.broker.requests import LIMIT, Answered, Request

RESTARTED = "The broker of the data sources was restarted; run the cell again."
STUCK = "The broker of the data sources does not answer. Try again in a moment."
BACK_S = 5.0
"""A broker that ended is back within this time."""
LATE_S = 20.0
"""So much longer than the statement may take the answer may come: connecting, looking at the catalogue."""


class BrokerRestarted(errors.SourceAway):
    """The broker ended while it worked on the request."""


class BrokerClient:
    """Asks the broker of this node. Holds nothing open between requests; safe to share between threads."""

    def __init__(self, path: Path, *, back_s: float = BACK_S) -> None:
        self._path = path
        self._back_s = back_s

    def kinds(self, answer_s: float = LATE_S) -> dict[str, str]:
        """The kind of each source by name, "" where it is not known; no database is asked. Raises SourceAway."""
        answer, _ = self._ask({"ask": "kinds"}, threading.Event(), answer_s)
        return dict(answer.value)

    def memory(self, answer_s: float = LATE_S) -> dict[str, int]:
        """`used_mb` of `limit_mb`, and how many results were `refused` because of that. Raises SourceAway."""
        answer, _ = self._ask({"ask": "memory"}, threading.Event(), answer_s)
        return dict(answer.value)

    def ask(self, request: Request, stop: threading.Event) -> tuple[Answered, int | None]:
        """The answer, and the open file of its rows if it has some; the caller closes it.

        A request whose broker ended is asked once more: it reads only, and nothing of it was given out. Once `stop` is
        set, the statement is ended at the server and Cancelled is raised. Raises SourceError.
        """
        message = request.model_dump()
        try:
            return self._ask(message, stop, request.seconds + LATE_S)
        except BrokerRestarted:
            return self._ask(message, stop, request.seconds + LATE_S)

    def _ask(self, message: dict[str, Any], stop: threading.Event, seconds: float) -> tuple[Answered, int | None]:
        try:
            with connected(self._path, stop, self._back_s) as peer:
                peer.sendall(encode(message))
                reply, descriptor = receive(peer, stop, time.monotonic() + seconds, LIMIT, files=True)
            return _answered(reply, descriptor), descriptor
        except NotThere:
            raise BrokerRestarted(STUCK) from None
        except Late:
            raise errors.SourceAway(STUCK) from None
        except Stopped:
            raise errors.Cancelled("The query was stopped at the server. Nothing of its result was kept.") from None
        except (OSError, ProtocolError, KeyError, ValidationError):
            raise BrokerRestarted(RESTARTED) from None


def _answered(reply: dict[str, Any], descriptor: int | None) -> Answered:
    """The answer in a reply. Without one, the file that came along is closed."""
    try:
        raise_failure(reply, errors, errors.SourceError, errors.SourceAway)
        return Answered.model_validate(reply["answered"])
    except BaseException:
        if descriptor is not None:
            os.close(descriptor)
        raise
