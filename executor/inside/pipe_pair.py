"""What a subprocess gets for a pair of sockets where no cgroup counts what sockets hold: a pipe.

The kernel bounds what all pipes of a user hold together, but not what sockets do. An event loop of asyncio wakes itself
through such a pair, in one direction only.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Never, Self


class PipeEnd:
    """One end of a pipe, with the methods of a socket that fit it. What it cannot do raises PermissionError."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """Its descriptor; -1 when it is closed."""
        return self._descriptor

    def setblocking(self, flag: bool) -> None:
        """Whether `recv` and `send` wait."""
        os.set_blocking(self._descriptor, flag)

    def recv(self, size: int) -> bytes:
        """At most `size` bytes; only the first of the pair receives."""
        return os.read(self._descriptor, size)

    def send(self, data: bytes) -> int:
        """How many of the bytes were sent; only the second of the pair sends."""
        return os.write(self._descriptor, data)

    def close(self) -> None:
        """Close it; again is no error."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __getattr__(self, name: str) -> Never:
        if hasattr(socket.socket, name):
            raise PermissionError(errno.EPERM, f"this sandbox has pipes in place of sockets, without {name}()")
        raise AttributeError(name)


def pipe_pair(family: int | None = None, *kind: Any, **named: Any) -> tuple[PipeEnd, PipeEnd]:
    """Stands in for `socket.socketpair`: the first end receives what the second one sends."""
    if family not in (None, socket.AF_UNIX):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    reader, writer = os.pipe()
    return PipeEnd(reader), PipeEnd(writer)


def replace_socket_pairs() -> None:
    """From here on in this process."""
    socket.socketpair = pipe_pair  # type: ignore[assignment]  # a pipe is not a socket
