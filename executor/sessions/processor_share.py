"""A session that keeps the processor busy for long goes behind the others: it gets what they leave.

The kernel shares the processor between sessions, but not between the many long cells of a machine and the short one
that somebody waits for. So a session that has used `_BUSY_S` seconds of the processor more than half a processor would
have given it is made nice, with all that it started, and goes back when it has rested as long. Going back takes the
right to: a service of an ordinary user leaves the session as it is until it ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from executor.processes import tree

EVERY_S = 2.0
NICE = 10
"""By how much a busy session is nicer than this process."""
_NICEST = 19
_FREE = 0.5
"""Of one processor, that anybody may use for ever."""
_BUSY_S = 30.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class _Use:
    """What a session has used until a moment, and by how much that was more than `_FREE`."""

    seconds: float
    at: float
    beyond: float = 0.0
    is_nice: bool = False


class Shares:
    """What each session uses of the processor, by the pid of its first process."""

    def __init__(self) -> None:
        self._uses: dict[int, _Use] = {}

    def look(self, pids: Iterable[int], now: float) -> None:
        """Count what these sessions have used until `now`, make nice who is busy, and let who has rested come back.

        Sessions that are not named have ended.
        """
        found: dict[int, _Use] = {}
        for pid in pids:
            members = tuple(tree(pid))
            used = sum(map(_seconds, members))
            use = found[pid] = self._uses.get(pid) or _Use(used, now)
            more = max(used - use.seconds, 0.0) - _FREE * (now - use.at)
            use.beyond = min(max(use.beyond + more, 0.0), 2 * _BUSY_S)
            use.seconds, use.at = used, now
            if use.is_nice != (is_busy := use.beyond > (0 if use.is_nice else _BUSY_S)):
                use.is_nice = is_busy
                _set_niceness(pid, members, NICE if is_busy else 0)
        self._uses = found


def _seconds(pid: int) -> float:
    """What a process and its children that have ended used of the processor; 0 when it has ended itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) * _TICK_S


def _set_niceness(pid: int, members: Iterable[int], more: int) -> None:
    """Make a session by so much nicer than this process: all its processes, their threads and whatever they start.

    And the kernel's group of them, which counts in place of each process where there are such groups.
    """
    nice = min(os.getpriority(os.PRIO_PROCESS, 0) + more, _NICEST)
    groups = set()
    for one in members:
        with contextlib.suppress(OSError):
            groups.add(os.getpgid(one))
    for group in groups:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, group, nice)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(more))
