"""The address of a unix socket, however long its path is."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")
_LIMIT = 100  # bytes of a path that surely fit into the kernel's sockaddr_un


@contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """An address for the unix socket at `path` that is short enough for the kernel, while the block lasts."""
    if len(os.fsencode(path)) <= _LIMIT:
        yield str(path)
        return
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        yield str(path)[:_LIMIT]  # no such folder: connecting will say so
        return
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def uid_of(peer: socket.socket) -> int:
    """The user whose process is at the other end of a unix socket."""
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])
