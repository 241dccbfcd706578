"""The Store as those read it who only watch: what goes on now, how a turn went, what ended since the last look.

Nothing here writes, nothing needs a lease. The answers are as of one moment and may be old in the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from core import tables as t
from core.database import Database
from core.rows import TurnRow

CHUNK = 200
"""Ended turns that are read at once: their steps must fit into memory, the ids into one statement."""

_LINK = re.compile(r"/archives/([A-Z0-9]+)/p(\d{10,})(\d{6})(?:\?(?:.*&)?thread_ts=([\d.]+))?")


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that runs or waits for a person. `moved_at` is when its last step was stored, else when it began."""

    turn: TurnRow
    host_id: str | None
    steps: int
    last_kind: str
    moved_at: datetime
    question: str = ""


@dataclass(frozen=True, slots=True)
class Mail:
    """Messages of a thread that no turn has read yet."""

    thread_id: str
    messages: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step as it was stored, and when."""

    at: datetime
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """Something sent to Slack for a turn: its slot in the outbox, the method, when Slack had it (None: unknown)."""

    slot: str
    method: str
    begun_at: datetime
    sent_at: datetime | None


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
    """A turn that is over, with the times that people feel, in seconds; None where the Store does not know them.

    `wait_s`: from the first message's arrival to the turn's start. `first_word_s`: from there to the first thing of
    ours in the thread. `corrections`: why the model was told to try again, reason by reason. Of a turn that was taken
    up again, cells, calls and corrections are those since then.
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
class _Facts:
    cells: list[CellTime] = field(default_factory=list)
    calls: list[CallTime] = field(default_factory=list)
    corrections: list[str] = field(default_factory=list)


class History:
    """Safe to share between threads of one process. After a fork, open a new one."""

    def __init__(self, url: str) -> None:
        """`url` as for the Store, whose schema must stand already."""
        self._db = Database(url)

    def close(self) -> None:
        """Close the connections."""
        self._db.close()

    def ping(self) -> None:
        """Ask for nothing. Raises sqlalchemy.exc.SQLAlchemyError when the database or our schema is not there."""
        with self._db.reading() as db:
            db.execute(select(t.threads.c.id).limit(1)).first()

    def open_turns(self) -> list[OpenTurn]:
        """The turns that run or wait for a person, the oldest first."""
        query = select(t.turns, t.threads.c.host_id).join(t.threads).where(t.OPEN).order_by(t.turns.c.created_at)
        with self._db.reading() as db:
            rows = db.execute(query).all()
            turns = []
            for row in rows:
                values = dict(row._mapping)
                host_id = values.pop("host_id")
                turn = TurnRow(**values)
                mine = t.steps.c.turn_id == turn.id
                last = db.execute(select(t.steps).where(mine).order_by(t.steps.c.seq.desc()).limit(1)).first()
                turns.append(
                    OpenTurn(
                        turn=turn,
                        host_id=host_id,
                        steps=last.seq + 1 if last else 0,
                        last_kind=last.kind if last else "",
                        moved_at=last.created_at if last else turn.created_at,
                        question=str(last.body.get("question", "")) if last else "",
                    )
                )
        return turns

    def mail(self) -> list[Mail]:
        """Threads with messages that no turn has read, the one that waits longest first."""
        oldest = func.min(t.messages.c.received_at)
        query = (
            select(t.messages.c.thread_id, func.count(), oldest)
            .where(t.UNREAD, t.messages.c.quiet.is_(False))
            .group_by(t.messages.c.thread_id)
            .order_by(oldest)
        )
        with self._db.reading() as db:
            return [Mail(*row) for row in db.execute(query)]

    # --- one turn

    def find(self, name: str) -> list[TurnRow]:
        """The turns that a name means, oldest first: a turn's id, a thread's id, or a link to a message in Slack."""
        query = select(t.turns).order_by(t.turns.c.number)
        with self._db.reading() as db:
            if link := _LINK.search(name):
                channel, seconds, micros, root_ts = link.groups()
                message = (t.messages.c.channel == channel) & (t.messages.c.ts == f"{seconds}.{micros}")
                thread = db.execute(select(t.messages.c.thread_id).where(message)).scalar()
                if thread is None:
                    root = root_ts or f"{seconds}.{micros}"
                    place = (t.threads.c.channel == channel) & (t.threads.c.root_ts == root)
                    thread = db.execute(select(t.threads.c.id).where(place)).scalar()
                query = query.where(t.turns.c.thread_id == thread)
            else:
                query = query.where((t.turns.c.id == name) | (t.turns.c.thread_id == name))
            return [TurnRow(**dict(row._mapping)) for row in db.execute(query)]

    def steps(self, turn_id: str) -> list[TimedStep]:
        """A turn's steps in order, each with the time it was stored."""
        query = select(t.steps.c.created_at, t.steps.c.body).where(t.steps.c.turn_id == turn_id)
        with self._db.reading() as db:
            return [TimedStep(*row) for row in db.execute(query.order_by(t.steps.c.seq))]

    def sent(self, turn: TurnRow) -> list[Sent]:
        """What went to Slack for a turn, in order."""
        o = t.outbox.c
        query = select(o.key, o.method, o.created_at, o.sent_at).where(o.thread_id == turn.thread_id)
        with self._db.reading() as db:
            rows = db.execute(query.order_by(o.created_at)).all()
        own = f"{turn.id}:"
        return [Sent(key.removeprefix(own), *rest) for key, *rest in rows if key.startswith(own)]

    # --- what ended

    def ended_ids(self, since: datetime | None) -> list[tuple[str, datetime]]:
        """Ids and end times of the turns that ended since then (None: ever), by their end."""
        query = select(t.turns.c.id, t.turns.c.ended_at).where(t.turns.c.ended_at.is_not(None))
        if since is not None:
            query = query.where(t.turns.c.ended_at >= since)
        with self._db.reading() as db:
            return [(str(row[0]), row[1]) for row in db.execute(query.order_by(t.turns.c.ended_at))]

    def ended(self, turn_ids: Sequence[str]) -> Iterator[EndedTurn]:
        """How these turns went; read piece by piece."""
        for start in range(0, len(turn_ids), CHUNK):
            yield from self._ended(turn_ids[start : start + CHUNK])

    def _ended(self, turn_ids: Sequence[str]) -> list[EndedTurn]:
        facts: dict[str, _Facts] = {turn_id: _Facts() for turn_id in turn_ids}
        first_words: dict[str, datetime] = {}
        body, message, outbox = t.steps.c.body, t.messages.c, t.outbox.c
        with self._db.reading() as db:
            turns = db.execute(select(t.turns).where(t.turns.c.id.in_(turn_ids)).order_by(t.turns.c.ended_at)).all()
            arrivals = select(message.turn_id, func.min(message.received_at)).where(message.turn_id.in_(turn_ids))
            arrived = {str(row[0]): row[1] for row in db.execute(arrivals.group_by(message.turn_id))}
            posted = select(outbox.thread_id, outbox.key, outbox.sent_at).where(
                outbox.thread_id.in_({turn.thread_id for turn in turns}), outbox.sent_at.is_not(None)
            )
            for thread_id, key, sent_at in db.execute(posted.order_by(outbox.sent_at)):
                turn_part = str(key).removeprefix(str(thread_id)).partition(":")[0]
                first_words.setdefault(f"{thread_id}{turn_part}", sent_at)
            # Only these few fields: the bodies hold code and output.
            steps = select(
                t.steps.c.turn_id,
                t.steps.c.kind,
                body["status"].as_string().label("status"),
                body["duration_s"].as_float().label("duration_s"),
                body["model"].as_string().label("model"),
                body["purpose"].as_string().label("purpose"),
                body[("usage", "prompt_tokens")].as_integer().label("prompt_tokens"),
                body[("usage", "completion_tokens")].as_integer().label("completion_tokens"),
                body[("usage", "cached_tokens")].as_integer().label("cached_tokens"),
                body["cost_micros"].as_integer().label("cost_micros"),
                body["reason"].as_string().label("reason"),
            ).where(t.steps.c.turn_id.in_(turn_ids), t.steps.c.kind.in_(("cell", "replied", "corrected", "resumed")))
            for step in db.execute(steps.order_by(t.steps.c.turn_id, t.steps.c.seq)):
                if step.kind == "resumed":  # what came before was counted when the turn ended the first time
                    facts[step.turn_id] = _Facts()
                mine = facts[step.turn_id]
                if step.kind == "cell":
                    mine.cells.append(CellTime(step.status or "", step.duration_s or 0.0))
                elif step.kind == "replied":
                    mine.calls.append(
                        CallTime(
                            model=step.model or "",
                            purpose=step.purpose or "",
                            prompt_tokens=step.prompt_tokens or 0,
                            completion_tokens=step.completion_tokens or 0,
                            duration_s=step.duration_s or 0.0,
                            cached_tokens=step.cached_tokens or 0,
                            cost_micros=step.cost_micros,
                        )
                    )
                elif step.kind == "corrected":
                    mine.corrections.append(step.reason or "")
        return [
            EndedTurn(
                id=turn.id,
                status=turn.status,
                lasted_s=(turn.ended_at - turn.created_at).total_seconds(),
                wait_s=_seconds(arrived.get(turn.id), turn.created_at),
                first_word_s=_seconds(arrived.get(turn.id), first_words.get(turn.id)),
                cells=tuple(facts[turn.id].cells),
                calls=tuple(facts[turn.id].calls),
                corrections=tuple(facts[turn.id].corrections),
            )
            for turn in turns
        ]


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    """Between two clocks that may disagree a little: never less than 0."""
    return None if start is None or end is None else max(0.0, (end - start).total_seconds())
