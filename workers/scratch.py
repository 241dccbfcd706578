"""A job's temporary files: in a folder of its own, which somebody removes when the job was killed and could not."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.settings import Settings


def _folder(settings: Settings) -> Path:
    return settings.home / "scratch"


@contextmanager
def scratch(settings: Settings) -> Iterator[None]:
    """While the block lasts, `tempfile` makes everything below a folder with this process's id; at its end it is gone.

    Raises OSError when it cannot be made. For processes of one job: the place is the whole process's.
    """
    mine = _folder(settings) / str(os.getpid())
    mine.mkdir(mode=0o700, parents=True, exist_ok=True)
    before, tempfile.tempdir = tempfile.tempdir, str(mine)
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(mine, ignore_errors=True)


def sweep_scratch(settings: Settings) -> None:
    """Remove the folders of processes that are no more."""
    folder = _folder(settings)
    for left in folder.iterdir() if folder.is_dir() else ():
        if left.name.isdigit() and not _lives(int(left.name)):
            shutil.rmtree(left, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
