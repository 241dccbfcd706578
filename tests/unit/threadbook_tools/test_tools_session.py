"""Source code in a real session: its tests run behind the walls, and an undo takes the last edit back."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult

pytestmark = pytest.mark.process

THREAD = "T:C:1"
CODE = "def total(items):\n    return 0\n"
TEST = """
import os, socket, subprocess, sys

import pytest
import shop


def test_total():
    assert shop.total([1, 2]) == 3


def test_walls(tmp_path):
    (tmp_path / "own").write_text("x")
    with pytest.raises(OSError):
        socket.socket()
    with pytest.raises(OSError):
        subprocess.run([sys.executable, "-c", "1"])
    with pytest.raises(OSError):
        open("{secret}")
    with pytest.raises(OSError):
        open("/usr/left", "w")
"""
FIX = "--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n def total(items):\n-    return 0\n+    return sum(items)\n"
MORE = "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+# Notes\n"


@pytest.fixture
def sessions() -> Iterator[SessionClient]:
    with running_host() as client:
        yield client


def run(sessions: SessionClient, cell: str, code: str) -> CellResult:
    result = sessions.run(THREAD, cell, code)
    assert result.status == "ok", result.error
    return result


def test_tests_run_behind_the_walls_and_edits_are_undone(sessions: SessionClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as archive:
        archive.writestr("shop.py", CODE)
        archive.writestr("test_shop.py", TEST.replace("{secret}", str(secret)))
        archive.writestr("pyproject.toml", "")
    sessions.put(THREAD, "shop.zip", tmp_path / "shop.zip")
    opened = "from threadbook_tools import Repository\nrepo = Repository('shop.zip')\n"
    before = run(sessions, "1", f"{opened}print(repo.run_tests())")
    assert "1 failed, 1 passed" in before.stdout
    assert not before.artifacts, "the tests leave nothing in the working folder"
    edited = run(sessions, "2", f"repo.edit({FIX!r})\nrepo.run_tests()")
    assert edited.result is not None
    assert edited.result.text.startswith("The tests passed.\n..")
    assert [file.name for file in edited.artifacts] == ["shop.changes.patch"]
    run(sessions, "3", f"repo.edit({MORE!r})")
    assert sessions.undo(THREAD, "3")
    left = run(sessions, "4", "print(repo.changes())")
    assert "+    return sum(items)" in left.stdout
    assert "NOTES.md" not in left.stdout


STARTS = """
import subprocess, sys


def test_programs():
    assert subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, text=True).stdout == "7\\n"
    assert subprocess.run("echo x | cat", shell=True, capture_output=True).stdout == b"x\\n"
"""


def test_tests_that_start_programs_run_in_the_shell_that_a_person_approves(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as archive:
        archive.writestr("shop.py", CODE)
        archive.writestr("test_start.py", STARTS)
    with running_host(bash=True) as sessions:
        sessions.put(THREAD, "shop.zip", tmp_path / "shop.zip")
        opened = "from threadbook_tools import Repository\nrepo = Repository('shop.zip')\n"
        refused = run(sessions, "1", f"{opened}print(repo.run_tests('test_start.py', '-k', 'programs'))")
        assert "The tests failed" in refused.stdout
        line = refused.stdout.strip().splitlines()[-1]
        assert line == run(sessions, "2", "print(repo.tests_command('test_start.py', '-k', 'programs'))").stdout.strip()
        approved: list[str] = []
        done = sessions.bash(THREAD, "3", line, approve=lambda given: approved.append(given) is None)
        assert (done.stdout.splitlines()[0], approved) == ("The tests passed.", [line])


NODE = {"package.json": '{"scripts": {"test": "node --test"}}', "a.test.js": "require('node:test')('it', () => {});\n"}
MAKE = {"Makefile": "test:\n\tprintf 1 > made && test -s made\n"}
SUITES = {
    "node": (NODE, "package.json, script test (sh -c 'node --test')"),
    "make": (MAKE, "Makefile, target test (make -f Makefile test)"),
}


@pytest.mark.parametrize("tool", SUITES)
def test_tests_of_other_languages_run_in_the_shell_and_are_named_in_a_cell(tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool} here")
    files, suite = SUITES[tool]
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    with running_host(bash=True) as sessions:
        sessions.put(THREAD, "p.zip", tmp_path / "p.zip")
        opened = "from threadbook_tools import Repository\nrepo = Repository('p.zip')\n"
        refused = run(sessions, "1", f"{opened}print(repo.run_tests())").stdout.strip().splitlines()
        assert refused[0] == f"Not run: {suite}: a cell starts no programs. Where there is run_bash, give it this line:"
        said = sessions.bash(THREAD, "2", refused[-1], approve=lambda _: True).stdout
        assert said.startswith(f"{suite}: passed"), said
