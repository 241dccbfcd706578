"""Which of our limits an exception of a cell is: the operating system tells a cell only that something is full."""

from __future__ import annotations

import errno
import re

from executor.notices import Said, said
from executor.values import CellError, Limits

_NUMBER = re.compile(r"\[Errno (\d+)\]")


def limit_met(error: CellError, limits: Limits) -> Said | None:
    """The sentence for the limit that stopped the cell, None when it failed for another reason.

    The exception is the subprocess's word for it, and used for nothing but this sentence.
    """
    if error.name == "MemoryError":
        return said("memory_error", limit=limits.memory_mb)
    found = _NUMBER.match(error.message)
    if found is None or not error.name.endswith("Error"):
        return None
    match int(found[1][:6]):
        case errno.ENOSPC | errno.EDQUOT:
            return said("disk_full", limit=limits.workspace_mb, files=limits.workspace_files)
        case errno.EFBIG:
            return said("file_too_large", limit=limits.workspace_mb)
        case errno.EMFILE | errno.ENFILE:
            return said("too_many_open", limit=limits.descriptors)
        case errno.EAGAIN if error.name == "BlockingIOError":
            return said("too_many_processes", limit=limits.processes)
        case errno.ENOMEM:
            return said("memory_error", limit=limits.memory_mb)
        case _:
            return None
