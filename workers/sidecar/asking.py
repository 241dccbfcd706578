"""How a job asks a sidecar. Nothing here holds a secret, and nothing stays open between requests."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from executor.frames import FrameReader, Message, ProtocolError
from executor.socket_address import socket_address

_LEAST_S = 1.0
"""Seconds that a connect and each send may take at least."""
_LOOK_S = 0.2
_CHUNK = 1 << 16
_MOST_FILES = 4


class NotThere(Exception):
    """Nobody takes requests."""


class Stopped(Exception):
    """The asker wants no answer any more."""


class Late(Exception):
    """No answer came in time."""


@contextmanager
def connected(path: Path, stop: threading.Event, back_s: float) -> Iterator[socket.socket]:
    """A connection to a sidecar. One that has ended is started again, and is waited for `back_s` seconds.

    Raises NotThere after that, or once `stop` is set.
    """
    deadline = time.monotonic() + back_s
    with ExitStack() as stack:
        while True:
            peer = stack.enter_context(socket.socket(socket.AF_UNIX))
            peer.settimeout(max(back_s, _LEAST_S))
            try:
                with socket_address(path) as address:
                    peer.connect(address)
                break
            except OSError:
                if time.monotonic() > deadline or stop.wait(_LOOK_S):
                    raise NotThere from None
        yield peer


def receive(
    peer: socket.socket, stop: threading.Event, deadline: float, limit: int, *, files: bool = False
) -> tuple[Message, int | None]:
    """The reply, and the open file that came with it where `files` may come; the caller closes it.

    Raises Stopped once `stop` is set, Late after `deadline` (in monotonic seconds), ProtocolError for a reply of more
    than `limit` bytes or a hang-up, and OSError.
    """
    reader = FrameReader(limit)
    held: list[int] = []
    readable = select.poll()  # not `select`, which takes no descriptor above 1,023
    readable.register(peer, select.POLLIN)
    try:
        while True:
            if stop.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                raise Late
            if not readable.poll(_LOOK_S * 1000):
                continue
            data, descriptors, _, _ = socket.recv_fds(peer, _CHUNK, _MOST_FILES if files else 0)
            held += descriptors
            if not data:
                raise ProtocolError("it hung up")
            for message in reader.feed(data):
                return message, held.pop(0) if held else None
    finally:
        for descriptor in held:
            os.close(descriptor)
