"""Turns that ended, summed up for metrics: how long people waited, how cells and model calls went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from core.steps import CellRan, Corrected, Replied, Resumed
from core.store import tables as t
from core.values import Value


@dataclass(frozen=True, slots=True)
class CellTime:
    """How a cell ended, and its wall time in seconds."""

    status: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class CallTime:
    """A model call: what it was for, its tokens as the endpoint reported them (the cached ones are among the prompt's),
    its wall time in seconds, and its cost in millionths of the currency that prices are in."""

    model: str
    purpose: str
    prompt_tokens: int
    completion_tokens: int
    duration_s: float
    cached_tokens: int = 0
    cost_micros: int | None = None


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that ended, with the waiting times of people in seconds; None if the Store does not know them.

    `wait_s`: from the first message's arrival to the turn's start. `first_word_s`: from there to the first post of the
    turn in the thread. `corrections`: the reasons of the model's corrections, in order. For a turn that was resumed,
    cells, calls and corrections are those since then.
    """

    id: str
    status: str
    lasted_s: float
    wait_s: float | None
    first_word_s: float | None
    cells: tuple[CellTime, ...] = ()
    calls: tuple[CallTime, ...] = ()
    corrections: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    cells: list[CellTime] = field(default_factory=list)
    calls: list[CallTime] = field(default_factory=list)
    corrections: list[str] = field(default_factory=list)


def read_ended(db: Connection, turn_ids: Sequence[str]) -> list[EndedTurn]:
    """How these turns went, by their end. Their ids must fit into one statement."""
    turns = db.execute(select(t.turns).where(t.turns.c.id.in_(turn_ids)).order_by(t.turns.c.ended_at)).all()
    arrived = _arrivals(db, turn_ids)
    posted = _first_posts(db, {turn.thread_id for turn in turns})
    work = _work(db, turn_ids)
    return [
        EndedTurn(
            id=turn.id,
            status=turn.status,
            lasted_s=(turn.ended_at - turn.created_at).total_seconds(),
            wait_s=_seconds(arrived.get(turn.id), turn.created_at),
            first_word_s=_seconds(arrived.get(turn.id), posted.get(turn.id)),
            cells=tuple(work[turn.id].cells),
            calls=tuple(work[turn.id].calls),
            corrections=tuple(work[turn.id].corrections),
        )
        for turn in turns
    ]


def _arrivals(db: Connection, turn_ids: Sequence[str]) -> dict[str, datetime]:
    """When the first message of each turn came."""
    m = t.messages.c
    query = select(m.turn_id, func.min(m.received_at)).where(m.turn_id.in_(turn_ids)).group_by(m.turn_id)
    return {str(row[0]): row[1] for row in db.execute(query)}


def _first_posts(db: Connection, thread_ids: set[str]) -> dict[str, datetime]:
    """When Slack had the first post of each turn of these threads."""
    o = t.outbox.c
    query = select(o.thread_id, o.key, o.sent_at).where(o.thread_id.in_(thread_ids), o.sent_at.is_not(None))
    first: dict[str, datetime] = {}
    for thread_id, key, sent_at in db.execute(query.order_by(o.sent_at)):
        turn_part = str(key).removeprefix(str(thread_id)).partition(":")[0]
        first.setdefault(f"{thread_id}{turn_part}", sent_at)
    return first


def _step_field(path: str, *kinds: type[Value]) -> ColumnElement[Any]:
    """A field ("a" or "a.b") of the stored steps of these classes. Raises KeyError when one of them has no such field.

    It is made when this module is imported. So a field that is renamed in `core/steps/` raises at once.
    """
    names = path.split(".")
    for kind in kinds:
        owner: Any = kind
        for name in names:
            owner = annotation = owner.model_fields[name].annotation
    body = t.steps.c.body[tuple(names)] if len(names) > 1 else t.steps.c.body[path]
    typed: ColumnElement[Any] = body.as_string()
    if annotation is float:
        typed = body.as_float()
    elif annotation in (int, int | None):
        typed = body.as_integer()
    return typed.label(names[-1])


_FIELDS = (
    _step_field("status", CellRan),
    _step_field("duration_s", CellRan, Replied),
    _step_field("model", Replied),
    _step_field("purpose", Replied),
    _step_field("usage.prompt_tokens", Replied),
    _step_field("usage.completion_tokens", Replied),
    _step_field("usage.cached_tokens", Replied),
    _step_field("cost_micros", Replied),
    _step_field("reason", Corrected),
)
"""Only these fields of a step are read. Its body also holds code and output, so it is not loaded whole."""

_CELL, _REPLY, _CORRECTION, _RESUMED = (
    kind.model_fields["kind"].default for kind in (CellRan, Replied, Corrected, Resumed)
)


def _work(db: Connection, turn_ids: Sequence[str]) -> dict[str, _Work]:
    """Cells, calls and corrections of each turn; steps of other kinds, also unknown ones, are not read."""
    work = {turn_id: _Work() for turn_id in turn_ids}
    query = select(t.steps.c.turn_id, t.steps.c.kind, *_FIELDS).where(
        t.steps.c.turn_id.in_(turn_ids), t.steps.c.kind.in_((_CELL, _REPLY, _CORRECTION, _RESUMED))
    )
    for step in db.execute(query.order_by(t.steps.c.turn_id, t.steps.c.seq)):
        if step.kind == _RESUMED:  # what came before was counted when the turn ended the first time
            work[step.turn_id] = _Work()
        elif step.kind == _CELL:
            work[step.turn_id].cells.append(CellTime(step.status or "", step.duration_s or 0.0))
        elif step.kind == _REPLY:
            work[step.turn_id].calls.append(_call(step))
        else:
            work[step.turn_id].corrections.append(step.reason or "")
    return work


def _call(step: Any) -> CallTime:
    return CallTime(
        model=step.model or "",
        purpose=step.purpose or "",
        prompt_tokens=step.prompt_tokens or 0,
        completion_tokens=step.completion_tokens or 0,
        duration_s=step.duration_s or 0.0,
        cached_tokens=step.cached_tokens or 0,
        cost_micros=step.cost_micros,
    )


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    """The time between two clocks that may disagree a little: never less than 0."""
    return None if start is None or end is None else max(0.0, (end - start).total_seconds())
