"""The broker as a job sees it. Nothing here holds a URL or loads a driver."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from executor.frames import FrameReader, ProtocolError, encode
from executor.socket_address import socket_address
from workers.sources import errors
from workers.sources.broker.requests import LIMIT, Answered, Failed, Request

RESTARTED = "The broker of the data sources was restarted; run the cell again."
STUCK = "The broker of the data sources does not answer. Try again in a moment."
BACK_S = 5.0
"""A broker that ended is back within this time."""
LATE_S = 20.0
"""So much longer than the statement may take the answer may come: connecting, looking at the catalogue."""
_LOOK_S = 0.2
_CHUNK = 1 << 16


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
        with self._connected(stop) as peer:
            try:
                peer.sendall(encode(message))
                reply, descriptor = _received(peer, stop, time.monotonic() + seconds)
            except (OSError, ProtocolError):
                raise BrokerRestarted(RESTARTED) from None
        try:
            return _answered(reply), descriptor
        except BaseException as error:
            if descriptor is not None:
                os.close(descriptor)
            if isinstance(error, (KeyError, ValidationError)):
                raise BrokerRestarted(RESTARTED) from None
            raise

    @contextmanager
    def _connected(self, stop: threading.Event) -> Iterator[socket.socket]:
        deadline = time.monotonic() + self._back_s
        with contextlib.ExitStack() as stack:
            while True:
                peer = stack.enter_context(socket.socket(socket.AF_UNIX))
                peer.settimeout(self._back_s)
                try:
                    with socket_address(self._path) as address:
                        peer.connect(address)
                    break
                except OSError:
                    if time.monotonic() > deadline or stop.wait(_LOOK_S):
                        raise BrokerRestarted(STUCK) from None
            yield peer


def _received(peer: socket.socket, stop: threading.Event, deadline: float) -> tuple[dict[str, Any], int | None]:
    """The reply frame and its descriptor. Raises Cancelled when `stop` is set first, ProtocolError."""
    reader = FrameReader(LIMIT)
    held: list[int] = []
    readable = select.poll()
    readable.register(peer, select.POLLIN)
    try:
        while True:
            if stop.is_set():
                raise errors.Cancelled("The query was stopped at the server. Nothing of its result was kept.")
            if time.monotonic() > deadline:
                raise errors.SourceAway(STUCK)
            if not readable.poll(_LOOK_S * 1000):  # not `select`, which takes no descriptor above 1,023
                continue
            data, descriptors, _, _ = socket.recv_fds(peer, _CHUNK, 4)
            held += descriptors
            if not data:
                raise ProtocolError("the broker hung up")
            for message in reader.feed(data):
                return message, held.pop(0) if held else None
    finally:
        for descriptor in held:
            os.close(descriptor)


def _answered(reply: dict[str, Any]) -> Answered:
    if "failed" not in reply:
        return Answered.model_validate(reply["answered"])
    failed = Failed.model_validate(reply["failed"])
    kind = getattr(errors, failed.kind, None)
    if isinstance(kind, type) and issubclass(kind, errors.SourceError):
        raise kind(failed.message)
    raise errors.SourceAway(failed.message)
