"""Read-only views of the Store: what is running, how a turn went, what ended since the last look.

Nothing here writes, nothing needs a lease. Each answer is true for the moment at which it was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from core.rows import TurnRow
from core.steps import Changed, Questioned, Recalled, Step, Unfollowed, load_step
from core.store import tables as t
from core.store.database import Database
from core.store.ended import EndedTurn, read_ended
from core.thread_links import link_in

CHUNK = 200
"""Ended turns that are read at once: their steps must fit into memory, their ids into one statement."""


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that runs or waits for a person. `moved_at` is when its last step was stored, or when it began."""

    turn: TurnRow
    node_id: str | None
    steps: int
    last_kind: str
    moved_at: datetime
    question: str = ""


@dataclass(frozen=True, slots=True)
class Mail:
    """The unread messages of a thread."""

    thread_id: str
    messages: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class Load:
    """How much is open now. `oldest_running_at`: when the oldest turn that runs began; None when none runs."""

    running: int
    waiting: int
    oldest_running_at: datetime | None
    unread: int


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step, and when it was stored."""

    at: datetime
    step: Step


@dataclass(frozen=True, slots=True)
class Sent:
    """Something sent to Slack for a turn: its slot in the outbox, the method, when Slack had it (None: unknown)."""

    slot: str
    method: str
    begun_at: datetime
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlaybookUse:
    """A turn that followed a playbook, with how it went. `unwanted`: somebody did not want it there.

    `corrected`: people edited or left out something of the turn. `votes` are (vote, reason).
    """

    turn: TurnRow
    file: str
    drift: tuple[str, ...]
    unwanted: bool
    corrected: bool
    votes: tuple[tuple[str, str], ...]


class History:
    """Safe to share between threads of one process. After a fork, open a new one."""

    def __init__(self, url: str) -> None:
        """`url` as for the Store, whose schema must stand already."""
        self._database = Database(url, patient=True)

    def rolled_back(self) -> AbstractContextManager[None]:
        """`with history.rolled_back():` undoes at its end all that was written inside. For one thread alone."""
        return self._database.rolled_back()

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def ping(self) -> None:
        """Check that the database and our schema are there, and that it takes writes. A replica, or a database that was
        made read-only, takes none. Raises sqlalchemy.exc.SQLAlchemyError.
        """
        self._database.check_writes()

    def open_turns(self) -> list[OpenTurn]:
        """The turns that run or wait for a person, oldest first."""
        query = select(t.turns, t.threads.c.node_id.label("node_id")).join(t.threads).where(t.OPEN)
        with self._database.reading() as db:
            rows = db.execute(query.order_by(t.turns.c.created_at)).all()
            return [_open_turn(db, dict(row._mapping)) for row in rows]

    def mail(self) -> list[Mail]:
        """Threads with unread messages, the one that waits longest first."""
        oldest = func.min(t.messages.c.received_at)
        query = (
            select(t.messages.c.thread_id, func.count(), oldest)
            .where(t.UNREAD)
            .group_by(t.messages.c.thread_id)
            .order_by(oldest)
        )
        with self._database.reading() as db:
            return [Mail(*row) for row in db.execute(query)]

    def load(self) -> Load:
        """How many turns are open and how many messages unread, all threads together."""
        turns = select(t.turns.c.status, func.count(), func.min(t.turns.c.created_at)).where(t.OPEN)
        with self._database.reading() as db:
            by_status = {row[0]: row for row in db.execute(turns.group_by(t.turns.c.status))}
            unread = db.execute(select(func.count()).select_from(t.messages).where(t.UNREAD)).scalar_one()
        _, running, oldest = by_status.get("running", ("", 0, None))
        return Load(int(running), int(by_status.get("waiting", ("", 0))[1]), oldest, int(unread))

    # --- one turn

    def find(self, name: str) -> list[TurnRow]:
        """The turns that a name means, oldest first: a turn's id, a thread's id, or a link to a message in Slack."""
        query = select(t.turns).order_by(t.turns.c.number)
        with self._database.reading() as db:
            if link := link_in(name):
                channel, ts, root = link
                message = (t.messages.c.channel == channel) & (t.messages.c.ts == ts)
                thread = db.execute(select(t.messages.c.thread_id).where(message)).scalar()
                if thread is None:
                    place = (t.threads.c.channel == channel) & (t.threads.c.root_ts == root)
                    thread = db.execute(select(t.threads.c.id).where(place)).scalar()
                query = query.where(t.turns.c.thread_id == thread)
            else:
                query = query.where((t.turns.c.id == name) | (t.turns.c.thread_id == name))
            return [TurnRow(**dict(row._mapping)) for row in db.execute(query)]

    def threads_named(self, name: str) -> list[str]:
        """The threads that a name means, also without a turn: a thread's id, a turn's id, or a link to a message.

        A link says no workspace: a channel that two workspaces share has one thread in each.
        """
        messages, turns, threads = t.messages.c, t.turns.c, t.threads.c
        if link := link_in(name):
            channel, ts, root = link
            found = select(messages.thread_id).where((messages.channel == channel) & (messages.ts == ts))
            query = found.union(select(threads.id).where((threads.channel == channel) & (threads.root_ts == root)))
        else:
            query = select(turns.thread_id).where(turns.id == name).union(select(threads.id).where(threads.id == name))
        with self._database.reading() as db:
            return sorted(db.execute(query).scalars())

    def steps(self, turn_id: str) -> list[TimedStep]:
        """A turn's steps in order, each with the time it was stored."""
        query = select(t.steps.c.created_at, t.steps.c.body).where(t.steps.c.turn_id == turn_id)
        with self._database.reading() as db:
            return [TimedStep(at, load_step(body)) for at, body in db.execute(query.order_by(t.steps.c.seq))]

    def sent(self, turn: TurnRow) -> list[Sent]:
        """What went to Slack for a turn, in order."""
        o = t.outbox.c
        query = select(o.key, o.method, o.created_at, o.sent_at).where(o.thread_id == turn.thread_id)
        with self._database.reading() as db:
            rows = db.execute(query.order_by(o.created_at)).all()
        own = f"{turn.id}:"
        return [Sent(key.removeprefix(own), *rest) for key, *rest in rows if key.startswith(own)]

    def playbook_uses(self) -> list[PlaybookUse]:
        """Every turn that followed a playbook, oldest first."""
        query = select(t.turns).join(t.steps).where(t.steps.c.kind == "recalled").order_by(t.turns.c.created_at)
        with self._database.reading() as db:
            rows = {row.id: TurnRow(**dict(row._mapping)) for row in db.execute(query)}
            return [use for turn in rows.values() for use in _uses(db, turn)]

    # --- what ended

    def ended_ids(self, since: datetime) -> list[tuple[str, datetime]]:
        """Ids and end times of the turns that ended since then, by their end."""
        query = select(t.turns.c.id, t.turns.c.ended_at).where(t.turns.c.ended_at >= since)
        with self._database.reading() as db:
            return [(str(row[0]), row[1]) for row in db.execute(query.order_by(t.turns.c.ended_at))]

    def ended(self, turn_ids: Sequence[str]) -> Iterator[EndedTurn]:
        """How these turns went; read in chunks."""
        for start in range(0, len(turn_ids), CHUNK):
            with self._database.reading() as db:
                ended = read_ended(db, turn_ids[start : start + CHUNK])
            yield from ended


def _uses(db: Connection, turn: TurnRow) -> Iterator[PlaybookUse]:
    """The playbooks that a turn followed, each once."""
    bodies = select(t.steps.c.body).where(t.steps.c.turn_id == turn.id).order_by(t.steps.c.seq)
    steps = [load_step(body) for (body,) in db.execute(bodies)]
    votes = tuple(
        (str(vote), str(reason))
        for vote, reason in db.execute(select(t.votes.c.vote, t.votes.c.reason).where(t.votes.c.turn_id == turn.id))
    )
    unwanted = {step.file for step in steps if isinstance(step, Unfollowed)}
    corrected = any(isinstance(step, Changed) for step in steps)
    notes = {step.playbook.file: step.playbook for step in steps if isinstance(step, Recalled) and step.playbook}
    for file, note in notes.items():
        yield PlaybookUse(turn, file, note.drift, file in unwanted, corrected, votes)


def _open_turn(db: Connection, values: dict[str, Any]) -> OpenTurn:
    """An open turn; `values` are the columns of its row and `node_id`."""
    node_id = values.pop("node_id")
    turn = TurnRow(**values)
    mine = t.steps.c.turn_id == turn.id
    last = db.execute(select(t.steps).where(mine).order_by(t.steps.c.seq.desc()).limit(1)).first()
    if last is None:
        return OpenTurn(turn=turn, node_id=node_id, steps=0, last_kind="", moved_at=turn.created_at)
    step = load_step(last.body)
    return OpenTurn(
        turn=turn,
        node_id=node_id,
        steps=last.seq + 1,
        last_kind=last.kind,
        moved_at=last.created_at,
        question=step.question if isinstance(step, Questioned) else "",
    )
