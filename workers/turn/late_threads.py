"""Threads that begin late, to watch work that takes long. Most work ends earlier and needs no thread."""

from __future__ import annotations

import contextvars
import heapq
import os
import threading
import time
from collections.abc import Callable
from itertools import count

from core.telemetry import get_logger

log = get_logger(__name__)

_MOST_DEAD = 64
"""Threads that were called off and are still listed, at least, before the list is tidied."""


class LateThread:
    """A thread that begins `after_s` seconds after `start`, unless it is called off before."""

    def __init__(self, run: Callable[[], object], *, after_s: float, name: str) -> None:
        """`run` is called once, with the log fields and other context of the caller."""
        self.after_s = after_s
        self._name = name
        self._run: Callable[[], object] | None = run
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def is_off(self) -> bool:
        """Whether it was called off or has begun."""
        return self._run is None

    def start(self) -> None:
        """Let it begin in `after_s` seconds."""
        _LIST.add(self)

    def begin(self) -> None:
        """Begin now, unless it was called off."""
        with self._lock:
            run, self._run = self._run, None
            if run is not None:
                thread = threading.Thread(target=self._context.run, args=(run,), name=self._name, daemon=True)
                thread.start()
                self._thread = thread

    def call_off(self, wait_s: float | None = None) -> None:
        """Do not begin it any more. If it has begun, wait for it, at most `wait_s` seconds."""
        with self._lock:
            self._run = None
        if self._thread is not None:
            self._thread.join(wait_s)


class _List:
    """Begins each thread at its time. One thread of this process looks after all of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, LateThread]] = []
        self._numbers = count()
        self._begins: threading.Thread | None = None
        self._tidy_at = _MOST_DEAD

    def add(self, late: LateThread) -> None:
        """Begin this one at its time."""
        with self._changed:
            if len(self._waiting) >= self._tidy_at:
                self._waiting = [each for each in self._waiting if not each[2].is_off]
                heapq.heapify(self._waiting)
                self._tidy_at = 2 * len(self._waiting) + _MOST_DEAD
            entry = (time.monotonic() + late.after_s, next(self._numbers), late)
            heapq.heappush(self._waiting, entry)
            if self._begins is None:
                self._begin()
            elif self._waiting[0] is entry:
                self._changed.notify()

    def _begin(self) -> None:
        thread = threading.Thread(target=self._run, name="late threads", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no room for a thread: the next one that is added tries again
            log.warning("watcher_not_begun", error=error)
        else:
            self._begins = thread

    def _run(self) -> None:
        while True:
            late = self._next()
            try:
                late.begin()
            except RuntimeError as error:  # no room for a thread
                log.warning("watcher_not_begun", error=error)

    def _next(self) -> LateThread:
        """Wait for the next one whose time has come."""
        with self._changed:
            while True:
                while self._waiting and self._waiting[0][2].is_off:
                    heapq.heappop(self._waiting)
                if not self._waiting:
                    self._changed.wait()
                elif (left_s := self._waiting[0][0] - time.monotonic()) > 0:
                    self._changed.wait(left_s)
                else:
                    return heapq.heappop(self._waiting)[2]


_LIST = _List()


def _new_list() -> None:
    """In a fork the thread that begins the others is gone."""
    global _LIST  # noqa: PLW0603 - one list per process
    _LIST = _List()


os.register_at_fork(after_in_child=_new_list)
