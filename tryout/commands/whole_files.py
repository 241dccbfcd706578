"""Files that a command writes for a person: whole, or not at all."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.errors import OursToFix

_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}


class NotWritten(OursToFix):
    """A file could not be written; the message says why and what to do."""


def sweep_parts(folder: Path, before: str, after: str) -> None:
    """Remove the files BEFORE + process id + AFTER that a process which was killed left in a folder."""
    for part in folder.glob(f"{glob.escape(before)}[0-9]*{after}"):
        number = re.match(r"[0-9]+", part.name.removeprefix(before))
        if number is not None and not _runs(int(number[0])):
            with suppress(OSError):
                part.unlink()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file beside `path`, this user's alone, that takes its place once all of it is written. Else it is removed.

    A pipe or a device is written as it is. Raises NotWritten when the disk refuses it: what was at `path` before is
    still there.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        yield path
        return
    sweep_parts(path.parent, f".{path.name}.", ".part")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # some disks say only now that they are full
        part.chmod(0o600)
        os.replace(part, path)
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        raise NotWritten(
            f"{path} could not be written: {error.strerror}. What was there before is unchanged. Make room or choose "
            "another place, and run the command again."
        ) from error
    finally:
        part.unlink(missing_ok=True)
