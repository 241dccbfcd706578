"""Whether a process that owes an answer is stuck, or merely slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from executor.processes import tree

IDLE_S = 5.0
"""A process that does nothing, and owes an answer for so long, is stuck."""
BUSY_S = 60.0
"""The same for one that uses a processor or a disk: it may be copying something large, on a busy machine."""


class Watchdog:
    """Judges one process. It is told when the process begins to owe an answer, and when the answer has come."""

    def __init__(
        self,
        idle_s: float = IDLE_S,
        busy_s: float = BUSY_S,
        *,
        clock: Callable[[], float] = time.monotonic,
        work_of: Callable[[int], object | None] | None = None,
    ) -> None:
        """`work_of(pid)` changes whenever the process has worked; None when it is at work now or cannot be seen."""
        self._idle_s, self._busy_s = idle_s, busy_s
        self._clock = clock
        self._work_of = work_of or work_of_process
        self._owed_since: float | None = None
        self._idle_since: float | None = None
        self._work: object | None = None

    @property
    def owed_s(self) -> float:
        """For how long an answer is owed; 0 when none is."""
        return 0.0 if self._owed_since is None else self._clock() - self._owed_since

    def asked(self) -> None:
        """It owes an answer from now on, if it does not owe one already."""
        if self._owed_since is None:
            self._owed_since, self._idle_since, self._work = self._clock(), None, None

    def answered(self) -> None:
        """It has answered."""
        self._owed_since = None

    def is_stuck(self, pid: int) -> bool:
        """Whether to give the process up. To be asked every second or so while an answer is owed."""
        if self._owed_since is None:
            return False
        before, self._work = self._work, self._work_of(pid)
        if (work := self._work) is None or work != before:
            self._idle_since = None if work is None else self._clock()
        idle_s = 0.0 if self._idle_since is None else self._clock() - self._idle_since
        return self.owed_s >= self._busy_s or (self.owed_s >= self._idle_s and idle_s >= self._idle_s / 2)


def work_of_process(pid: int) -> object | None:
    """The processor time that a process has used; None when it runs or waits for a disk right now.

    Where /proc does not say it, the process counts as idle.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return None if words[0] in ("R", "D") else (words[11], words[12])


def work_of_tree(pid: int) -> object | None:
    """The same for a process and all that it has started, and perhaps waits for."""
    works = {one: work_of_process(one) for one in tree(pid)}
    return None if None in works.values() else works
