"""Reports that were sent back, in the memory of later turns."""

from __future__ import annotations

import pytest
from agent_kit import BRIEFED, asked, call, cell, finish, judged, run, said, turn

from core.steps import Checked, Commanded, Corrected, Finished, Forgot, GaveUp, Questioned, Replied, Step
from workers.agent.actions import Message
from workers.agent.prompt.messages import check_messages, messages

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


RESET = (
    Questioned(call_id="reset", question="Reset it?", options=("Yes", "No")),
    Commanded(command="confirm", user="U1", author="Ana", text="yes", ts="2.0"),
    Forgot(done=True, user="U1", author="Ana", text="It is reset."),
)
ASKED_BACK = (
    said(call("ask_user", "q1", question="Net or gross?", options=["net", "gross"])),
    Questioned(call_id="q1", question="Net or gross?", options=("net", "gross")),
    asked("net, please", "Ben", ts="1.5"),
)
FIRST = (*BEGUN, WRONG, SENT_BACK, *ASKED_BACK, run("secret = 77", "c2"), cell("secret = 77", "c2", 2, stdout="77"))


@pytest.mark.parametrize("native", [True, False])
def test_after_a_reset_the_model_reads_what_people_said_and_the_report_but_no_code(native: bool) -> None:
    first = (*FIRST, asked("by region too", "Ben", ts="1.6"), RIGHT, *POSTED)
    told = messages(turn(asked("And now?", ts="3.0"), earlier=(first, RESET), native_tools=native))
    text = str(told[1:])
    for gone in ("secret", "77", "4,711", "run_python", "```python", "still holds the variables"):
        assert gone not in text
    for kept in ("Net or gross?", "net, please", "by region too", "North sold 1,204.50.", "It is reset.", "sales.csv"):
        assert kept in text
    assert "No figure from before counts as computed" in str(told[-1]["content"])
    calls = [each["id"] for message in told for each in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in told if message["role"] == "tool"]
    assert len(calls) == (2 if native else 0)


def test_a_turn_of_cells_that_a_reset_followed_leaves_no_empty_question() -> None:
    own = cell("mine = 1", "own:1.9", 3, stdout="1").model_copy(update={"user": "U2", "author": "Ben"})
    told = messages(turn(asked("And now?", ts="3.0"), earlier=((*FIRST, RIGHT, *POSTED), (own,), RESET)))
    assert "mine" not in str(told)
    assert str(told).count("# Follow-up") == 2, "the reset and the question"


def test_cells_behind_a_reset_are_read() -> None:
    later = (asked("Again", ts="3.0"), run("fresh = 5", "c3"), cell("fresh = 5", "c3", 3), RIGHT, *POSTED)
    told = str(messages(turn(asked("And now?", ts="4.0"), earlier=((*FIRST, RIGHT, *POSTED), RESET, later))))
    assert "fresh = 5" in told
    assert "secret" not in told
    assert "Cell 3" in told, "the number by which its tokens name it"


def test_the_judge_reads_no_cell_that_a_reset_followed() -> None:
    now = (asked("And now?", ts="3.0"), run("fresh = 5", "c3"), cell("fresh = 5", "c3", 3, stdout="5"))
    told = str(check_messages(turn(*now, earlier=((*FIRST, RIGHT, *POSTED), RESET)), "It is 5."))
    assert "77" not in told
    assert "Cell 3" in told
