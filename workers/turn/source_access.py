"""Which data sources a turn may ask. Everybody who wrote in the turn must be allowed, and the channel too."""

from __future__ import annotations

from collections.abc import Sequence

from core.authorization import Authorizer
from core.errors import SlackUnreachable
from core.steps import Asked, Resumed, Step
from core.values import ThreadKey
from workers.agent.turn import SourceNote
from workers.sources.errors import SourceError
from workers.turn.context import TurnContext


def refusal_of(context: TurnContext, thread_id: str, steps: Sequence[Step], source: str) -> str:
    """The phrase for why a turn of these steps may not ask a source; "" when it may."""
    people = people_of(steps)
    try:
        authorizer = Authorizer(context.settings, context.store, context.slack)
        return authorizer.may_ask(source, ThreadKey.parse(thread_id), people).phrase
    except SlackUnreachable:
        return "source_unknown_people"


def people_of(steps: Sequence[Step]) -> frozenset[str]:
    """Who wrote in a turn."""
    return frozenset(step.user for step in steps if isinstance(step, Asked | Resumed) and step.user)


def allowed_sources(context: TurnContext, thread_id: str, steps: Sequence[Step]) -> tuple[SourceNote, ...]:
    """The sources that a turn of these steps may ask, for the analyst."""
    if context.broker is None:
        return ()
    settings = context.settings.sources
    names = [name for name in settings if not refusal_of(context, thread_id, steps, name)]
    try:
        kinds = context.broker.kinds() if names else {}
    except SourceError:
        kinds = {}  # the prompt does without; a query says what is wrong
    return tuple(SourceNote(name, kinds.get(name, ""), settings[name].description) for name in names)
