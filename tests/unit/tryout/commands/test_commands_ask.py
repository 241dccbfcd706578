"""`threadbook ask` says on standard error what happens, and keeps what it made where it was told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tryout.commands import ask

TASK = {"task_id": "1", "title": "Load the orders", "status": "complete"}


class Talk:
    """A conversation whose answer arrives after one step."""

    def __init__(self, stack: object, channel: str, watch: Callable[[dict[str, Any]], None]) -> None:
        self._watch = watch

    def say(self, text: str, files: list[Path]) -> str:
        self._watch({"ts": "1.0", "blocks": [{"type": "plan", "tasks": [TASK]}]})
        return "done"

    def messages(self) -> list[dict[str, Any]]:
        return []

    turns = messages

    def save_files(self, folder: Path) -> dict[str, Path]:
        return {}


@pytest.fixture
def homes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The homes of the stacks that were started."""
    started: list[Path] = []

    @contextmanager
    def running(home: Path, say: Callable[[str], None]) -> Iterator[object]:
        started.append(home)
        say("starting the bot")
        yield SimpleNamespace(slack=SimpleNamespace(names=dict))

    monkeypatch.setattr(ask, "running", running)
    monkeypatch.setattr(ask, "Conversation", Talk)
    return started


def test_each_question_gets_a_folder_of_its_own_in_the_home_folder_that_is_set(
    homes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREADBOOK_HOME", str(tmp_path / "home"))
    for _ in range(2):
        ask.run("What sold?", [], [], as_json=True)
    assert len(set(homes)) == 2
    assert {home.parent.parent for home in homes} == {tmp_path / "home"}


def test_a_home_folder_that_cannot_be_used_is_named(
    homes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("THREADBOOK_HOME", str(tmp_path / "file" / "home"))
    assert (ask.run("What sold?", [], []), homes) == (1, [])
    assert "THREADBOOK_HOME" in capsys.readouterr().err


def test_json_stands_alone_on_standard_output_and_each_step_is_told_on_standard_error(
    homes: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask.run("What sold?", [], [], as_json=True) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"thread": [], "turns": [], "model": ""}
    assert [line.strip(" ·✓") for line in told.err.splitlines()] == ["starting the bot", "Load the orders"]
