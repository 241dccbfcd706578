"""Questions of our own suite (`bench/suite/`): the offline analyst is right, or it says that it cannot answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.suite.__main__ import questions, write
from bench.suite.values import Item
from tryout.evals.scoring import score_plain
from tryout.evals.suite import Gold

BY_ID = {item.id: item for item in questions()}
RIGHT = ("orders-total", "orders-top-region", "staff-research-mean", "zh-total")
ONCE_WRONG = {
    "visits-max-fee": "at which",
    "survey-score-of-fans": "those who",
    "inventory-largest-gain": "gained",
    "inventory-low": "at least one",
    "shipments-open": "have no",
    "tickets-open": "still open",
    "traffic-2024": "visitors",
    "purchases-top-country": "spent",
    "events-buyers": "at least one",
    "flights-late-airline": "share",
    "cancer-radius-gap": "By how much",
    "grunfeld-1950": "1950",
}
"""Questions that once had a confident answer to another question, and the words that were passed over."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("suite")
    write(made)
    return made


def outcome(item: Item, answer: Any) -> str:
    golds = {name: Gold.model_validate(gold) for name, gold in item.line()["answers"].items()}
    return score_plain(answer.report, "report" if answer.has_tick else "partial", golds)[0]


@pytest.mark.parametrize("name", RIGHT)
def test_a_plain_question_is_answered_right(thread: Any, folder: Path, name: str) -> None:
    item = BY_ID[name]
    assert outcome(item, thread.ask(item.text, *(folder / file for file in item.files))) == "right"


@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")  # pandas warns in C
@pytest.mark.parametrize("name", ONCE_WRONG)
def test_words_that_no_analysis_does_justice_to_are_named(thread: Any, folder: Path, name: str) -> None:
    item = BY_ID[name]
    answer = thread.ask(item.text, *(folder / file for file in item.files))
    assert outcome(item, answer) == "declined"
    assert f"“{ONCE_WRONG[name]}" in answer.report or answer.question
