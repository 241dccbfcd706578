"""Which cell an undo means, and what answers our question about a reset."""

from __future__ import annotations

import pytest

from core.values import Language
from workers.agent.steps import Asked, CellRan, Forgot, Step, Undone
from workers.wishes import last_cell, reset_answer, reset_question


def cell(number: int) -> CellRan:
    return CellRan(call_id=f"c{number}", cell_id=f"T1/c{number}", title="Step", code="1", status="ok")


def asked(text: str) -> Asked:
    return Asked(user="U1", author="Ana", text=text, ts="1.0")


def undone(number: int) -> Undone:
    return Undone(cell_id=f"T1/c{number}", title="Step", user="U1", author="Ana", ts="9.0")


FORGOT = Forgot(done=True, user="U1", author="Ana", text="It is reset.")


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([], None),
        ([[asked("hi")]], None),
        ([[cell(1)], [cell(2)]], 2),
        ([[cell(1)], [asked("hi")]], 1),
        ([[cell(1), cell(2), undone(2)]], 1),
        ([[cell(1), cell(2)], [undone(2)]], 1),
        ([[cell(1), undone(1)]], None),
        ([[cell(1)], [FORGOT]], None),
        ([[cell(1)], [FORGOT], [cell(2)]], 2),
        ([[cell(1)], [FORGOT.model_copy(update={"done": False})]], 1),
    ],
)
def test_the_last_cell_is_the_one_that_still_counts(turns: list[list[Step]], expected: int | None) -> None:
    found = last_cell(turns)
    assert (found.cell_id if found else None) == (f"T1/c{expected}" if expected else None)


@pytest.mark.parametrize(
    ("language", "text", "done"),
    [
        ("en", "YES", True),
        ("en", "Yes, reset", True),
        ("en", "ok!", True),
        ("en", "No.", False),
        ("en", "no, keep it", False),
        ("zh", "是，清空", True),
        ("zh", "好的", True),
        ("zh", "不用了", False),
        ("zh", "否，保留", False),
        ("zh", "yes", True),
        ("en", "what sold best?", None),
    ],
)
def test_yes_and_no_are_understood_in_any_case_and_anything_else_is_neither(
    language: Language, text: str, done: bool | None
) -> None:
    answer = reset_answer([asked("reset"), reset_question(language), asked(text)], language)
    assert (answer.done if answer else None) is done


def test_only_the_first_answer_counts_and_only_to_that_question() -> None:
    question = reset_question("en")
    assert reset_answer([asked("reset"), question], "en") is None
    assert reset_answer([asked("reset"), question, asked("what sold best?"), asked("yes")], "en") is None
    assert reset_answer([asked("yes")], "en") is None
