"""Calls of the model in one build: counted, paid for, written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

from core.errors import ThreadbookError
from core.steps import Usage
from workers.agent.text import clean
from workers.builder.history.iterations import Call
from workers.models.base import Model, ModelReply, ModelRequest

CostOf = Callable[[Usage], int | None]
"""What a call took in millionths of the currency; None when the model has no price."""


class Prompts(Protocol):
    """The prompt texts (`prompts/build_*.yaml`)."""

    def render(self, name: str, /, **variables: object) -> str:
        """The prompt `name` as text."""
        ...


class BudgetSpent(ThreadbookError):
    """No further call of the model is allowed. The message says which limit was reached."""


class Asker:
    """Asks the model for one build."""

    def __init__(
        self,
        model: Model,
        prompts: Prompts,
        note: Callable[[Call], None],
        *,
        cost_of: CostOf,
        max_calls: int,
        budget: float,
        calls_before: int = 0,
        cost_before: int = 0,
    ) -> None:
        """`note` is called with every call. `budget` is in the currency of the prices; 0 means no limit.

        `calls_before` and `cost_before` (in millionths) are what the same build took before a crash.
        """
        self._model = model
        self._prompts = prompts
        self._note = note
        self._cost_of = cost_of
        self._max_calls = max_calls
        self._budget = budget
        self._calls_before = calls_before
        self._cost_before = cost_before
        self.calls = 0
        self.usage = Usage()
        self.cost_micros: int | None = None

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model.name

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """The text of a prompt."""
        return self._prompts.render(name, **variables)

    def write(self, component: str, messages: Sequence[Mapping[str, Any]], *, stop: tuple[str, ...] = ()) -> ModelReply:
        """Ask for code, tests or a contract. Raises BudgetSpent, ModelError."""
        return self._ask("act", component, messages, stop)

    def judge(self, component: str, name: str, variables: Mapping[str, object]) -> str:
        """Ask for a verdict on what was written. Raises BudgetSpent, ModelError."""
        message = {"role": "user", "content": self.render(name, variables)}
        return self._ask("check", component, [message]).text

    def _ask(
        self,
        purpose: Literal["act", "check"],
        component: str,
        messages: Sequence[Mapping[str, Any]],
        stop: tuple[str, ...] = (),
    ) -> ModelReply:
        calls = self.calls + self._calls_before
        cost = (self.cost_micros or 0) + self._cost_before
        if calls >= self._max_calls:
            raise BudgetSpent(f"{calls} calls of the model were made, and [build] max_calls allows no more")
        if self._budget and cost >= self._budget * 1e6:
            raise BudgetSpent(f"{cost / 1e6:.4f} was spent, and [build] budget allows no more")
        request = ModelRequest(tuple(dict(message) for message in messages), purpose=purpose, stop=stop)
        reply = self._model.complete(request, lambda _: None)
        reply = replace(reply, text=clean(reply.text))
        self.calls += 1
        cost_of_call = self._cost_of(reply.usage)
        if cost_of_call is not None:
            self.cost_micros = (self.cost_micros or 0) + cost_of_call
        self.usage = Usage(
            prompt_tokens=self.usage.prompt_tokens + reply.usage.prompt_tokens,
            cached_tokens=self.usage.cached_tokens + reply.usage.cached_tokens,
            completion_tokens=self.usage.completion_tokens + reply.usage.completion_tokens,
        )
        call = Call(
            purpose=purpose,
            component=component,
            prompt="\n\n".join(f"[{one['role']}]\n{one['content']}" for one in messages),
            reply=reply.text,
            prompt_tokens=reply.usage.prompt_tokens,
            completion_tokens=reply.usage.completion_tokens,
            cost_micros=cost_of_call,
        )
        self._note(call)
        return reply
