"""What `threadbook ask` takes from standard input and from a folder."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import threadbook
from tryout.commands import ask_input


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_dash_reads_the_question_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, " why did sales drop?\n销售额\n".encode())
    assert ask_input.question("-") == "why did sales drop?\n销售额"
    assert ask_input.question("why - and how?") == "why - and how?"


@pytest.mark.parametrize(
    ("data", "says"), [(b" \n", "no question"), (b"\xff\xfe\x00", "UTF-8"), (b"x" * 100_000, "at most 12,000")]
)
def test_standard_input_that_is_no_question_is_refused(monkeypatch: pytest.MonkeyPatch, data: bytes, says: str) -> None:
    given(monkeypatch, data)
    with pytest.raises(ask_input.BadInput, match=says):
        ask_input.question("-")


def test_a_folder_gives_its_files_by_name_without_hidden_ones_and_folders(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", ".hidden"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "inner").mkdir()
    assert [path.name for path in ask_input.files_in(tmp_path)] == ["a.csv", "b.csv"]


def test_an_empty_folder_and_one_with_too_many_files_are_refused_before_anything_starts(tmp_path: Path) -> None:
    refused = CliRunner().invoke(threadbook.app, ["ask", "what?", "--dir", str(tmp_path)])
    assert refused.exit_code == 2
    for number in range(ask_input.MOST_FILES + 1):
        (tmp_path / f"{number}.csv").write_text("x\n")
    with pytest.raises(ask_input.BadInput, match="11 files"):
        ask_input.files_in(tmp_path)


def test_a_folder_is_no_file_to_attach(tmp_path: Path) -> None:
    done = CliRunner().invoke(threadbook.app, ["ask", "how much?", "--file", str(tmp_path)])
    assert done.exit_code == 2
    assert "directory" in done.output
    assert "Traceback" not in done.output
