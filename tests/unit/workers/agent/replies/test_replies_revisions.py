"""A report that comes again as changes to the one before it."""

from __future__ import annotations

import json

import pytest
from agent_kit import BRIEFED, asked, call, cell, finish, run, said, turn

from core.steps import Corrected, Finished, Replied, Step
from workers.agent.actions import AskModel, CorrectModel
from workers.agent.decide import decide
from workers.agent.prompt.drafts import without_drafts
from workers.agent.replies.intents import Report
from workers.agent.replies.parse import read_reply
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.turn import episodes

BEGUN = (asked(), BRIEFED, run("1"), cell("1", stdout="North 1204.50\nSouth 88"))
DRAFT = "North sold 1,240.50 [=1:1204.50].\n\n- South sold 88.\n- South is small."
SENT_BACK = Corrected(reason="unsourced", text="not found: 1,240.50", call_id="f1")
REFUSED = (*BEGUN, finish(DRAFT), SENT_BACK)


def changes(*pairs: tuple[str, str], **more: object) -> Replied:
    return said(call("finish", "f2", changes=[{"old": old, "new": new} for old, new in pairs], **more))


def last_report(*steps: Step) -> object:
    """What the last reply means, once the steps are those that count."""
    reply = [step for step in effective_steps([steps])[0] if isinstance(step, Replied)][-1]
    return read_reply(reply, 9).intents[0]


def told(*steps: Step) -> str:
    action = decide(turn(*effective_steps([steps])[0]))
    assert isinstance(action, CorrectModel)
    assert action.reason == "changes_unfit"
    return action.text


def test_changes_give_the_last_report_with_its_passages_replaced() -> None:
    report = last_report(*REFUSED, changes(("1,240.50", "1,204.50"), ("\n- South is small.", "")))
    assert report == Report("f2", "North sold 1,204.50 [=1:1204.50].\n\n- South sold 88.")


def test_a_passage_may_leave_the_tokens_out_as_the_message_about_it_does() -> None:
    report = last_report(*REFUSED, changes(("North sold 1,240.50.", "North sold 1,204.50 [=1:1204.50].")))
    assert report == Report("f2", "North sold 1,204.50 [=1:1204.50].\n\n- South sold 88.\n- South is small.")
    report = last_report(*REFUSED, changes(("sold 1,240.50", "sold 1,204.50")))
    assert report == Report("f2", DRAFT.replace("1,240.50", "1,204.50"))
    report = last_report(*REFUSED, changes(("North sold 1,240.50 ", "North sold 1,204.50 ")))
    assert isinstance(report, Report)


def test_changes_build_on_the_changes_before_them() -> None:
    again = Corrected(reason="unsourced", text="not found", call_id="f2")
    third = said(call("finish", "f3", changes=[{"old": "1,204.50 [", "new": "1,204.5 ["}]))
    report = last_report(*REFUSED, changes(("1,240.50", "1,204.50")), again, third)
    assert isinstance(report, Report)
    assert report.text.startswith("North sold 1,204.5 [=1:1204.50].")


def test_no_changes_send_the_report_as_it_was() -> None:
    assert last_report(*REFUSED, changes()) == Report("f2", DRAFT)


def test_a_whole_report_beside_changes_counts() -> None:
    assert last_report(*REFUSED, changes(("88", "89"), report="North leads.")) == Report("f2", "North leads.")


@pytest.mark.parametrize(
    "arguments",
    [
        {"changes": {"old": "1,240.50", "new": "1,204.50"}},
        {"changes": json.dumps([{"old": "1,240.50", "new": "1,204.50"}])},
        {"changes": [{"find": "1,240.50", "replace": "1,204.50"}]},
        {"arguments": {"changes": [{"old_string": "1,240.50", "new_string": "1,204.50"}]}},
    ],
)
def test_changes_are_read_in_the_shapes_that_models_give_them(arguments: dict[str, object]) -> None:
    report = last_report(*REFUSED, said(call("finish", "f2", **arguments)))
    assert report == Report("f2", DRAFT.replace("1,240.50", "1,204.50"))


def test_a_passage_that_does_not_stand_in_the_report_is_named_and_nothing_changes() -> None:
    text = told(*REFUSED, changes(("1,240.50", "1,204.50"), ("West sold 88", "South sold 88")))
    assert '"West sold 88" does not stand in your report' in text


def test_a_passage_that_stands_there_twice_is_named() -> None:
    assert '"South" stands 2 times in your report' in told(*REFUSED, changes(("South", "The South")))


def test_a_change_without_its_old_passage_is_sent_back() -> None:
    assert "(no old passage)" in told(*REFUSED, changes(("", "More.")))
    assert "(no old passage)" in told(*REFUSED, said(call("finish", "f2", changes=["make it shorter"])))


def test_changes_without_a_report_are_answered_with_what_to_send() -> None:
    assert "so there is nothing to change. Send the whole report" in told(*BEGUN, changes(("a", "b")))


def test_a_report_of_an_earlier_turn_is_not_changed() -> None:
    earlier = (*BEGUN, finish(DRAFT), Finished(report=DRAFT))
    now = effective_steps([earlier, (asked("shorter", ts="2.0"), changes(("88", "89")))])[1]
    action = decide(turn(*now, earlier=(earlier,)))
    assert isinstance(action, CorrectModel)
    assert "there is nothing to change" in action.text


def test_changes_that_did_not_fit_keep_the_report_that_they_would_have_changed() -> None:
    misfit = Corrected(reason="changes_unfit", text="does not stand", call_id="f2")
    third = said(call("finish", "f3", changes=[{"old": "1,240.50", "new": "1,204.50"}]))
    report = last_report(*REFUSED, changes(("West", "South")), misfit, third)
    assert report == Report("f3", DRAFT.replace("1,240.50", "1,204.50"))


def test_the_model_reads_its_changed_report_whole() -> None:
    steps = effective_steps([(*REFUSED, changes(("1,240.50", "1,240.60")))])[0]
    again = Corrected(reason="unsourced", text="not found: 1,240.60", call_id="f2")
    action = decide(turn(*steps, again))
    assert isinstance(action, AskModel)
    assert "North sold 1,240.60 [=1:1204.50]." in str(action.messages)


def test_a_reply_in_text_that_speaks_of_changes_is_left_alone() -> None:
    spoken = Replied(purpose="act", text="<finish>\nThe changes of North: 1,204.50.\n</finish>")
    assert isinstance(report := last_report(*REFUSED, spoken), Report)
    assert report.text == "The changes of North: 1,204.50."


def test_misfit_changes_are_not_carried_into_later_turns() -> None:
    misfit = Corrected(reason="changes_unfit", text='"West sold 4,711" does not stand in your report', call_id="f2")
    whole = said(call("finish", "f3", report="North sold 1,204.50."))
    steps = (*REFUSED, changes(("West sold 4,711", "")), misfit, whole, Finished(report="North sold 1,204.50."))
    assert "4,711" not in str(without_drafts(episodes(steps)[1]))
