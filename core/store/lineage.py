"""Threads that hold words of other threads: forks, and what was loaded into a thread."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from core.rows import TurnRow
from core.steps import Step, dump_step
from core.store import tables as t
from core.store.files import file_values
from core.store.part import Part, contents_in, now, storable, writes
from core.values import Lease, StoredFile, ThreadKey


@dataclass(frozen=True, slots=True)
class CopiedTurn:
    """A turn of a thread for another one: its row there, and the steps with the times at which they happened."""

    row: TurnRow
    steps: Sequence[tuple[datetime, Step]]


class Lineage(Part):
    """Table `lineage`, and the rows that a new thread begins with."""

    @writes
    def fork_thread(
        self, lease: Lease, key: ThreadKey, turns: Sequence[CopiedTurn], files: Sequence[StoredFile]
    ) -> bool:
        """Give a new thread these turns and inputs of the lease's thread; False when it has them already.

        Steps and inputs keep their times. The contents that they name are needed by the new thread from now on.
        """
        with self._writing(lease) as db:
            place = {"team": key.team, "channel": key.channel, "root_ts": key.root_ts}
            self._insert_once(db, t.threads, id=key.id, created_at=now(), **place)
            if db.execute(select(t.turns.c.id).where(t.turns.c.thread_id == key.id).limit(1)).first() is not None:
                return False
            self._insert_once(db, t.lineage, thread_id=key.id, source_id=lease.thread_id, created_at=now())
            needed: set[str] = set()
            for turn in turns:
                row = {name: getattr(turn.row, name) for name in _TURN_COLUMNS}
                turn_id = f"{key.id}/t{turn.row.number}"
                db.execute(t.turns.insert(), {**row, "id": turn_id, "thread_id": key.id})
                needed |= _add_steps(db, turn_id, turn.steps)
            self._refer(db, key.id, needed | {file.sha256 for file in files})
            for file in files:
                self._insert_once(db, t.thread_files, **file_values(db, key.id, file, lease.thread_id))
            return True

    @writes
    def import_thread(
        self, key: ThreadKey, copied: CopiedTurn, description: str, user: str, sources: Collection[str] = ()
    ) -> bool:
        """Keep a conversation that was never in Slack, with what it is about; False when it is there already.

        The steps keep their times. `sources` are the threads that it was made from.
        """
        with self._writing() as db:
            place = {"team": key.team, "channel": key.channel, "root_ts": key.root_ts}
            self._insert_once(db, t.threads, id=key.id, created_at=now(), **place)
            if db.execute(select(t.turns.c.id).where(t.turns.c.thread_id == key.id).limit(1)).first() is not None:
                return False
            row = {name: getattr(copied.row, name) for name in _TURN_COLUMNS}
            turn_id = f"{key.id}/t{copied.row.number}"
            db.execute(t.turns.insert(), {**row, "id": turn_id, "thread_id": key.id})
            _add_steps(db, turn_id, copied.steps)  # they name no contents of ours, whatever hashes stand in them
            about = storable({"text": description, "user": user[:60]})
            self._insert_once(db, t.descriptions, thread_id=key.id, at=now(), **about)
            for source_id in sources:
                self._insert_once(db, t.lineage, thread_id=key.id, source_id=source_id, created_at=now())
            return True

    @writes
    def note_source(self, lease: Lease, source_id: str) -> None:
        """Note that the lease's thread holds words of another one from now on."""
        with self._writing(lease) as db:
            self._insert_once(db, t.lineage, thread_id=lease.thread_id, source_id=source_id, created_at=now())

    @writes
    def begin_heir(self, lease: Lease, key: ThreadKey) -> None:
        """Have a row for a new thread, and note that it holds words of the lease's thread."""
        with self._writing(lease) as db:
            place = {"team": key.team, "channel": key.channel, "root_ts": key.root_ts}
            self._insert_once(db, t.threads, id=key.id, created_at=now(), **place)
            self._insert_once(db, t.lineage, thread_id=key.id, source_id=lease.thread_id, created_at=now())

    def thread_at(self, team: str, channel: str, ts: str, root_ts: str) -> str | None:
        """The thread with turns that a message stands in; None when we have none there."""
        threads, messages, sent = t.threads.c, t.messages.c, t.outbox.c
        has_turns = select(t.turns.c.id).where(t.turns.c.thread_id == threads.id).exists()
        here = (threads.team == team) & (threads.channel == channel) & has_turns
        ways = (
            select(threads.id).where(threads.id == ThreadKey(team, channel, root_ts).id, has_turns),
            select(threads.id).join(t.messages, messages.thread_id == threads.id).where(here, messages.ts == ts),
            select(threads.id).join(t.outbox, sent.thread_id == threads.id).where(here, sent.ts == ts),
        )
        with self._reading() as db:
            return next((found for way in ways if (found := db.execute(way.limit(1)).scalar()) is not None), None)

    def imported_threads(self, team: str, name: str) -> list[str]:
        """The imported conversations of a workspace with this name: the same one may belong to several channels."""
        c = t.threads.c
        has_turns = select(t.turns.c.id).where(t.turns.c.thread_id == c.id).exists()
        query = select(c.id).where(c.team == team, c.root_ts == name, has_turns).order_by(c.id).limit(20)
        with self._reading() as db:
            return list(db.execute(query).scalars())


def inheritors_of(db: Connection, thread_ids: Collection[str]) -> list[str]:
    """The threads that hold words of these, directly or through other threads, without these themselves."""
    known = fresh = set(thread_ids)
    while fresh:
        query = select(t.lineage.c.thread_id).where(t.lineage.c.source_id.in_(sorted(fresh)))
        fresh = set(db.execute(query).scalars()) - known
        known = known | fresh
    return sorted(known - set(thread_ids))


_TURN_COLUMNS = ("number", "status", "language", "model", "created_at", "ended_at")


def _add_steps(db: Connection, turn_id: str, steps: Sequence[tuple[datetime, Step]]) -> set[str]:
    rows = []
    for seq, (at, step) in enumerate(steps):
        body = storable(dump_step(step))
        rows.append({"turn_id": turn_id, "seq": seq, "kind": body["kind"], "body": body, "created_at": at})
    if rows:
        db.execute(t.steps.insert(), rows)
    return contents_in([row["body"] for row in rows])
