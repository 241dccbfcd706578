"""What follows from a reply without anything being done or asked."""

from __future__ import annotations

from dataclasses import replace

from agent_kit import BRIEFED, asked, cell, finish, judged, run, said, turn

from core.steps import (
    Approval,
    Checked,
    Corrected,
    Decided,
    Finished,
    GaveUp,
    ModelFailed,
    Questioned,
    Replied,
    Step,
)
from workers.agent.actions import AskModel
from workers.agent.consequences import follow_up
from workers.agent.decide import decide
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.turn import Allowance

READ = cell("df = pd.read_csv('sales.csv')", files_read=("sales.csv",))
OPENING = (asked(), BRIEFED, run("df = pd.read_csv('sales.csv')"), READ)


def test_a_report_that_the_judge_accepts_ends_the_turn_at_once() -> None:
    steps = follow_up(turn(*OPENING, finish("North leads.")), judged('{"is_final": true}'))
    assert [type(step) for step in steps] == [Checked, Finished]


def test_nothing_follows_from_a_reply_that_asks_for_a_cell_or_a_judge() -> None:
    assert follow_up(turn(asked(), BRIEFED), run("1")) == []
    assert follow_up(turn(*OPENING), finish("North leads.")) == []


def test_a_reply_that_calls_nothing_is_corrected_at_once() -> None:
    (step,) = follow_up(turn(asked(), BRIEFED), Replied(purpose="act", text="Hm."))
    assert isinstance(step, Corrected)


def test_a_model_that_cannot_be_asked_ends_the_turn_at_once() -> None:
    failed = ModelFailed(purpose="act", reason="model_down", prompt_chars=1)
    (step,) = follow_up(turn(asked(), BRIEFED), failed)
    assert isinstance(step, GaveUp)


def test_with_budgets_the_next_action_is_decided_from_their_new_sums() -> None:
    limited = replace(turn(*OPENING, finish("North leads.")), allowance=Allowance(9, "turn"))
    assert follow_up(limited, judged('{"is_final": true}')) == []


def test_a_question_behind_approved_feedback_has_the_number_that_its_reply_keeps() -> None:
    """Replies without ids are numbered. With another number the answer was lost, and the question asked again."""
    approval = Approval(what="stage", title="Load", code="It is 5.", call="reply-1")
    redone = approval.model_copy(update={"call": "reply-2"})
    raw: list[Step] = [
        asked("step by step: how much?"),
        said(text="<finish>It is 4.</finish>"),
        Questioned(call_id="approve:1", question="Right?", approval=approval),
        Decided(call_id="approve:1", outcome="redo", user="U1", author="Ana", ts="2.0"),
        Corrected(reason="stage_sent_back", text="No.", call_id="reply-1"),
        said(text="<finish>It is 5.</finish>"),
        Questioned(call_id="approve:2", question="Right?", approval=redone),
        Decided(call_id="approve:2", outcome="run", user="U1", author="Ana", ts="3.0"),
    ]
    reply = said(text="<ask>Gross or net?</ask>")
    seen = turn(*effective_steps([raw])[0], native_tools=False)
    (question,) = follow_up(seen, reply)
    assert isinstance(question, Questioned)
    assert question.call_id == "reply-3"
    later = turn(*effective_steps([[*raw, reply, question, asked("Net.", "Ben", "4.0")]])[0], native_tools=False)
    assert isinstance(decide(later), AskModel)
