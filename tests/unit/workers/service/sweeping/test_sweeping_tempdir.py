"""Temporary files of a job are removed, also when it was killed."""

from __future__ import annotations

import errno
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest
from structlog.testing import capture_logs

from core.settings import load_settings
from workers.service.sweeping.tempdir import job_tempdir, sweep_tempdirs


def test_a_jobs_temporary_files_are_removed_at_its_end(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path)
    with job_tempdir(settings):
        made = Path(tempfile.mkdtemp())
        assert tmp_path in made.parents
    assert not made.exists()
    assert tmp_path not in Path(tempfile.gettempdir()).parents


def test_a_disk_that_takes_no_folder_ends_no_process_and_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, *_: object, **__: object) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path)
    monkeypatch.setattr(Path, "mkdir", read_only)
    with capture_logs() as logged, job_tempdir(settings):
        assert tmp_path in Path(tempfile.gettempdir()).parents
    assert [(entry["event"], entry["log_level"]) for entry in logged] == [("tempdir_not_made", "warning")]


def test_files_of_a_killed_job_are_swept_and_those_of_a_live_job_stay(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / "tmp" / str(gone.pid) / "threadbook-x"
    left.mkdir(parents=True)
    with job_tempdir(settings):
        made = Path(tempfile.mkdtemp())
        sweep_tempdirs(settings)
        assert made.exists()
    assert not left.parent.exists()
