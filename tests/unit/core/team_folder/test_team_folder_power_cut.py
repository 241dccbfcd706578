"""An entry that a team was told is kept is on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from power_cut import PowerCut

from core.team_folder.entries import Entries
from core.team_folder.folder import TeamFolder

pytestmark = pytest.mark.process

SCRIPT = """
import os, sys
from pathlib import Path
from core.team_folder.entries import Entries
from core.team_folder.folder import TeamFolder
from core.team_folder.pages import Entry
entries = Entries(TeamFolder(Path(sys.argv[1])))
for file in sys.argv[2:]:
    entries.keep(file, Entry("churn", "Left within 30 days.", "Kept by Ana on 2026-11-22."))
os._exit(0)
"""
OLD, NEW = "channels/C1/definitions.md", "channels/C2/glossary.md"


def test_an_entry_that_was_kept_is_there_after_a_power_cut_with_those_before_it(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (disk / OLD).parent.mkdir(parents=True)
    (disk / OLD).write_text("# Definitions\n\n## sale\nA paid order.\n")
    power = PowerCut(disk, tmp_path / "power")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **power.environment}
    subprocess.run([sys.executable, "-c", SCRIPT, str(disk), OLD, NEW], env=environment, check=True)
    power.cut()
    entries = Entries(TeamFolder(disk))
    assert [note.entry.title for note in entries.notes(["channels/C1"])] == ["sale", "churn"]
    assert [note.entry.title for note in entries.notes(["channels/C2"])] == ["churn"]
