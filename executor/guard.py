"""What a session uses, counted by looking: for hosts where the kernel does not count it (no cgroup, no sized disk)."""

from __future__ import annotations

import contextlib
import itertools
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from executor.collect import disk_usage
from executor.notices import said
from executor.processes import tree
from executor.values import Limits

EVERY_S = 0.25
IDLE_EVERY = 4
"""Every so many looks also at sessions of one process that run no cell."""
_PAGE = resource.getpagesize()
_MANY = 10_000
_HELD = ("Pss_Anon:", "Pss_Shmem:")


@dataclass(frozen=True, slots=True)
class Usage:
    """A session's processes, and the memory that each of them has resident, libraries left out.

    What forks share with each other counts once for each of them: at most this much is held, and often far less.
    """

    pids: tuple[int, ...]
    memory_bytes: int


def usage(pid: int) -> Usage:
    """Count `pid` and everything below it."""
    found, memory = list[int](), 0
    for one in itertools.islice(tree(pid), _MANY):
        found.append(one)
        with contextlib.suppress(OSError, ValueError):
            memory += _resident(one)
    return Usage(tuple(found), memory)


def held(pids: Iterable[int], inherited: int = 0) -> int:
    """Bytes that these processes hold, what is shared divided among all who share it.

    The kernel has to look at each of their pages for this: some milliseconds for a process of ordinary size. Of a
    process that it does not let us look into, the resident bytes beyond the `inherited` ones count, which it got by
    being forked.
    """
    memory = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            memory += sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_HELD))
        except (OSError, ValueError):  # gone, or of another user: then what is resident has to do
            with contextlib.suppress(OSError, ValueError):
                memory += max(0, _resident(pid) - inherited)
    return memory


def _resident(pid: int) -> int:
    """Bytes without file-backed pages: the libraries that all sessions share are not this one's."""
    words = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(words[1]) - int(words[2])) * _PAGE


def _of_the_parent(pid: int) -> int:
    """What the parent of `pid` has resident; 0 when it cannot be seen."""
    try:
        return _resident(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))
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


def excess(limits: Limits, pid: int, *, workspace: int | None, forked: bool = False) -> str | None:
    """What is over its limit, in words; None when all is well. `workspace` is looked at when it is not None.

    `forked`: `pid` and what it forks share with the zygote, the parent of `pid`, what that one has loaded.
    """
    used = usage(pid)
    limit = limits.memory_mb << 20
    if used.memory_bytes > limit and held(used.pids, _of_the_parent(pid) if forked else 0) > limit:
        return said("used_memory", limit=limits.memory_mb)
    if len(used.pids) > limits.processes:
        return said("used_processes", limit=limits.processes)
    if workspace is not None:
        size, files = disk_usage(workspace)
        if size > limits.workspace_mb << 20:
            return said("used_disk", limit=limits.workspace_mb)
        if files > limits.workspace_files:
            return said("used_files", limit=limits.workspace_files)
    return None
