"""Which limit a cell met, read from its exception: the operating system tells a cell only that something is full, or is
not permitted."""

from __future__ import annotations

import errno
import re

from executor.notices import notice
from executor.values import CellError, Limits, Notice

_NUMBER = re.compile(r"\[Errno (\d+)\]")


def limit_met(error: CellError, limits: Limits) -> Notice | None:
    """The notice for the limit that stopped the cell, None when it failed for another reason.

    The exception is the subprocess's word for it, and used for nothing but this notice.
    """
    if error.name == "MemoryError":
        return notice("memory_error", limit=limits.memory_mb)
    if (error.name, error.message) == ("RuntimeError", "can't start new thread"):
        return notice("no_more_threads", limit=limits.processes)
    found = _NUMBER.match(error.message)
    if found is None or not error.name.endswith("Error"):
        return None
    match int(found[1][:6]):
        case errno.ENOSPC | errno.EDQUOT:
            return notice("disk_full", limit=limits.workspace_mb, files=limits.workspace_files)
        case errno.EFBIG:
            return notice("file_too_large", limit=limits.workspace_mb)
        case errno.EMFILE | errno.ENFILE:
            return notice("too_many_open", limit=limits.descriptors)
        case errno.EAGAIN if error.name == "BlockingIOError":
            return notice("too_many_processes", limit=limits.processes)
        case errno.EPERM if error.name == "PermissionError":
            return notice("call_refused")
        case errno.ENOMEM:
            return notice("memory_error", limit=limits.memory_mb)
        case _:
            return None
