"""A job's temporary files: in a folder of its own, which the janitor removes when the job was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.settings import Settings
from core.telemetry import get_logger

log = get_logger(__name__)


def _folder(settings: Settings) -> Path:
    return settings.home / "tmp"


@contextmanager
def job_tempdir(settings: Settings) -> Iterator[None]:
    """Inside the block `tempfile` works in a folder named by this process's id, which is removed at the end.

    The setting holds for the whole process, so use it once in a process. A disk that takes no folder now ends no
    process: each turn tries to make it again (`workers/turn/runner.py`), and waits while that fails.
    """
    mine = _folder(settings) / str(os.getpid())
    try:
        mine.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        log.warning("tempdir_not_made", error=error)
    before, tempfile.tempdir = tempfile.tempdir, str(mine)
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(mine, ignore_errors=True)


def sweep_tempdirs(settings: Settings) -> None:
    """Remove the folders of processes that have ended."""
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
