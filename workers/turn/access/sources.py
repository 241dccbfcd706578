"""Which data sources a turn may ask. Everybody who wrote in the turn must be allowed, and the channel too."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeGuard

from core.authorization import Authorizer
from core.commands.registry import RUN, SPEAK, STARTUP
from core.errors import SlackUnreachable
from core.steps import Agreed, Asked, Changed, Commanded, Decided, Noted, Redrafted, Resumed, Step
from core.team_settings import SourceSettings
from core.telemetry import get_logger
from core.values import ThreadKey
from workers.agent.turn import SourceNote
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request
from workers.sources.errors import SourceError
from workers.turn.context import TurnContext

log = get_logger(__name__)

SCHEMA_TOKENS, LEAST_TOKENS = 6_000, 1_500
"""About so many tokens the schemas of all sources take in a prompt, and one of them at least."""
SCHEMA_S = 10.0
"""A prompt does without a schema that takes longer to look up."""
QUESTION_CHARS = 4_000
PRIVATE = (
    "Outsiders can read this thread, so no row of it comes here. If the question needs this source, call query() on it "
    "once: the person is then answered in a direct message."
)


def refusal_of(context: TurnContext, thread_id: str, steps: Sequence[Step], source: str, author: str = "") -> str:
    """The phrase for why a turn of these steps may not ask a source; "" when it may.

    `author` wrote the code that asks, "" for the model. Start-up code may be older than the turn.
    """
    people = people_of(steps) | ({author} if author else set())
    try:
        authorizer = Authorizer(context.settings, context.store, context.slack)
        return authorizer.may_ask(source, ThreadKey.parse(thread_id), people).phrase
    except SlackUnreachable:
        return "source_unknown_people"


def people_of(steps: Sequence[Step]) -> frozenset[str]:
    """The people who wrote in a turn or edited its words, decided what runs in it, ran their own code, or spoke in the
    analyst's place."""
    kinds = (Asked, Noted, Resumed, Agreed, Redrafted, Decided)
    said = (step for step in steps if isinstance(step, kinds) or _runs(step) or _edits(step))
    return frozenset(step.user for step in said if step.user)


def _runs(step: Step) -> TypeGuard[Commanded]:
    return isinstance(step, Commanded) and step.command in (RUN, STARTUP, SPEAK)


def _edits(step: Step) -> TypeGuard[Changed]:
    return isinstance(step, Changed) and step.do == "edit"


def allowed_sources(context: TurnContext, thread_id: str, steps: Sequence[Step]) -> tuple[SourceNote, ...]:
    """The sources that a turn of these steps may ask, for the analyst, with what its question needs of their tables."""
    if context.broker is None:
        return ()
    settings = context.settings.sources
    names = [name for name in settings if not refusal_of(context, thread_id, steps, name)]
    try:
        kinds = context.broker.kinds() if names else {}
    except SourceError:
        kinds = {}  # the prompt does without; a query says what is wrong
    private = [name for name in settings if name not in names and is_private(context, thread_id, steps, name)]
    question = question_of(steps)
    tokens = max(SCHEMA_TOKENS // max(1, len(names)), LEAST_TOKENS)
    return tuple(
        SourceNote(name, kinds.get(name, ""), _about(settings[name]), _schema(context.broker, name, question, tokens))
        for name in names
    ) + tuple(SourceNote(name, "", " ".join(filter(None, (settings[name].description, PRIVATE)))) for name in private)


def is_private(context: TurnContext, thread_id: str, steps: Sequence[Step], source: str) -> bool:
    """Whether a question about a source is taken to a direct message, because outsiders can read the thread."""
    given = context.settings.sources.get(source)
    return (
        given is not None
        and given.private_answers
        and refusal_of(context, thread_id, steps, source) in ("source_outsiders", "source_unknown_readers")
    )


def _about(source: SourceSettings) -> str:
    strict = "A person has to allow each statement: send few, and one per cell." if source.strict else ""
    bound = f"{source.ask_above_rows:,} rows"
    big = f"A statement that goes through more than {bound} waits for a person: filter and aggregate in it."
    most = f"A result has at most {source.max_rows:,} rows."
    described = source.description.strip()
    if described and described[-1] not in ".!?:。！？：":
        described += "."
    return " ".join(filter(None, (described, most, strict or (big if source.ask_above_rows else ""))))


def question_of(steps: Sequence[Step]) -> str:
    """What people said in a turn, the newest last; the end of it when it is long."""
    return "\n".join(step.text for step in steps if isinstance(step, Asked))[-QUESTION_CHARS:]


def _schema(broker: BrokerClient, source: str, question: str, tokens: int) -> str:
    ask = Ask(ask="schema", source=source, words=question)
    late = threading.Event()
    timer = threading.Timer(SCHEMA_S, late.set)
    timer.start()
    try:
        answer, _ = broker.ask(Request(ask=ask, seconds=SCHEMA_S, bytes=1, tokens=tokens), late)
    except SourceError as error:
        log.info("schema_not_known", source=source, why=type(error).__name__)
        return ""
    finally:
        timer.cancel()
    return str(answer.value)
