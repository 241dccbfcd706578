"""A proxy that can fall silent: it goes on accepting and reading, and forwards nothing any more."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 1 << 16


@dataclass
class _Pair:
    """One connection: the client's end and, once it is connected, the server's."""

    client: socket.socket
    server: socket.socket | None
    silent: bool = False


@dataclass
class BlackHole:
    """Stands before one port of this machine.

    What was connected when it fell silent stays silent for ever, as behind a firewall that forgot its connections:
    neither side hears anything more of the other, not even that it has gone. `resume` lets new connections through.
    """

    target: int
    _listener: socket.socket = field(default_factory=socket.socket, repr=False)
    _silent: bool = False
    _pairs: list[_Pair] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _threads: list[threading.Thread] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(512)
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    @property
    def port(self) -> int:
        """Where clients connect."""
        return int(self._listener.getsockname()[1])

    def swallow(self) -> None:
        """Forward nothing any more, of old and of new connections."""
        with self._lock:
            self._silent = True
            for pair in self._pairs:
                pair.silent = True

    def resume(self) -> None:
        """Forward new connections."""
        with self._lock:
            self._silent = False

    def close(self) -> None:
        """End it with all its connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            ends = [end for pair in self._pairs for end in (pair.client, pair.server) if end is not None]
        for end in ends:
            _end(end)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *ends):
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                pair = _Pair(client, None, self._silent)
                self._pairs.append(pair)
            if pair.silent:
                self._start(_drain, client)
            else:
                self._connect(pair)

    def _connect(self, pair: _Pair) -> None:
        try:
            pair.server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            _end(pair.client)
            return
        for end in (pair.client, pair.server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, sink in ((pair.client, pair.server), (pair.server, pair.client)):
            self._start(self._pump, pair, source, sink)

    def _pump(self, pair: _Pair, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if not pair.silent:
                    sink.sendall(data)
        if not pair.silent:  # else the other side does not learn that this one has gone
            _end(sink)
            _end(source)


def _drain(client: socket.socket) -> None:
    with suppress(OSError):
        while client.recv(_CHUNK):
            pass


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def black_hole(target: int) -> Iterator[BlackHole]:
    """The proxy while the block runs."""
    proxy = BlackHole(target)
    try:
        yield proxy
    finally:
        proxy.close()
