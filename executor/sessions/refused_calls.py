"""The system calls that only the list of the allowed refuses: the host answers each, so it knows their names.

The kernel holds such a call of a session back and tells it here (seccomp's user notification). The answer is always
EPERM. Whoever holds the descriptor could let a call through, so the session has closed its own copy before any code of
others runs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import select
import struct
import sys
from collections.abc import Mapping

from executor.event_loop import Loop
from executor.sandbox import allowed
from executor.sandbox.calls import MACHINE

_MOST = 100
"""So many calls of a session are answered. Then the descriptor is closed, and the kernel says ENOSYS by itself: a cell
that does nothing but make such calls keeps the host from nobody."""
_RECEIVE, _SEND = 0xC050_2100, 0xC018_2101  # SECCOMP_IOCTL_NOTIF_RECV and _SEND of linux/seccomp.h
_TOLD = struct.Struct("=QIIi60x")  # seccomp_notif: id, pid, flags, number of the call, and what is not looked at
_ANSWER = struct.Struct("=QqiI")  # seccomp_notif_resp: id, value, error, flags


@functools.cache
def _names() -> Mapping[int, str]:
    return allowed.named(MACHINE)


@functools.cache
def _report(name: str) -> None:
    """Say it once to whoever reads the host's log."""
    way_back = '[sandbox] syscalls = "deny" lets it through'
    print(f"session host: the sandbox refused the system call {name}; {way_back}", file=sys.stderr, flush=True)


class RefusedCalls:
    """Answers them."""

    def __init__(self, loop: Loop, descriptor: int) -> None:
        """`descriptor` is that of `seccomp.attach_with_listener`; it is closed here."""
        self._loop = loop
        self._descriptor: int | None = descriptor
        self._left = _MOST
        self._made: dict[str, None] = {}
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        loop.watch_read(descriptor, self._answer)

    def take(self) -> tuple[str, ...]:
        """The names of those that were made since this was asked last, each once."""
        made, self._made = tuple(self._made), {}
        return made

    def close(self) -> None:
        """Answer no more. The kernel says ENOSYS to whoever waits or comes."""
        if self._descriptor is not None:
            self._loop.forget(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _answer(self) -> None:
        descriptor = self._descriptor
        if descriptor is None:
            return
        events = dict(self._poll.poll(0)).get(descriptor, 0)
        if not events & select.POLLIN:  # to ask now would wait for the next call
            if events:
                self.close()  # nobody is left who could make one
            return
        told = bytearray(_TOLD.size)
        with contextlib.suppress(FileNotFoundError):  # who made the call has gone, or a signal called it off
            fcntl.ioctl(descriptor, _RECEIVE, told)
            number, _, _, call = _TOLD.unpack(told)
            fcntl.ioctl(descriptor, _SEND, _ANSWER.pack(number, 0, -errno.EPERM, 0))
            name = _names().get(call, f"number {call}")
            self._made[name] = None
            _report(name)
        self._left -= 1
        if not self._left:
            self.close()
