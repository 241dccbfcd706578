"""Temporary files of a job are removed, also when it was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from core.settings import load_settings
from workers.service.sweeping.tempdir import job_tempdir, sweep_tempdirs


def test_a_jobs_temporary_files_are_removed_at_its_end(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path)
    with job_tempdir(settings):
        made = Path(tempfile.mkdtemp())
        assert tmp_path in made.parents
    assert not made.exists()
    assert tmp_path not in Path(tempfile.gettempdir()).parents


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
