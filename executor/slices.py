"""Long work of the host, such as copying a large file, in slices: between two of them it serves everybody else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

from executor.event_loop import Loop

Result = TypeVar("Result")
Work = Generator[None, None, Result]
"""Work that may be interrupted wherever it yields."""
SLICE = 1 << 20
"""Bytes that are copied at a time: about 3 ms, and a cell passes the loop six to eight times."""


def at_once(work: Work[Result]) -> Result:
    """Do all of it now; returns its result."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        result: Result = end.value
        return result


class SlicedWork:
    """What waits to be done in one event loop, one work after the other."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waiting: deque[tuple[Work[Any], Callable[[Any], None], Callable[[Exception], None]]] = deque()
        self._is_due = False

    def do(self, work: Work[Result], then: Callable[[Result], None], failed: Callable[[Exception], None]) -> None:
        """Do it, and call `then` with its result, or `failed` with what it raised.

        Where nothing else waits, its first slice is done at once: short work is over when this returns.
        """
        self._waiting.append((work, then, failed))
        if len(self._waiting) == 1 and not self._is_due:
            self._do_slice()

    def _do_slice(self) -> None:
        self._is_due = False
        work, then, failed = self._waiting[0]
        call: Callable[[], None] | None = None
        try:
            next(work)
        except StopIteration as end:
            call = partial(then, end.value)
        except Exception as error:
            call = partial(failed, error)
        if call is not None:
            self._waiting.popleft()
        if self._waiting:
            self._is_due = True
            self._loop.call_later(0.0, self._do_slice)
        if call is not None:
            call()
