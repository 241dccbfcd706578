"""Words that are wishes: a message that says one of them and nothing else."""

from __future__ import annotations

import pytest

from core.words import CONTINUE, NO, RESET, STOP, UNDO, YES, says


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Undo!", UNDO),
        ("undo, please", UNDO),
        ("撤销。", UNDO),
        ("ＲＥＳＥＴ", RESET),
        ("重置", RESET),
        ("  Continue… ", CONTINUE),
        ("继续！", CONTINUE),
        ("YES", YES),
        ("好的", YES),
        ("No.", NO),
        ("不用", NO),
        ("Stop", STOP),
    ],
)
def test_a_wish_is_heard_in_any_case_and_with_any_marks(text: str, words: frozenset[str]) -> None:
    assert says(text, words)


@pytest.mark.parametrize(
    "text", ["undo the discount", "continue with the South", "重置密码的人有多少？", "", "!", "stop " * 20]
)
def test_a_question_that_holds_such_a_word_stays_a_question(text: str) -> None:
    assert not any(says(text, words) for words in (STOP, UNDO, RESET, CONTINUE, YES, NO))


def test_no_word_means_two_things() -> None:
    every = [word for words in (STOP, UNDO, RESET, CONTINUE, YES, NO) for word in words]
    assert len(every) == len(set(every))
