"""Whether the disk of the home folder takes writes, and if not, in words for the admin why and what to do."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

from core.health import Missing

_BYTES = 4_096
"""A full disk may still take an empty file."""
_FULL = {errno.ENOSPC, errno.EDQUOT}
_BROKEN = {errno.EROFS, errno.EIO}


def refused_by_disk(error: BaseException) -> bool:
    """Whether a disk takes no writes now: it is full or over a quota, read-only or broken."""
    return isinstance(error, OSError) and error.errno in _FULL | _BROKEN


def is_full(error: OSError) -> bool:
    """Whether the disk works, and only lacks room."""
    return error.errno in _FULL


def check_home(home: Path) -> None:
    """Write a file without a name, which is gone at once. Raises OSError when the disk refuses it, or nobody may."""
    with tempfile.TemporaryFile(dir=home, buffering=0) as file:
        file.write(bytes(_BYTES))


def home_answers(home: Path) -> str:
    """The check of a process's health page. Raises Missing, or OSError for what is not the disk's doing."""
    try:
        check_home(home)
    except OSError as error:
        if (why := home_refusal(home, error)) is not None:
            raise Missing(why) from error
        raise
    return "takes writes"


def home_refusal(home: Path, error: OSError) -> str | None:
    """Why the home folder takes no writes, and what to do; None when it is not the disk that refuses."""
    if not refused_by_disk(error):
        return None
    what = f"the disk of THREADBOOK_HOME ({home}) takes no writes ({error.strerror}), so threads wait"
    if is_full(error):
        return f"{what}: make room on it"
    return f"{what}: stop the services, repair and mount it again, and start them"
