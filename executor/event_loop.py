"""The session host's event loop: descriptors, timers, and writers that never block. One thread, no locks."""

from __future__ import annotations

import heapq
import itertools
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass

Callback = Callable[[], None]


@dataclass(slots=True)
class Timer:
    """A call that is due at a time, unless cancelled."""

    callback: Callback
    cancelled: bool = False

    def cancel(self) -> None:
        """Do not call. Safe after it has called."""
        self.cancelled = True


class Loop:
    """epoll with callbacks."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._readers: dict[int, Callback] = {}
        self._writers: dict[int, Callback] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        """(monotonic seconds, order in which they were asked for, timer): a heap."""
        self._order = itertools.count()
        self._stopping = False

    def watch_read(self, fd: int, callback: Callback) -> None:
        """Call back whenever `fd` has something to read, or has ended."""
        self._change(fd, self._readers, callback)

    def watch_write(self, fd: int, callback: Callback) -> None:
        """Call back whenever `fd` takes bytes."""
        self._change(fd, self._writers, callback)

    def unwatch_write(self, fd: int) -> None:
        """Stop watching for room to write."""
        if fd in self._writers:
            self._change(fd, self._writers, None)

    def forget(self, fd: int) -> None:
        """Stop watching `fd` altogether. To be called before it is closed."""
        if fd in self._readers or fd in self._writers:
            self._readers.pop(fd, None)
            self._writers.pop(fd, None)
            self._epoll.unregister(fd)

    def _change(self, fd: int, table: dict[int, Callback], callback: Callback | None) -> None:
        known = fd in self._readers or fd in self._writers
        if callback is None:
            del table[fd]
        else:
            table[fd] = callback
        mask = (select.EPOLLIN if fd in self._readers else 0) | (select.EPOLLOUT if fd in self._writers else 0)
        if not mask:
            self._epoll.unregister(fd)
        elif known:
            self._epoll.modify(fd, mask)
        else:
            self._epoll.register(fd, mask)

    def call_later(self, seconds: float, callback: Callback) -> Timer:
        """Call once, `seconds` from now."""
        timer = Timer(callback)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def stop(self) -> None:
        """Leave `run` after the current callback."""
        self._stopping = True

    def run(self) -> None:
        """Serve until stopped; may be called again."""
        self._stopping = False
        while not self._stopping:
            self.run_once()

    def run_once(self) -> None:
        """Wait for whatever comes next, and serve it."""
        for fd, event in self._epoll.poll(self._patience()):
            if event & select.EPOLLOUT and (writer := self._writers.get(fd)) is not None:
                writer()
            if event & ~select.EPOLLOUT:
                callback = self._readers.get(fd) or self._writers.get(fd)
                if callback is not None:
                    callback()
        self._run_timers()

    def _patience(self) -> float:
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else -1

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and (self._timers[0][2].cancelled or self._timers[0][0] <= now):
            _, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                timer.callback()

    def close(self) -> None:
        """Release the epoll descriptor."""
        self._epoll.close()


class Writer:
    """Bytes on their way out of a non-blocking descriptor, sent as the peer takes them."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._fd = fd
        self._waiting = bytearray()

    @property
    def backlog(self) -> int:
        """Bytes that the peer has not taken yet."""
        return len(self._waiting)

    def send(self, data: bytes) -> None:
        """Queue `data`. The reading side notices a peer that has gone, not this one."""
        if not self._waiting:
            data = data[self._write(data) :]
            if data:
                self._loop.watch_write(self._fd, self._flush)
        self._waiting += data

    def _flush(self) -> None:
        del self._waiting[: self._write(self._waiting)]
        if not self._waiting:
            self._loop.unwatch_write(self._fd)

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)
