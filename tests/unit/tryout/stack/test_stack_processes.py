"""The processes that a command starts on one machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from patience import PATIENCE_S

from tryout.stack.processes import Processes

pytestmark = pytest.mark.process


def test_a_folder_of_the_same_name_is_not_taken_for_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threadbook").mkdir()  # as beside a clone of the project
    monkeypatch.chdir(tmp_path)
    with Processes(tmp_path, dict(os.environ)) as processes:
        processes.start("version", "--version")
        assert processes.running["version"].wait(PATIENCE_S) == 0, processes.log("version").read_text("utf-8")
