"""What the next call of a model is likely to cost, and the question whether it may be made. Pure.

An estimate uses what is known before the call: the prompt as it would be sent, the longest reply of this kind so far,
and the model's price. Without a price there is no estimate, and nobody is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.phrases import say
from core.rows import money
from core.steps import (
    APPROVAL_REJECTED,
    Approval,
    Compacted,
    Decided,
    Purpose,
    Questioned,
    Replied,
    Step,
    decision_on,
)
from core.values import Language
from workers.agent import debugging
from workers.agent.actions import (
    Action,
    AskApproval,
    AskModel,
    CorrectModel,
    GiveUp,
    Message,
    RecordRoute,
    RecordVerdict,
)
from workers.agent.common_actions import ask_approval
from workers.agent.pictures import PICTURE_CHARS, pictures_in
from workers.agent.text import CHARS_PER_TOKEN, tokens_in
from workers.agent.turn import Price, Turn

LEAST_REPLY_TOKENS: Final = 1_000
AGAIN_ABOVE: Final = 2
"""A yes also allows later calls of the same kind, up to this many times its estimate."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens of one call, and its cost in millionths of the currency."""

    prompt_tokens: int
    reply_tokens: int
    micros: int


def within_costs(turn: Turn, action: Action) -> Action:
    """The action itself. If the call is estimated above the bound, the question whether it may be made.

    After a no, the turn goes on without a judge, a second way or a search for a cause. Before any other call it ends.
    """
    if turn.costs is None or not isinstance(action, AskModel):
        return action
    price = turn.costs.second_price if action.purpose == "route" else turn.costs.price
    if price is None:
        return action
    found = estimate(turn.steps, action, price)
    if found.micros <= turn.costs.above_micros:
        return action
    for approval, decided in reversed(_decisions(turn.steps, action.purpose)):
        if decided.outcome == "run" and found.micros <= AGAIN_ABOVE * approval.micros:
            return action
        if decided.outcome in ("skip", "reject"):
            return _without(turn, action.purpose, approval, decided)
    return _ask(turn, action.purpose, found, price)


def estimate(steps: Sequence[Step], action: AskModel, price: Price) -> Estimate:
    """What a call is likely to take. The endpoint's own count of the last prompt counts where it is higher."""
    prompt = sum(map(tokens_in, _texts(action.messages))) + tokens_in(json.dumps(action.tools) if action.tools else "")
    prompt += sum(len(pictures_in(message)) for message in action.messages) * PICTURE_CHARS // CHARS_PER_TOKEN
    replies = [step for step in steps if isinstance(step, Replied) and step.purpose == action.purpose]
    if replies and action.purpose == "act" and not _was_compacted(steps, replies[-1]):
        last = replies[-1].usage
        prompt = max(prompt, last.prompt_tokens + last.completion_tokens)
    reply = max([LEAST_REPLY_TOKENS, *(step.usage.completion_tokens for step in replies)])
    return Estimate(prompt, reply, price.micros(prompt, reply))


def _texts(messages: Sequence[Message]) -> list[str]:
    calls = (call["function"]["arguments"] for message in messages for call in message.get("tool_calls", ()))
    return [*(str(message.get("content") or "") for message in messages), *calls]


def _was_compacted(steps: Sequence[Step], since: Replied) -> bool:
    place = next(n for n, step in enumerate(steps) if step is since)
    return any(isinstance(step, Compacted) for step in steps[place:])


def _decisions(steps: Sequence[Step], purpose: Purpose) -> list[tuple[Approval, Decided]]:
    """The decisions on calls of this kind, oldest first. A no from which somebody continued is left out. Among the
    effective steps it is a skip, but the turn cannot do without the call."""
    found = []
    for step in steps:
        if isinstance(step, Questioned) and step.approval is not None and step.approval.call == _call(purpose):
            decided = decision_on(steps, step.call_id)
            if decided is not None and not (decided.outcome == "skip" and step.approval.what == "cost"):
                found.append((step.approval, decided))
    return found


def _call(purpose: Purpose) -> str:
    return f"cost:{purpose}"


def _ask(turn: Turn, purpose: Purpose, found: Estimate, price: Price) -> AskApproval:
    costs, language = turn.costs, turn.language
    assert costs is not None  # noqa: S101 - `within_costs` has looked
    basis = say(
        "cost_basis",
        language,
        cost=money(found.micros),
        above=money(costs.above_micros),
        currency=costs.currency,
        prompt=f"{found.prompt_tokens:,}",
        reply=f"{found.reply_tokens:,}",
        input=f"{price.input:g}",
        output=f"{price.output:g}",
        model=price.model,
    )
    approval = Approval(
        what="extra" if purpose in _EXTRAS else "cost",
        title=_title(purpose, language),
        code=basis,
        call=_call(purpose),
        micros=found.micros,
    )
    return ask_approval(turn, approval)


_EXTRAS: Final[tuple[Purpose, ...]] = ("check", "route", "debug")
"""Calls that an answer can do without."""


def _title(purpose: Purpose, language: Language) -> str:
    return say(f"cost_step_{purpose if purpose in (*_EXTRAS, 'learn') else 'act'}", language)


def _without(turn: Turn, purpose: Purpose, approval: Approval, decided: Decided) -> Action:
    match purpose:
        case "check":
            return RecordVerdict(True, "the judge was not asked: somebody found that too expensive")
        case "debug":
            return CorrectModel(debugging.DONE, "")
        case "route":
            return RecordRoute("", "unasked")
        case _:
            author = decided.author or decided.user
            return GiveUp(
                APPROVAL_REJECTED, say("cost_rejected", turn.language, author=author, title=approval.title), "user"
            )
