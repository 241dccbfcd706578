"""How much of the disk a session holds, where no file system of its own bounds it."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable

_BLOCK = 512
_IN_MEMORY = "/memfd:"
_ENTRIES = 25_000
_DEPTH = 256
_TOO_DEEP = 1 << 40
"""Files deeper than `_DEPTH` are not looked for: such a folder counts as more than any limit."""


def held_on_disk(folders: Iterable[int], pids: Iterable[int] = ()) -> tuple[int, int]:
    """(bytes on disk, entries) below these open folders, and in files without a name that these processes have open.

    Of processes that do not let us look, such files count nothing.
    """
    size = count = 0
    for folder in folders:
        more, entries = _below(folder, _ENTRIES - count, _DEPTH)
        size, count = size + more, count + entries
        if count >= _ENTRIES:
            break
    return size + _nameless(pids), count


def _below(folder: int, room: int, depth: int) -> tuple[int, int]:
    size = count = 0
    below: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if count >= room:
                return size, count
            with contextlib.suppress(OSError):  # gone between the listing and the look
                status = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
                size, count = size + status.st_blocks * _BLOCK, count + 1
                if stat.S_ISDIR(status.st_mode):
                    below.append(entry.name)
    if below and not depth:
        return size + _TOO_DEEP, count
    for name in below:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            inner = os.open(name, flags, dir_fd=folder)
            try:
                more, entries_below = _below(inner, room - count, depth - 1)
            finally:
                os.close(inner)
            size, count = size + more, count + entries_below
    return size, count


def _nameless(pids: Iterable[int]) -> int:
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(entry.path)
                    in_memory = os.readlink(entry.path).startswith(_IN_MEMORY)
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and not in_memory:
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(found.values())
