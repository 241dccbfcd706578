"""The words of report.yaml and lexicon.yaml: the same keys in both languages, and each of them is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import workers.offline
from workers.offline.cells import templates
from workers.offline.lexicon import lexicon
from workers.offline.wording import sentences

ROOM = Path(workers.offline.__file__).parent
NAMED_BY_VALUES = {
    "@weekday", "@quarters",  # said without their sign
    "lacks_date", "lacks_number",  # Intent.lacks
    *(f"last_{step}" for step in "DWMQY"), "Q-0",  # values of dates.py
}  # fmt: skip


def _texts() -> set[str]:
    """Every text in the code of the room; names such as "@weekday" also without their sign."""
    found = set(NAMED_BY_VALUES)
    for file in [*ROOM.glob("*.py"), *ROOM.glob("intent/*.py")]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found |= {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    return found | {text.removeprefix("@") for text in found}


@pytest.mark.parametrize("group", sorted(sentences()))
def test_every_sentence_is_used_and_stands_in_both_languages(group: str) -> None:
    languages = sentences()[group]
    assert languages["en"].keys() == languages["zh"].keys()
    known: set[object] = {*range(1, 13)} if group == "months" else {*_texts()}
    assert group in _texts()
    assert languages["en"].keys() - known == set()


def test_every_template_has_a_title_and_the_other_way_round() -> None:
    assert sentences()["titles"]["en"].keys() == templates() - {"style"}


def test_every_group_of_the_lexicon_is_used() -> None:
    assert lexicon().keys() - _texts() == set()


@pytest.mark.parametrize("group", ["analyses", "frequencies", "aggregates", "parts_of_dates", "best_period", "charts"])
def test_every_meaning_in_the_lexicon_is_used(group: str) -> None:
    assert lexicon()[group].keys() - _texts() == set()
