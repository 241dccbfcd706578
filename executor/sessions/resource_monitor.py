"""What a session uses, read from /proc from time to time: for hosts where the kernel does not enforce it."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from executor.disk.disk_usage import held_on_disk
from executor.notices import notice
from executor.processes import tree
from executor.values import Limits, Notice

EVERY_S = 0.25
IDLE_EVERY = 4
"""Sessions of one process that run no cell are checked only every so many times."""
_MANY = 10_000
_OF_ALL = ("RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:")
_HELD = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
_NAMELESS = "/memfd:"
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Usage:
    """A session's processes, how many tasks (threads) they have, and the memory that they hold, libraries left out.

    What forks share with each other counts once for each of them: at most this much is held, and often far less.
    """

    pids: tuple[int, ...]
    tasks: int
    memory_bytes: int


def usage(pid: int) -> Usage:
    """Count `pid` and everything below it."""
    found, tasks, memory = list[int](), 0, 0
    for one in itertools.islice(tree(pid), _MANY):
        found.append(one)
        with contextlib.suppress(OSError, ValueError):
            own, threads = _resident(one)
            memory, tasks = memory + own, tasks + threads
    return Usage(tuple(found), tasks, memory + _nameless(found))


def held(pids: Iterable[int], inherited: int = 0) -> int:
    """Bytes that these processes hold, what is shared divided among all who share it.

    The kernel has to look at each of their pages for this: some milliseconds for a process of ordinary size. Of a
    process that it does not let us look into, the resident bytes beyond the `inherited` ones count, which it got by
    being forked.
    """
    pids = tuple(pids)
    memory = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            memory += sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_HELD))
        except (OSError, ValueError):  # gone, or of another user: then what is resident has to do
            with contextlib.suppress(OSError, ValueError):
                memory += max(0, _resident(pid)[0] - inherited)
    return memory + _nameless(pids)


def of_session(pid: int, *, forked: bool) -> int:
    """Bytes that a session holds. `forked`: what its parent, the zygote, has loaded is shared with it."""
    return held(usage(pid).pids, _of_the_parent(pid) if forked else 0)


def _resident(pid: int) -> tuple[int, int]:
    """(bytes without file-backed pages, threads). The libraries that all sessions share are not this one's; memory
    that several processes map is."""
    size = threads = 0
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(_OF_ALL):
            size += int(line.split()[1]) << 10
        elif line.startswith("Threads:"):
            threads = int(line.split()[1])
    return size, threads


def _nameless(pids: Iterable[int]) -> int:
    """Bytes in open files that lie in no folder (memfd), each counted once. Of processes that do not let us look they
    count nothing: behind our filter of system calls there are none (`seccomp.UNCOUNTED`)."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(entry.path).startswith(_NAMELESS):
                        status = os.stat(entry.path)
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(found.values())


def _of_the_parent(pid: int) -> int:
    """What the parent of `pid` has resident; 0 when it cannot be seen."""
    try:
        return _resident(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))[0]
    except (OSError, ValueError):
        return 0


def is_alone(pid: int) -> bool:
    """Whether a process has none below it: what a cell left running may grow."""
    return len(list(itertools.islice(tree(pid), 2))) == 1


def free_memory_percent() -> float:
    """How much of the machine's memory could be had without swapping."""
    found = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemTotal", "MemAvailable"):
            found[name] = int(rest.split()[0])
    return 100 * found["MemAvailable"] / found["MemTotal"] if len(found) == 2 else 100.0


def excess(limits: Limits, pid: int, *, folders: Sequence[int] = (), forked: bool = False) -> Notice | None:
    """Which limit is exceeded; None when all is well. `folders` are those it writes to, open, if nothing else counts.

    `forked`: `pid` and what it forks share with the zygote, the parent of `pid`, what that one has loaded.
    """
    used = usage(pid)
    limit = limits.memory_mb << 20
    if used.memory_bytes > limit and held(used.pids, _of_the_parent(pid) if forked else 0) > limit:
        return notice("used_memory", limit=limits.memory_mb)
    if used.tasks > limits.processes:  # the kernel counts threads, too, where it does
        return notice("used_processes", limit=limits.processes)
    if folders:
        size, files = held_on_disk(folders, used.pids)
        if size > limits.workspace_mb << 20:
            return notice("used_disk", limit=limits.workspace_mb)
        if files > limits.workspace_files:
            return notice("used_files", limit=limits.workspace_files)
    return None
