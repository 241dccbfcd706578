"""The stories of examples/, told to the offline analyst: its numbers are those of an independent computation."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[4] / "examples"
STORIES = sorted(EXAMPLES.glob("*/story*.yaml"))


def _answers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_answers", EXAMPLES / "answers.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("story", STORIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_turn_of_a_story_is_answered_with_the_numbers_that_the_files_hold(
    story: Path, new_thread: Callable[[], Any]
) -> None:
    told = yaml.safe_load(story.read_text(encoding="utf-8"))
    answers, thread = _answers(), new_thread()
    thread.notebook.draws = True
    files = [story.parent / name for name in told["files"]]
    for number, turn in enumerate(told["turns"]):
        answer = thread.ask(turn["question"], *(files if number == 0 else ()), author=turn["author"])
        assert answer.report, answer.gave_up
        for said in turn["says"]:
            assert re.search(said, answer.report), f"{said} is not in:\n{answer.report}"
        for name, form in turn["numbers"].items():
            expected = answers.written(answers.NUMBERS[name](story.parent), form)
            assert expected in answer.report, f"{name} = {expected} is not in:\n{answer.report}"
        assert sum(len(cell.figures) for cell in answer.cells) >= turn["charts"]


def test_a_story_names_only_numbers_that_can_be_computed() -> None:
    known = set(_answers().NUMBERS)
    used = {
        name
        for story in STORIES
        for turn in yaml.safe_load(story.read_text(encoding="utf-8"))["turns"]
        for name in turn["numbers"]
    }
    assert used == known
