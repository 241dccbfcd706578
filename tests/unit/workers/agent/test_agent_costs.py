"""What a call is estimated to cost, and when a person is asked before it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agent_kit import BRIEFED, asked, turn

from core.steps import Approval, Compacted, Decided, Questioned, Replied, Step, Usage
from workers.agent.actions import Action, AskApproval, AskModel, CorrectModel, GiveUp, RecordRoute, RecordVerdict
from workers.agent.costs import estimate, within_costs
from workers.agent.decide import decide
from workers.agent.turn import CostBound, Price, Turn

PRICE = Price("gpt-x", 2, 10)
BOUND = CostBound(1_000_000, "USD", PRICE, Price("other", 4, 20))


def call(text: str, purpose: str = "act") -> AskModel:
    return AskModel(purpose, ({"role": "user", "content": text},))  # type: ignore[arg-type]


def replied(prompt: int, completion: int, purpose: str = "act") -> Replied:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    return Replied(purpose=purpose, usage=usage)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "text", "prompt", "reply"),
    [
        ([], "a" * 400, 100, 1_000),
        ([], "数" * 400, 400, 1_000),
        ([], "", 0, 1_000),
        ([replied(5_000, 3_000)], "a" * 400, 8_000, 3_000),
        ([replied(5_000, 3_000), Compacted(context_chars=9)], "a" * 400, 100, 3_000),
        ([replied(5_000, 3_000, "check")], "a" * 400, 100, 1_000),
        ([replied(0, 0)], "a" * 400, 100, 1_000),
    ],
)
def test_a_call_is_estimated_by_its_prompt_and_the_longest_reply_so_far(
    steps: list[Step], text: str, prompt: int, reply: int
) -> None:
    found = estimate(steps, call(text), PRICE)
    assert (found.prompt_tokens, found.reply_tokens) == (prompt, reply)
    assert found.micros == prompt * 2 + reply * 10


def test_a_picture_counts_about_a_thousand_tokens() -> None:
    picture = {"name": "a.png", "mimetype": "image/png", "sha256": "1" * 64}
    message = {"role": "user", "content": "a" * 400, "pictures": [picture, picture]}
    assert estimate([], AskModel("act", (message,)), PRICE).prompt_tokens == 100 + 2 * 1_000


def bounded(*steps: Step, costs: CostBound | None = BOUND) -> Turn:
    return replace(turn(asked(), BRIEFED, *steps), costs=costs)


def decided(outcome: str, purpose: str = "act", micros: int = 2_000_000, n: int = 1) -> list[Step]:
    what = "cost" if purpose in ("act", "learn") else "extra"
    approval = Approval(what=what, title="t", code="c", call=f"cost:{purpose}", micros=micros)  # type: ignore[arg-type]
    asks = Questioned(call_id=f"approve:{n}", question="?", approval=approval)
    return [asks, Decided(call_id=f"approve:{n}", outcome=outcome, user="UANA")]  # type: ignore[arg-type]


DEAR = "a" * 4_000_000
"""About two units of money."""


def after(*steps: Step, purpose: str = "act", text: str = DEAR) -> Action:
    return within_costs(bounded(*steps), call(text, purpose))


def test_a_dear_call_asks_with_its_estimate() -> None:
    action = after()
    assert isinstance(action, AskApproval)
    assert (action.number, action.approval.what, action.approval.call) == (1, "cost", "cost:act")
    assert action.approval.micros == 2_010_000
    for words in ("2.01 USD", "1.00 USD", "1,000,000 tokens", "gpt-x"):
        assert words in action.approval.code


def test_a_second_way_is_reckoned_at_the_price_of_its_own_model() -> None:
    action = after(purpose="route")
    assert isinstance(action, AskApproval)
    assert (action.approval.what, action.approval.micros) == ("extra", 4_020_000)


@pytest.mark.parametrize(("agreed", "asks"), [(2_000_000, False), (1_005_000, False), (1_004_999, True)])
def test_a_yes_counts_up_to_twice_its_estimate(agreed: int, asks: bool) -> None:
    assert isinstance(after(*decided("run", micros=agreed)), AskApproval) is asks


def test_a_yes_to_one_kind_is_none_to_another() -> None:
    assert isinstance(after(*decided("run"), purpose="check"), AskApproval)


def test_a_no_leaves_out_what_an_answer_can_do_without() -> None:
    assert isinstance(after(*decided("skip", "check"), purpose="check"), RecordVerdict)
    assert isinstance(after(*decided("skip", "route"), purpose="route"), RecordRoute)
    assert isinstance(after(*decided("skip", "debug"), purpose="debug"), CorrectModel)


def test_a_no_to_the_next_step_ends_the_turn() -> None:
    action = after(*decided("reject"))
    assert isinstance(action, GiveUp)
    assert action.fault == "user"


@pytest.mark.parametrize("outcome", ["other", "expired", "redo", "edited", "skip"])
def test_what_is_neither_yes_nor_no_asks_again(outcome: str) -> None:
    action = after(*decided(outcome))
    assert isinstance(action, AskApproval)
    assert action.number == 2


def test_the_last_word_counts() -> None:
    assert isinstance(after(*decided("reject"), *decided("run", n=2)), AskModel)
    assert isinstance(after(*decided("run"), *decided("reject", n=2)), GiveUp)


@pytest.mark.parametrize("costs", [None, replace(BOUND, price=None), replace(BOUND, above_micros=10**9)])
def test_nobody_is_asked_without_a_bound_or_a_price_or_below_the_bound(costs: CostBound | None) -> None:
    action = call(DEAR)
    assert within_costs(bounded(costs=costs), action) is action


def test_what_is_no_call_of_a_model_costs_nothing() -> None:
    done = RecordVerdict(True)
    assert within_costs(bounded(), done) is done


def test_the_first_step_of_a_turn_is_asked_about_too() -> None:
    assert isinstance(decide(bounded(costs=replace(BOUND, above_micros=1))), AskApproval)
    assert isinstance(decide(bounded()), AskModel)
