"""Long work of the host, such as copying a large file, in slices: between two of them it serves everybody else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from executor.event_loop import Loop

Result = TypeVar("Result")
Work = Generator[None, None, Result]
"""Work that may be interrupted wherever it yields."""
SLICE = 1 << 20
"""Bytes that are copied at a time: about 3 ms, and a cell passes the loop six to eight times."""
_FILE = 1 << 16
"""Bytes that could be copied in the time that it takes to make an empty file."""


def at_once(work: Work[Result]) -> Result:
    """Do all of it now; returns its result."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        result: Result = end.value
        return result


class Portion:
    """How much of a slice has been done, for work on many files, or pieces of one, of which most are small."""

    def __init__(self) -> None:
        self._bytes = 0

    def is_over(self, size: int) -> bool:
        """Whether the slice ends before the next file, which has `size` bytes and then begins the next slice."""
        self._bytes += size + _FILE
        if self._bytes <= SLICE:
            return False
        self._bytes = size + _FILE
        return True


class Task(Generic[Result]):
    """Work that waits or is under way, and what follows it."""

    def __init__(self, work: Work[Result], then: Callable[[Result], None], failed: Callable[[Exception], None]) -> None:
        self.is_over = False
        self._work = work
        self._then = then
        self._failed = failed

    def finish(self) -> None:
        """Do what is left of it now, and what follows it. Nothing happens when it is over."""
        while not self.is_over:
            if (follow := self.do_slice()) is not None:
                follow()

    def do_slice(self) -> Callable[[], None] | None:
        """Do one slice; returns what follows when that was the last one."""
        try:
            next(self._work)
        except StopIteration as end:
            follow = partial(self._then, end.value)
        except Exception as error:
            follow = partial(self._failed, error)
        else:
            return None
        self.is_over = True
        return follow


class SlicedWork:
    """What waits to be done in one event loop: of one owner one work after the other, of several owners in turns."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._lines: dict[str, deque[Task[Any]]] = {}
        """What waits, by owner. The first owner's turn is next."""
        self._is_due = False

    def do(
        self, owner: str, work: Work[Result], then: Callable[[Result], None], failed: Callable[[Exception], None]
    ) -> Task[Result]:
        """Do it, and call `then` with its result, or `failed` with what it raised.

        Where nothing else of its owner waits, its first slice is done at once: short work is over when this returns.
        """
        task = Task(work, then, failed)
        is_first = owner not in self._lines
        self._lines.setdefault(owner, deque()).append(task)
        if is_first:
            self._do_slice(owner)
        return task

    def _next(self) -> None:
        self._is_due = False
        if self._lines:
            self._do_slice(next(iter(self._lines)))

    def _do_slice(self, owner: str) -> None:
        task = self._lines[owner][0]
        follow = None if task.is_over else task.do_slice()
        line = self._lines.pop(owner)
        if task.is_over:
            line.popleft()
        if line:
            self._lines[owner] = line
        if self._lines and not self._is_due:
            self._is_due = True
            self._loop.call_later(0.0, self._next)
        if follow is not None:
            follow()
