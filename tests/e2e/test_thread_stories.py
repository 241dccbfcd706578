"""The sample stories, told to the running product: their numbers are computed without it and found in its reports."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
import yaml
from harness import Start, Talk
from PIL import Image

from workers.offline import OfflineAnalyst

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples"
PEOPLE = {"Ana": "ana", "Ben": "ben", "小林": "chenchen", "小王": "maya"}


def module(name: str) -> ModuleType:
    """A module of examples/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded  # where its dataclasses look themselves up
    spec.loader.exec_module(loaded)
    return loaded


def charts(talk: Talk) -> list[str]:
    """The names of the last turn's charts; each is opened as a picture."""
    made = {figure.name for cell in talk.steps("cell") for figure in cell.figures}
    for file in talk.files:
        if file["mimetype"] == "image/png":
            with Image.open(io.BytesIO(talk.stack.slack.file(file["id"]))) as picture:
                picture.verify()
                assert min(picture.size) > 200
    return sorted(made & {file["name"] for file in talk.files})


def check_turn(talk: Talk, turn: dict[str, Any], folder: Path, answers: ModuleType) -> None:
    assert talk.turn.status == "done", talk.text
    for pattern in turn["says"]:
        assert re.search(pattern, talk.report), f"{turn['question']!r} should say {pattern!r}:\n{talk.report}"
    for name, form in (turn.get("numbers") or {}).items():
        expected = answers.written(answers.NUMBERS[name](folder), form)
        assert expected in talk.report, f"{turn['question']!r} should give {name} = {expected}:\n{talk.report}"
    assert len(charts(talk)) >= turn["charts"]
    warnings = "\n".join(cell.stderr for cell in talk.steps("cell"))
    assert "Glyph" not in warnings


@pytest.mark.parametrize("story_file", ["sales/story.yaml", "sales/story_zh.yaml", "telco/story.yaml"])
def test_a_story_is_answered_with_the_numbers_that_are_in_its_data(start: Start, story_file: str) -> None:
    path = EXAMPLES / story_file
    story = yaml.safe_load(path.read_text(encoding="utf-8"))
    answers = module("answers")
    stack = start(OfflineAnalyst())
    talk: Talk | None = None
    for turn in story["turns"]:
        user = PEOPLE[turn["author"]]
        files = [path.parent / name for name in story["files"]]
        talk = talk.ask(turn["question"], user=user) if talk else stack.ask(turn["question"], files, user=user)
        check_turn(talk, turn, path.parent, answers)
        assert talk.turn.language == story["language"]


def test_the_headline_of_the_sales_story_agrees_with_pandas(start: Start) -> None:
    ledger = pd.read_csv(EXAMPLES / "sales" / "sales.csv", dtype=str).drop_duplicates()
    text = ledger["amount"].fillna("")
    sign = text.str.contains(r"^[-(]").map({True: -1.0, False: 1.0})
    given = pd.to_numeric(text.str.replace(r"[^\d.]", "", regex=True)) * sign
    filled = given.fillna(pd.to_numeric(ledger["quantity"]) * pd.to_numeric(ledger["unit_price"]))
    regions = filled.groupby(ledger["region"].str.strip().str.lower()).sum()
    talk = start(OfflineAnalyst()).ask("Which region sold most?", [EXAMPLES / "sales" / "sales.csv"])
    assert f"${regions.max():,.0f}" in talk.report
    assert f"{regions.max() / filled.sum():.1%}" in talk.report
    assert str(regions.idxmax()).title() in talk.report


def test_a_broken_column_is_met_with_an_error_a_repair_and_an_answer(start: Start, tmp_path: Path) -> None:
    broken = tmp_path / "sales.csv"
    module("make_data").break_column(EXAMPLES / "sales" / "sales.csv", broken, "quantity", "units")
    talk = start(OfflineAnalyst()).ask("What is the total quantity by region?", [broken])
    statuses = [cell.status for cell in talk.steps("cell")]
    assert talk.turn.status == "done", talk.text
    assert "error" in statuses
    assert statuses[-1] == "ok"
    assert statuses.index("error") < len(statuses) - 1
    assert re.search(r"\bNorth\b", talk.report)


def test_a_second_persons_follow_up_uses_the_variables_of_the_first(start: Start) -> None:
    first = start(OfflineAnalyst()).ask("Which region sold most?", [EXAMPLES / "sales" / "sales.csv"], user="ana")
    made = {name for cell in first.steps("cell") for name in assigned(cell.code)}
    second = first.ask("And only 2023?", user="ben")
    assert second.turn.status == "done"
    codes = [cell.code for cell in second.steps("cell")]
    assert made & {name for code in codes for name in used(code)}
    assert not any("read_csv" in code for code in codes)
    assert not any(cell.files_read for cell in second.steps("cell"))
    assert "2023" in second.report


def assigned(code: str) -> set[str]:
    return {
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def used(code: str) -> set[str]:
    return {
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def test_the_offline_analyst_introduces_itself_first_and_only_once(start: Start) -> None:
    talk = start(OfflineAnalyst()).ask("Which region sold most?", [EXAMPLES / "sales" / "sales.csv"]).ask("Only 2023?")
    said = [message["text"] for message in talk.messages if message.get("bot_id")]
    assert "OPENAI_API_KEY" in said[0]
    assert sum("built-in offline analyst" in text and "OPENAI_BASE_URL" in text for text in said[:1]) == 1
    assert said.count(said[0]) == 1
