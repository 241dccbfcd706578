"""The command as a shell starts it: whatever its output goes to, it ends with a code and without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

pytestmark = pytest.mark.process

COMMAND = (sys.executable, str(Path(__file__).parents[2] / "threadbook.py"))


def run(arguments: list[str], output: str = "", **environment: str) -> tuple[int, str, str]:
    """(exit code, standard output if it was read, standard error)."""
    with open(output or os.devnull, "wb") as opened:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=opened if output else subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            check=False,
            timeout=PATIENCE_S,
        )
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["manifest"]])
def test_a_full_disk_behind_the_output_is_told_in_a_sentence(arguments: list[str]) -> None:
    code, _, told = run(arguments, "/dev/full")
    assert (code, told) == (1, "threadbook: the output is not whole: No space left on device.\n")


def test_an_output_that_nobody_reads_on_ends_without_a_word() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        done = subprocess.run(
            [*COMMAND, "manifest"], stdout=nobody, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_letters_that_a_terminal_has_not_leave_the_rest_readable() -> None:
    code, shown, told = run(["manifest"], PYTHONIOENCODING="ascii")
    assert (code, told) == (0, "")
    assert "socket_mode_enabled: true" in shown
