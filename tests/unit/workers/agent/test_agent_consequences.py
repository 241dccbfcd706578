"""What follows from a reply without anything being done or asked."""

from __future__ import annotations

from dataclasses import replace

from agent_kit import BRIEFED, asked, cell, finish, judged, run, turn

from core.steps import Checked, Corrected, Finished, GaveUp, ModelFailed, Replied
from workers.agent.consequences import follow_up
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
