"""What the processes write is for the user who runs them only, and what an older version left open is closed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from sqlalchemy import text

from core.private import mend_mode
from core.store.database import Database

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


def open_to_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if not path.is_symlink() and path.stat().st_mode & 0o077]


@pytest.mark.parametrize("words", [("doctor",), ("status",), ("run", "CELL")], ids=lambda words: words[0])
def test_a_command_makes_nothing_that_others_may_read(tmp_path: Path, words: tuple[str, ...]) -> None:
    home, cell = tmp_path / "home", tmp_path / "cell.py"
    cell.write_text("open('made.txt', 'w').write('x')")
    for _ in range(2):
        subprocess.run(
            ["/bin/sh", "-c", 'umask 022; exec "$0" "$@"', sys.executable, "-m", "threadbook"]
            + [str(cell) if word == "CELL" else word for word in words],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "THREADBOOK_HOME": str(home)},
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if home.exists():
            assert open_to_others(home) == []
            home.chmod(0o755)  # what an older version left: the second run mends it


def test_a_database_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = tmp_path / "t.db"
        path.touch()
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        with Database(f"sqlite:///{path}").writing() as connection:
            connection.execute(text("CREATE TABLE t (x INTEGER)"))
            assert {file.name for file in tmp_path.iterdir() if file.stat().st_mode & 0o077} == set()
    finally:
        os.umask(before)


def test_a_link_and_what_is_not_there_are_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("x")
    target.chmod(0o644)
    (tmp_path / "link").symlink_to(target)
    assert not mend_mode(tmp_path / "link")
    assert not mend_mode(tmp_path / "nothing")
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert mend_mode(target)
    assert not mend_mode(target)
