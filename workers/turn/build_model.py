"""The model as a build in a thread asks it: within the budgets, counted, with personal values masked, and stoppable."""

from __future__ import annotations

import time
from dataclasses import replace

from core.phrases import say
from core.steps import Replied
from core.telemetry import get_logger
from core.values import Language
from workers.agent.about_steps import payer
from workers.models.base import Model, ModelError, ModelReply, ModelRequest, OnDelta
from workers.privacy.masking import Masker, masked_in, restored, values_of
from workers.turn.budgets import allowance, spent_of
from workers.turn.open_turn import OpenTurn
from workers.turn.privacy import privacy_of
from workers.turn.stop_check import complete_unless_stopped

log = get_logger(__name__)


class BudgetReached(ModelError):
    """A budget of `[budget]` allows no further call. The message is for a person."""


class StoppedByPerson(ModelError):
    """Somebody stopped the build, or another worker goes on with it. The message is for a person."""


class ModelAway(ModelError):
    """The endpoint could not be asked. The message is for a person; the endpoint's own error is in the log."""


class BuildModel:
    """Wraps the turn's model for one build. Every call becomes a step of the turn, without its text."""

    def __init__(self, turn: OpenTurn, language: Language) -> None:
        self._turn = turn
        self._model: Model = turn.model
        self._language: Language = language

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def native_tools(self) -> bool:
        """As the model says."""
        return self._model.native_tools

    @property
    def sees(self) -> bool:
        """False: a build has no pictures."""
        return False

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """Ask, unless a budget is spent. Raises BudgetReached, StoppedByPerson, ModelAway, in words for people."""
        turn, context = self._turn, self._turn.context
        left = allowance(context.settings, context.store, turn.thread_id, self.name, turn.steps)
        if left is not None and left.calls <= 0:
            raise BudgetReached(say("build_over_budget", self._language, scope=left.scope))
        masker = Masker(privacy_of(turn).redact, values_of(turn.turns), taken=masked_in(turn.turns))
        shown = masker.messages(request.messages) if privacy_of(turn).redact else request.messages
        asked = replace(request, messages=tuple(shown))
        began = time.monotonic()
        try:
            with context.waiting.one_more():
                reply = complete_unless_stopped(self._model, asked, on_delta, turn.is_unwanted)
        except ModelError as error:
            log.warning("model_failed", failure=type(error).__name__, error=error)
            raise ModelAway(say("build_model_away", self._language)) from error
        if reply is None:
            raise StoppedByPerson(say("build_stopped_by_person", self._language))
        spent = spent_of(reply.usage, self.name, context.settings)
        step = Replied(
            purpose="build",
            usage=reply.usage,
            finish=reply.finish,
            model=self.name,
            cost_micros=spent.cost_micros,
            duration_s=round(time.monotonic() - began, 3),
            masked=tuple(masker.new),
        )
        turn.append_reply(step, spent=spent, user=payer(turn.steps))
        return replace(reply, text=restored(reply.text, values_of(turn.turns)))
