"""Memory of processes, as the kernel counts it, in MiB."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

COLD_AFTER_S = 30.0
_PAGE = os.sysconf("SC_PAGE_SIZE")
_WRITE = """
import mmap, sys, time
memory = mmap.mmap(-1, int(sys.argv[1]))
memory.madvise(mmap.MADV_NOHUGEPAGE)
begin = time.perf_counter()
for page in range(0, len(memory), mmap.PAGESIZE):
    memory[page] = 1
print(time.perf_counter() - begin)
"""


def tree(root: int) -> list[int]:
    """`root` and every process below it."""
    children = defaultdict(list)
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                children[int((folder / "stat").read_text().rpartition(")")[2].split()[1])].append(int(folder.name))
    found = [root]
    for pid in found:
        found.extend(children[pid])
    return found


def children_of(pid: int) -> list[int]:
    """The processes directly below `pid`."""
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]


def pss_mib(pids: Iterable[int]) -> float:
    """The memory of all of them; a shared page counts in equal parts. Raises PermissionError.

    A sandboxed process shows this only to root.
    """
    total = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def rss_mib(pids: Iterable[int]) -> float:
    """The pages that each of them has in memory, shared or not."""
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * _PAGE / (1 << 20)


def free_mib() -> float:
    """The machine's unused memory."""
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemFree:"))
    return int(line.split()[1]) / 1024


def new_memory_s(mib: float) -> float:
    """How long all cores together take to get so much memory, when they do nothing else with it.

    A virtual machine gives free pages back to its host and pays for each of them again. Wait before the call
    (`COLD_AFTER_S`), or it finds pages that were freed a moment ago.
    """
    share = max(1, int(mib / (os.cpu_count() or 1))) << 20
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITE, str(share)], stdout=subprocess.PIPE, text=True)
        for _ in range(os.cpu_count() or 1)
    ]
    return max(float(writer.communicate()[0]) for writer in writers)


@contextmanager
def peak_rss_mib(pids: list[int], every_s: float = 0.01) -> Iterator[list[float]]:
    """A list of `rss_mib` values from while the block runs. A peak shorter than `every_s` may be missed."""
    seen = [rss_mib(pids)]
    end = threading.Event()

    def look() -> None:
        while not end.wait(every_s):
            seen.append(rss_mib(pids))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        end.set()
        watcher.join()
        seen.append(rss_mib(pids))
