"""Makes our files readable by our own user only: new files, and those that an earlier start left."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = 0o077


def make_private() -> None:
    """What this process and those it starts make is readable by their own user only."""
    os.umask(_OTHERS)


def mend_mode(path: Path) -> bool:
    """Remove the rights of group and others on a file or folder of this user. Returns whether there were any.

    What does not exist or belongs to another user is left alone.
    """
    try:
        status = path.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode) or not status.st_mode & _OTHERS or status.st_uid != os.geteuid():
            return False
        path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
    except OSError:  # gone meanwhile, or on a file system without modes
        return False
    return True
