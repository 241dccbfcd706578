"""A process and all that it started: for hosts where no pid namespace holds them together."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_ROUNDS = 1_000


def tree(pid: int) -> Iterator[int]:
    """`pid` and every process below it, as far as they can be seen."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        with contextlib.suppress(OSError, ValueError):
            for task in os.listdir(f"/proc/{one}/task"):
                waiting += [int(child) for child in Path(f"/proc/{one}/task/{task}/children").read_text().split()]


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal (SIGSTOP) and not continued; one that a debugger holds is not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


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


def end_children() -> None:
    """Kill and reap all children of this process with their descendants, adopted orphans included."""
    me = os.getpid()
    with contextlib.suppress(ChildProcessError):  # raised when none is left
        while True:
            for one in [one for one in tree(me) if one != me]:
                end_tree(one)
            os.waitpid(-1, 0)


def _signal(pid: int, signum: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)
