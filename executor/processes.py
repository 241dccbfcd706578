"""A process and all that it started: for hosts where no pid namespace holds them together."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

_ROUNDS = 1_000


def tree(pid: int) -> Iterator[int]:
    """`pid` and every process below it, as far as they can be seen."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        with contextlib.suppress(OSError, ValueError):
            waiting += _children(one)


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal (SIGSTOP) and not continued; one that a debugger holds is not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since the machine's start; None when there is none, or it has ended.

    A pid and this number name one process for ever: the kernel gives pids again.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # proc(5): state is field 3
        return None if after_name[0] in "ZX" else int(after_name[22 - 3])
    return None


def end_tree(pid: int) -> None:
    """Kill `pid` and everything below it, where no pid namespace does.

    A fork bomb that is killed one by one grows faster than it is cleared. So all processes are stopped first, until a
    look finds no new one. A process that has just ended is no error. Raises ValueError for a number that is no process
    of ours: to the kernel 0 and negative ones are whole groups, -1 is everybody.
    """
    if pid <= 1:
        raise ValueError(f"{pid} is not a process that may be ended")
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        fresh = [one for one in tree(pid) if one not in stopped]
        if not fresh:
            break
        for one in fresh:
            _signal(one, signal.SIGSTOP)
        stopped.update(fresh)
    for one in stopped:
        _signal(one, signal.SIGKILL)


def end_children(kept: Collection[int] = ()) -> None:
    """Kill and reap all children of this process with their descendants, adopted orphans included.

    Those that are `kept`, and what is below them, live on.
    """
    me = os.getpid()
    while ours := [one for one in _children(me) if one not in kept]:
        for one in ours:
            end_tree(one)
        for one in ours:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one, 0)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        found += [int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    return found


def _signal(pid: int, signum: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)
