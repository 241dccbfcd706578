"""What the tables of sources look like now, for playbooks that name them. The catalogue is asked; no row is read."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.steps import Step
from core.telemetry import get_logger
from workers.memory.playbooks.matching import Tables
from workers.memory.playbooks.page import Input
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request
from workers.sources.errors import Refused, SourceError
from workers.turn.access.sources import SCHEMA_S, refusal_of
from workers.turn.context import TurnContext

log = get_logger(__name__)

MOST_TABLES = 20
MOST_COLUMNS = 200


def tables_now(context: TurnContext, thread_id: str, steps: Sequence[Step], inputs: Sequence[Input]) -> Tables:
    """The tables among these inputs that a turn of these steps may look at. Left out: what nobody can tell now."""
    wanted = [each for each in inputs if each.source and each.table][:MOST_TABLES]
    sources = {each.source for each in wanted}
    allowed = {name for name in sources if not refusal_of(context, thread_id, steps, name)}
    found: dict[str, dict[str, str] | None] = {}
    if context.broker is None:
        return found
    for each in (each for each in wanted if each.source in allowed):
        try:
            found[each.label.casefold()] = _columns(context.broker, each)
        except Refused:  # the guard lets no table through that is not there
            found[each.label.casefold()] = None
        except SourceError as error:
            log.info("table_not_known", source=each.source, why=type(error).__name__)
            allowed.discard(each.source)
    return found


def with_types(inputs: Sequence[Input], tables: Tables) -> tuple[Input, ...]:
    """The inputs with the current types of the columns that they need, so that later changes can be found.

    Of a table of which no statement names a column, as in `SELECT *`, all columns are needed.
    """
    return tuple(_typed(each, known) if (known := tables.get(each.label.casefold())) else each for each in inputs)


def _typed(wanted: Input, known: Mapping[str, str]) -> Input:
    columns = wanted.columns or tuple(known)[:MOST_COLUMNS]
    needed = {name.casefold() for name in columns}
    return replace(wanted, columns=columns, types=tuple(one for one in known.items() if one[0].casefold() in needed))


def _columns(broker: BrokerClient, wanted: Input) -> dict[str, str]:
    """The columns of a table with their types. Raises SourceError."""
    late = threading.Event()
    timer = threading.Timer(SCHEMA_S, late.set)
    timer.start()
    try:
        ask = Ask(ask="columns", source=wanted.source, table=wanted.table)
        answer, _ = broker.ask(Request(ask=ask, seconds=SCHEMA_S, bytes=1), late)
    finally:
        timer.cancel()
    return {str(name): str(kind) for name, kind in answer.value}
