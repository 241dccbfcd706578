"""How a sidecar takes requests: on a socket that only this user can open, one request for each connection."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Protocol

from executor.frames import Message, read_message
from executor.socket_address import socket_address, uid_of

REQUEST_S = 10.0
"""A client sends its request within this time."""
_BACKLOG = 128


class NotOurUser(Exception):
    """A process of another user connected."""


class Service(Protocol):
    """What answers the requests of a socket."""

    def serve(self) -> None:
        """Take requests."""
        ...

    def close(self) -> None:
        """Take no more of them."""
        ...


def private_listener(path: Path) -> socket.socket:
    """A listening socket that only this user can open, in place of one that an earlier process left behind."""
    listener = socket.socket(socket.AF_UNIX)
    path.unlink(missing_ok=True)
    mask = os.umask(0o177)
    try:
        with socket_address(path) as address:
            listener.bind(address)
    finally:
        os.umask(mask)
    listener.listen(_BACKLOG)
    return listener


def read_request(peer: socket.socket, limit: int) -> Message | None:
    """What a client asks; None when it hung up. Raises NotOurUser, ProtocolError, OSError."""
    if uid_of(peer) != os.getuid():
        raise NotOurUser
    peer.settimeout(REQUEST_S)
    return read_message(peer.recv, limit)


def serve_until_told(service: Service, ready: str = "") -> None:
    """Serve until SIGTERM, after the line `ready` on stdout."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if ready:
        print(ready, flush=True)
    try:
        service.serve()
    finally:
        service.close()
