"""What a turn reads of its mail, and what the messages become."""

from __future__ import annotations

import pytest
from agent_kit import mail

from core.rows import StoredMessage
from core.steps import Approval, Asked, Commanded, Decided, Questioned
from workers.agent.thread.inbox import Reading, read_mail

OPEN = Questioned(call_id="c1", question="Gross or net?", options=("Gross", "Cancel"))

APPROVE = Questioned(
    call_id="approve:1",
    question="Shall this run?",
    options=("Run it", "Skip it"),
    approval=Approval(what="python", title="Look", code="1", call="c1"),
)


def read(*messages: StoredMessage, question: Questioned | None = None) -> Reading:
    return read_mail(messages, question, lambda message: message.author)


def shown(reading: Reading) -> list[str]:
    return [step.command if isinstance(step, Commanded) else f"«{step.text}»" for step in reading.steps]


def test_words_are_read_together() -> None:
    reading = read(mail(1, "how much?"), mail(2, "in euros"))
    assert shown(reading) == ["«how much?»", "«in euros»"]
    assert len(reading.mail) == len(reading.words) == 2


def test_what_comes_behind_a_command_waits_until_it_is_carried_out() -> None:
    reading = read(mail(1, "how much?"), mail(2, "undo", "undo"), mail(3, "and now?"))
    assert shown(reading) == ["«how much?»", "undo"]
    assert [each.id for each in reading.mail] == [1, 2]


def test_a_stop_takes_all_that_came_before_it_and_nothing_that_came_after() -> None:
    messages = (mail(1, "how much?"), mail(2, "undo", "undo"), mail(3, "stop", "stop"), mail(4, "again?"))
    reading = read(*messages)
    assert shown(reading) == ["«how much?»", "undo", "stop"]
    assert reading.stops
    assert [each.id for each in reading.mail] == [1, 2, 3]


def test_a_word_that_is_an_option_of_the_open_question_is_its_answer() -> None:
    reading = read(mail(1, "cancel", "stop"), question=OPEN)
    assert reading.steps == (Asked(user="U1", author="Ana", text="cancel", ts="1.0"),)
    assert not reading.stops


@pytest.mark.parametrize("said", ["Run it.", "*run it*", "run it!", "“Run it”"])
def test_a_yes_with_marks_around_it_is_a_yes(said: str) -> None:
    (_, decided) = read(mail(1, said), question=APPROVE).steps
    assert isinstance(decided, Decided)
    assert decided.outcome == "run"


def test_other_words_let_nothing_run() -> None:
    (_, decided) = read(mail(1, "run it tomorrow"), question=APPROVE).steps
    assert isinstance(decided, Decided)
    assert decided.outcome == "other"


def test_a_press_without_an_open_question_is_read_and_dropped() -> None:
    reading = read(mail(1, "Gross", "answer"))
    assert reading.steps == ()
    assert [each.id for each in reading.mail] == [1]
    assert shown(read(mail(1, "Gross", "answer"), question=OPEN)) == ["«Gross»"]


def test_continue_is_plain_words_while_a_turn_is_open() -> None:
    assert shown(read(mail(1, "continue", "continue"))) == ["«continue»"]
