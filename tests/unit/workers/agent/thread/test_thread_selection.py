"""Which turn the mail of a thread at rest is for."""

from __future__ import annotations

import pytest
from agent_kit import mail

from core.steps import Acknowledged, Asked, CellRan, Closed, Commanded, Finished, Forgot, GaveUp, Step
from workers.agent.thread.selection import CarryOut, Drop, Open, Reopen, Rest, select

ASKED = Asked(user="U1", author="Ana", text="how much?", ts="1.0")
DONE: list[Step] = [ASKED, Finished(report="**42**.")]
STOPPED: list[Step] = [ASKED, GaveUp(reason="stopped", text="Stopped.", fault="user")]
STUCK: list[Step] = [ASKED, GaveUp(reason="stuck_on_error", text="Stuck.")]
CARRIED_OUT: list[Step] = [
    Commanded(command="remember", user="U1", author="Ana", text="remember: a is b", ts="2.0"),
    Acknowledged(command="remember", ts="2.0"),
    Closed(),
]
OWN_CODE: list[Step] = [
    Commanded(command="run", user="U1", author="Ana", text="run", ts="2.0"),
    CellRan(call_id="own:2.0", cell_id="x/p1", title="Mine", code="1", status="ok", duration_s=0.1, user="U1"),
    Closed(),
]
KEPT: list[Step] = [ASKED, Forgot(done=False, user="U1", author="Ana", text="Nothing was reset.")]


def test_without_mail_nothing_is_to_be_done() -> None:
    assert select([], [DONE]) == Rest()


@pytest.mark.parametrize("past", [[], [DONE]])
def test_words_open_a_turn(past: list[list[Step]]) -> None:
    assert select([mail(1)], past) == Open()


def test_a_stop_or_a_press_behind_the_end_is_dropped_alone() -> None:
    stop, press, words = mail(1, "stop", "stop"), mail(2, "answer", "answer"), mail(3)
    assert select([stop, press, words], [DONE]) == Drop((stop, press))


def test_a_stop_behind_new_words_is_for_their_turn() -> None:
    assert select([mail(1), mail(2, "stop", "stop")], [DONE]) == Open()


def test_an_undo_at_rest_needs_no_turn_and_a_reset_opens_one() -> None:
    assert select([mail(1, "undo", "undo")], [DONE]) == CarryOut(mail(1, "undo", "undo"))
    assert select([mail(1, "reset", "reset")], [DONE]) == Open()


@pytest.mark.parametrize(
    ("past", "place"),
    [
        ([DONE, STOPPED], 1),
        ([STOPPED, KEPT], 0),
        ([STOPPED, CARRIED_OUT], 0),
        ([STOPPED, OWN_CODE], None),
        ([STOPPED, DONE], None),
        ([STUCK], None),
    ],
)
def test_continue_takes_up_the_last_turn_if_it_ended_for_a_passing_reason(
    past: list[list[Step]], place: int | None
) -> None:
    word = mail(1, "continue", "continue")
    assert select([word], past) == (Open() if place is None else Reopen(word, place))
