"""The host's end of the pipe that a subprocess's variables come through."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from contextlib import suppress

from executor.event_loop import Loop
from executor.frames import ProtocolError
from executor.notices import notice, words_of
from executor.sessions.pipes import Pipes
from executor.state.received_state import Receiver
from executor.values import Notice

_SMALL, _LARGE = 1 << 16, 1 << 20  # bytes that the pipe holds, and that are read at once


class StatePipe:
    """One subprocess's. It reads what the subprocess has announced, and nothing else."""

    def __init__(
        self, loop: Loop, pipes: Pipes, *, saved: Callable[[Receiver], None], broken: Callable[[Notice], None]
    ) -> None:
        """`saved` gets variables whose bytes have all come; it may raise ProtocolError. `broken` ends the session."""
        self._loop = loop
        self._pipes = pipes
        self._saved = saved
        self._broken = broken
        self._receiver: Receiver | None = None
        self._holds = 0
        """Bytes that the pipe was asked to hold last."""

    def receive(self, receiver: Receiver) -> None:
        """Read the bytes that were announced.

        Raises ProtocolError while those announced before have not all come.
        """
        if self._receiver is not None:
            receiver.abandon()
            raise ProtocolError("it announced variables before those announced last had come")
        if not receiver.left:
            self._saved(receiver)
            return
        self._receiver = receiver
        self._resize(_LARGE if receiver.left > _SMALL else _SMALL)
        if self._read(receiver):  # small ones are there already
            self._loop.watch_read(self._pipes.state, self._on_bytes)

    def abandon(self) -> None:
        """The session ends: what has not all come is nothing."""
        if self._receiver is not None:
            self._receiver.abandon()

    def _on_bytes(self) -> None:
        if self._receiver is not None and not self._read(self._receiver):
            self._loop.forget(self._pipes.state)

    def _read(self, receiver: Receiver) -> bool:
        """Read what has come; False when no more is to come."""
        data = self._pipes.read(self._pipes.state, min(receiver.left, _LARGE))
        if data is None:
            return True
        if not data:
            return False
        try:
            receiver.feed(data)
        except OSError as error:
            self._broken(notice("disk_refused", error=words_of(error)))
            return False
        if receiver.left:
            return True
        self._receiver = None
        try:
            self._saved(receiver)
        except ProtocolError as error:
            receiver.abandon()
            self._broken(notice("protocol", error=str(error)))
        except OSError as error:
            receiver.abandon()
            self._broken(notice("disk_refused", error=words_of(error)))
        return False

    def _resize(self, size: int) -> None:
        if size == self._holds:
            return
        self._holds = size
        with suppress(OSError):  # beyond the user's share of pipe memory a small one does, only slower
            fcntl.fcntl(self._pipes.state, fcntl.F_SETPIPE_SZ, size)
