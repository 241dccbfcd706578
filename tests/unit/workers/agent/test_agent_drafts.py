"""Reports that were sent back, in the memory of later turns."""

from __future__ import annotations

import pytest
from agent_kit import BRIEFED, asked, call, cell, finish, judged, run, said, turn

from core.steps import Checked, Corrected, Finished, GaveUp, Replied, Step
from workers.agent.actions import Message
from workers.agent.messages import messages

WRONG = finish("North sold **4,711**.", "d1")
SENT_BACK = Corrected(reason="unsourced", text='not found: "4,711"', call_id="d1")
RIGHT = finish("North sold 1,204.50.", "f1")
POSTED = (judged('{"is_final": true}'), Checked(is_final=True), Finished(report="North sold 1,204.50."))
BEGUN = (asked(), BRIEFED, run("1"), cell("1"))


def after(*steps: Step, native: bool = True) -> tuple[Message, ...]:
    """What the model reads in a turn that follows these steps."""
    return messages(turn(asked("and by month?", ts="2.0"), earlier=((*BEGUN, *steps),), native_tools=native))


@pytest.mark.parametrize("native", [True, False])
def test_a_draft_that_was_sent_back_is_not_carried_into_later_turns(native: bool) -> None:
    wrong = WRONG if native else Replied(purpose="act", text="<finish>\nNorth sold **4,711**.\n</finish>")
    why = SENT_BACK if native else SENT_BACK.model_copy(update={"call_id": "reply-2"})
    told = str(after(wrong, why, RIGHT, *POSTED, native=native))
    assert "4,711" not in told
    assert "It was sent back. The report that was posted stands below." in told
    assert "North sold 1,204.50." in told


def test_a_draft_that_the_judge_sent_back_is_not_carried_either() -> None:
    judge = (judged('{"is_final": false}'), Checked(is_final=False, reason="months miss"))
    told = str(after(WRONG, *judge, Corrected(reason="not_final", text="months miss", call_id="d1"), RIGHT, *POSTED))
    assert "4,711" not in told
    assert "months miss" not in told


def test_every_reply_stays_one_message() -> None:
    roles = [message["role"] for message in after(WRONG, SENT_BACK, RIGHT, *POSTED)]
    assert roles.count("assistant") == 3


def test_a_draft_stays_while_its_turn_goes_on() -> None:
    assert "4,711" in str(messages(turn(*BEGUN, WRONG, SENT_BACK)))


def test_a_draft_beside_which_a_person_wrote_stays() -> None:
    assert "without the South" in str(after(WRONG, SENT_BACK, asked("without the South", "Ben"), RIGHT, *POSTED))


@pytest.mark.parametrize(
    "end",
    [
        (GaveUp(reason="stopped", text="Stopped."),),
        (said(text=""), Corrected(reason="empty_reply", text="…"), Finished(report="North sold **4,711**.")),
        (said(call("ask_user", question="Go on?")), Finished(report="North sold **4,711**.")),
    ],
)
def test_a_draft_without_a_better_report_behind_it_stays(end: tuple[Step, ...]) -> None:
    assert "4,711" in str(after(WRONG, SENT_BACK, *end))
