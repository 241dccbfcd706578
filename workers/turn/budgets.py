"""What model calls cost, and how many more of them the budgets of `[budget]` allow.

The sums are read right before each call, and the call itself is estimated. Turns that run at the same moment do not see
each other's last call. So a day's budget may be exceeded by as many calls as there are workers. An endpoint that
reports no tokens is not counted, but for calls that somebody stopped: those count as estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from core.rows import Spent
from core.settings import Settings
from core.steps import Replied, Step, Usage, total_spent
from core.store import Store, start_of_day
from core.values import ThreadKey
from workers.agent.about_steps import payer
from workers.agent.text import CHARS_PER_TOKEN
from workers.agent.turn import Allowance, CostBound, Price

Scope = Literal["turn", "thread", "person", "day"]
_NAMES: dict[Scope, str] = {"turn": "turn", "thread": "thread", "person": "person_day", "day": "day"}

FIRST_PROMPT_TOKENS = 6_000
"""A prompt before the endpoint has counted one: our own words, the question and a file."""
LEAST_REPLY_TOKENS = 1_000
"""Room for a report, also after short replies."""


class _Limit(NamedTuple):
    scope: Scope
    tokens: int
    cost: float


def spent_of(usage: Usage, model: str, settings: Settings) -> Spent:
    """What one call took; without a cost when nothing was counted or the model has no price."""
    price = settings.prices.get(model)
    counted = usage.prompt_tokens + usage.completion_tokens > 0
    return Spent(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        cost_micros=price.micros(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        if price and counted
        else None,
    )


def allowance(settings: Settings, store: Store, thread_id: str, model: str, steps: Sequence[Step]) -> Allowance | None:
    """How many more calls of `model` the tightest budget allows the turn of these steps; None when no budget is set."""
    limits = list(_limits(settings))
    if not limits:
        return None
    replies = [step for step in steps if isinstance(step, Replied)]
    call = spent_of(_next_call(replies, settings), model, settings)
    found = []
    for limit in limits:
        team = settings.counted_team(ThreadKey.parse(thread_id).team)
        spent = _so_far(limit.scope, store, thread_id, team, steps)
        left = [(limit.tokens - spent.tokens) // call.tokens] if limit.tokens else []
        if limit.cost and call.cost_micros:
            left.append(int((limit.cost * 1e6 - (spent.cost_micros or 0)) // call.cost_micros))
        found += [Allowance(max(calls, 0), limit.scope) for calls in left]
    return min(found, key=lambda one: one.calls, default=None)


def cost_bound(settings: Settings, channel: str, model: str, second: str) -> CostBound | None:
    """The estimate above which a call of these models waits for a yes in this channel; None if no call waits."""
    above = settings.approvals_in(channel).above
    if not above:
        return None
    return CostBound(round(above * 1e6), settings.budget.currency, _price(settings, model), _price(settings, second))


class BuildCost(NamedTuple):
    """The greatest cost of a build, in millionths: the maximum number of calls, each with this number of tokens."""

    micros: int
    calls: int
    prompt_tokens: int
    reply_tokens: int


def expensive_build(
    bound: CostBound | None, calls: int, requirement_chars: int, steps: Iterable[Step]
) -> BuildCost | None:
    """The greatest cost of a build with at most this number of calls, if it is above the limit. Otherwise, or without a
    price, None.

    The cost of a call is the average of the thread's builds so far; before the first build it is estimated.
    """
    if bound is None or bound.price is None:
        return None
    known = [step.usage for step in steps if isinstance(step, Replied) and step.purpose == "build"]
    counted = [usage for usage in known if usage.prompt_tokens]
    prompt = FIRST_PROMPT_TOKENS + requirement_chars // CHARS_PER_TOKEN
    reply = LEAST_REPLY_TOKENS
    if counted:
        prompt = sum(usage.prompt_tokens for usage in counted) // len(counted)
        reply = sum(usage.completion_tokens for usage in counted) // len(counted)
    found = BuildCost(calls * bound.price.micros(prompt, reply), calls, prompt, reply)
    return found if found.micros > bound.above_micros else None


def _price(settings: Settings, model: str) -> Price | None:
    given = settings.prices.get(model)
    return Price(model, given.input, given.output) if given is not None else None


def _limits(settings: Settings) -> Iterator[_Limit]:
    for scope in get_args(Scope):
        tokens = getattr(settings.budget, f"{_NAMES[scope]}_tokens")
        cost = getattr(settings.budget, f"{_NAMES[scope]}_cost")
        if tokens or cost:
            yield _Limit(scope, tokens, cost)


def _next_call(replies: Sequence[Replied], settings: Settings) -> Usage:
    """The next call, estimated: the last prompt with its reply and one more output of a cell behind it."""
    last = next((step.usage for step in reversed(replies) if step.purpose == "act"), Usage())
    output = settings.limits.output_to_model_chars // CHARS_PER_TOKEN
    return Usage(
        prompt_tokens=last.prompt_tokens + last.completion_tokens + output
        if last.prompt_tokens
        else FIRST_PROMPT_TOKENS,
        completion_tokens=max(last.completion_tokens, LEAST_REPLY_TOKENS),
    )


def _so_far(scope: Scope, store: Store, thread_id: str, team: str | None, steps: Sequence[Step]) -> Spent:
    if scope == "turn":
        return total_spent([step for step in steps if isinstance(step, Replied)])
    if scope == "thread":
        return store.spent(thread_id=thread_id)
    return store.spent(user=payer(steps) if scope == "person" else None, since=start_of_day(), team=team)
