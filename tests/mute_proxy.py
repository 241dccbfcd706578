"""A TCP proxy that can fall silent: connections stay open, and nothing comes through any more."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress


class MuteProxy:
    """Forwards to a port of 127.0.0.1. A connection that was open while it was mute stays mute."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._mute = threading.Event()
        self._callers: list[socket.socket] = []
        self._called: list[socket.socket] = []
        self._dead: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def mute(self) -> None:
        """From now on nothing is forwarded, in either direction."""
        self._mute.set()
        self._dead |= {*self._callers, *self._called}

    def heal(self) -> None:
        """New connections are forwarded again; the server finds out that the mute ones are dead."""
        self._mute.clear()
        _close(self._dead.intersection(self._called))

    def close(self) -> None:
        """Close everything."""
        self._listener.close()
        _close({*self._callers, *self._called})

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self._callers.append(caller)
            if self._mute.is_set():
                self._dead.add(caller)
                continue
            called = socket.create_connection(("127.0.0.1", self._target))
            self._called.append(called)
            for source, sink in ((caller, called), (called, caller)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if source not in self._dead:
                    sink.sendall(data)
            if source not in self._dead:
                sink.shutdown(socket.SHUT_WR)


def _close(sockets: Iterable[socket.socket]) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def mute_proxy(target: int) -> Iterator[MuteProxy]:
    """A proxy while the block runs."""
    proxy = MuteProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
