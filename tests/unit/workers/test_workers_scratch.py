"""Temporary files of a job that was killed do not stay."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from core.settings import load_settings
from workers.scratch import scratch, sweep_scratch


def test_a_jobs_temporary_files_go_with_it(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path)
    with scratch(settings):
        made = Path(tempfile.mkdtemp())
        assert tmp_path in made.parents
    assert not made.exists()
    assert tmp_path not in Path(tempfile.gettempdir()).parents


def test_what_a_killed_job_left_is_swept_and_a_living_ones_stays(tmp_path: Path) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, cwd=tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / "scratch" / str(gone.pid) / "threadbook-x"
    left.mkdir(parents=True)
    with scratch(settings):
        made = Path(tempfile.mkdtemp())
        sweep_scratch(settings)
        assert made.exists()
    assert not left.parent.exists()
