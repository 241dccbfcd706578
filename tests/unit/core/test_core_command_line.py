"""What a person sees when an argument or a setting is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from typer.testing import CliRunner

import threadbook

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "text", "nearest"),
    [("threadbook.toml", "[limits]\nmax_cell = 3\n", "max_cells"), (".env", "OPENAI_MODLE=x\n", "OPENAI_MODEL")],
)
def test_a_misspelt_setting_is_one_line_with_the_nearest_name(
    tmp_path: Path, name: str, text: str, nearest: str
) -> None:
    (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", "bot"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert nearest in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["bot", "worker"])
def test_a_process_without_a_token_does_not_start_and_says_where_it_is(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", command],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "SLACK_BOT_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".threadbook").exists()


def test_shells_complete_commands_and_help_names_the_exit_codes() -> None:
    assert "Exit codes: 0 done" in " ".join(CliRunner().invoke(threadbook.app, ["--help"]).stdout.split())
    asked = {"_THREADBOOK_COMPLETE": "complete_bash", "COMP_WORDS": "threadbook re", "COMP_CWORD": "1"}
    shown = CliRunner().invoke(threadbook.app, [], prog_name="threadbook", env=asked)
    assert shown.stdout.split() == ["replay"]


def test_a_wrong_argument_is_not_called_a_wrong_setting(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", "purge"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("threadbook: an argument or a setting is wrong.\npurge takes one of:")
