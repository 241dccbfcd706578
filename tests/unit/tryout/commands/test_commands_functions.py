"""`threadbook functions`, as whoever runs it sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from function_samples import CODE, NAME, SCHEMA, TESTS, draft

from core.settings import load_settings
from tryout.commands import functions
from workers.memory.team import memory_of

SPACE = "channels/C0SALES001"


def folder_of(root: Path, code: str = CODE) -> Path:
    folder = root / NAME
    folder.mkdir(parents=True)
    (folder / "module.py").write_text(code)
    (folder / "tests.py").write_text(TESTS)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return folder


def test_a_folder_that_follows_the_rules_has_nothing_to_mend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert functions.run_check(None, [folder_of(tmp_path)]) == 0
    assert functions.run_check(None, [tmp_path]) == 0
    assert capsys.readouterr().out == "1 function, nothing to mend.\n" * 2


def test_what_breaks_a_rule_is_named_with_its_folder_and_never_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "ran"
    folder = folder_of(tmp_path, f"import os\nos.mkdir({str(mark)!r})\n{CODE}")
    assert functions.run_check(None, [folder]) == 1
    told = capsys.readouterr().out
    assert f"{folder}: module.py, line 1: os may not be imported." in told
    assert "top level" in told
    assert not mark.exists()


def test_a_folder_without_a_function_is_a_fault(tmp_path: Path) -> None:
    assert functions.run_check(None, [tmp_path]) == 1


def test_the_memorys_functions_are_listed_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)
    shelf = memory_of(settings).functions
    shelf.accept(SPACE, draft(), {"need": "churn"})
    assert functions.run_list(settings) == 0
    assert "v1: churn_rate(left: int, before: int) -> float" in capsys.readouterr().out
    assert functions.run_check(settings, []) == 0
    (settings.memory_folder / SPACE / "functions/tested" / NAME / "tests.py").write_text(TESTS + "\n# mine\n")
    assert functions.run_check(settings, []) == 1
    capsys.readouterr()
    assert functions.run_list(settings, as_json=True) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["importable"]) == (NAME, False)
