"""What threads are about, as vectors, and the searches that a worker answers with them.

The bot knows no model: it leaves the words of a search here, and the worker that knows the embedding endpoint writes
the nearest threads beside them. Nobody waits for it longer than a moment, and the row is deleted with the answer.

Vectors are made while people go on writing, so what they are made of may be deleted meanwhile. A deletion increases
`changed`. Vectors are stored only if `changed` still has the value from before the words were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, exists, func, or_, select, update

from core.store import tables as t
from core.store.part import NO_VECTORS, Part, now, storable, writes

_READ_KINDS = ("asked", "noted", "finished", "said", "changed")
"""The kinds of steps from which vectors are made."""
_BATCH = 500


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """A thread whose vectors are to be made: its last step, and how often something was taken back until now."""

    thread_id: str
    team: str
    upto: int
    changed: int


@dataclass(frozen=True, slots=True)
class ThreadVectors:
    """The vectors of a thread, one behind the other, `dims` numbers of two bytes each."""

    thread_id: str
    dims: int
    vectors: bytes


@dataclass(frozen=True, slots=True)
class OpenSearch:
    """A search that waits for an answer."""

    id: int
    team: str
    channel: str
    text: str


class Vectors(Part):
    """Tables `thread_vectors` and `searches`."""

    # --- vectors

    def without_vectors(self, model: str, after: int = 0) -> list[tuple[int, str]]:
        """The threads whose vectors of this model are missing or old, with their last steps, the newest first.

        Only threads with steps behind the step `after` are looked at, and those in which something was taken back.
        """
        v, s = t.thread_vectors.c, t.steps.c
        newest = (
            select(t.turns.c.thread_id, func.max(s.id).label("upto"))
            .join(t.turns, t.turns.c.id == s.turn_id)
            .where(s.id > after, s.kind.in_(_READ_KINDS))
            .group_by(t.turns.c.thread_id)
            .subquery()
        )
        old = or_(v.thread_id.is_(None), v.model != model, v.upto < newest.c.upto)
        query = select(newest.c.upto, newest.c.thread_id)
        query = query.outerjoin(t.thread_vectors, v.thread_id == newest.c.thread_id).where(old)
        taken_back = select(v.upto, v.thread_id).where(v.model == "")
        with self._reading() as db:
            found = {str(row[1]): int(row[0]) for each in (taken_back, query) for row in db.execute(each)}
        return sorted(((upto, thread_id) for thread_id, upto in found.items()), reverse=True)

    @writes
    def begin_vectors(self, thread_id: str) -> ThreadMark | None:
        """Note that vectors of a thread are about to be made; None when the thread is gone. Read its words after it."""
        newest = select(func.max(t.steps.c.id)).join(t.turns, t.turns.c.id == t.steps.c.turn_id)
        newest = newest.where(t.turns.c.thread_id == thread_id)
        c = t.thread_vectors.c
        with self._writing() as db:
            upto = db.execute(newest).scalar()
            team = db.execute(select(t.threads.c.team).where(t.threads.c.id == thread_id)).scalar()
            if upto is None or team is None:
                db.execute(delete(t.thread_vectors).where(c.thread_id == thread_id))
                return None
            self._insert_once(db, t.thread_vectors, thread_id=thread_id, team=team, **NO_VECTORS)
            changed = db.execute(select(c.changed).where(c.thread_id == thread_id)).scalar_one()
        return ThreadMark(thread_id, team, int(upto), int(changed))

    @writes
    def keep_vectors(self, mark: ThreadMark, model: str, dims: int, vectors: bytes) -> bool:
        """Store the vectors of a thread; False when something was taken back or purged since the mark."""
        c = t.thread_vectors.c
        mine = (c.thread_id == mark.thread_id) & (c.changed == mark.changed)
        values = {"model": model, "dims": dims, "vectors": vectors, "upto": mark.upto}
        with self._writing() as db:
            return bool(db.execute(update(t.thread_vectors).where(mine).values(**values)).rowcount)

    def vectors_of(self, model: str, team: str = "") -> Iterator[ThreadVectors]:
        """The vectors of this model, those of the newest threads first; with a `team`, of this workspace alone."""
        c = t.thread_vectors.c
        query = select(c.thread_id, c.dims, c.vectors, c.upto).where(c.model == model, c.dims > 0)
        if team:
            query = query.where(c.team == team)
        query = query.order_by(c.upto.desc()).limit(_BATCH)
        rows: Sequence[Any] = ()
        while True:
            older = query.where(c.upto < rows[-1].upto) if rows else query  # a step is of one thread: they all differ
            with self._reading() as db:
                rows = db.execute(older).all()
            yield from (ThreadVectors(row.thread_id, row.dims, row.vectors) for row in rows)
            if len(rows) < _BATCH:
                return

    @writes
    def drop_orphaned_vectors(self) -> int:
        """Delete the vectors of threads that are gone: a purge by code that knows nothing of vectors leaves them."""
        c = t.thread_vectors.c
        gone = ~exists(select(t.turns.c.id).where(t.turns.c.thread_id == c.thread_id))
        with self._reading() as db:  # in SQLite nobody else can write while a DELETE looks at the row of every thread
            if db.execute(select(c.thread_id).where(gone).limit(1)).first() is None:
                return 0
        with self._writing() as db:
            return db.execute(delete(t.thread_vectors).where(gone)).rowcount

    # --- searches

    @writes
    def begin_search(self, thread_id: str, team: str, channel: str, text: str) -> int:
        """Leave the words of a search for a worker; returns its number. It was said in this thread."""
        values = storable({"thread_id": thread_id, "team": team, "channel": channel, "text": text})
        with self._writing() as db:
            row = db.execute(t.searches.insert().values(at=now(), **values).returning(t.searches.c.id)).one()
        return int(row[0])

    def search_answer(self, search_id: int) -> list[str] | None:
        """The nearest threads, the nearest first; None while no worker has looked."""
        with self._reading() as db:
            found = db.execute(select(t.searches.c.found).where(t.searches.c.id == search_id)).scalar()
        return None if found is None else [str(each) for each in found]

    @writes
    def end_search(self, search_id: int) -> None:
        """Delete a search with its words."""
        with self._writing() as db:
            db.execute(delete(t.searches).where(t.searches.c.id == search_id))

    def open_searches(self, since: datetime) -> list[OpenSearch]:
        """The searches since then that nobody has answered."""
        c = t.searches.c
        query = select(c.id, c.team, c.channel, c.text).where(c.at >= since, c.found.is_(None)).order_by(c.at)
        with self._reading() as db:
            return [OpenSearch(*row) for row in db.execute(query)]

    @writes
    def answer_search(self, search_id: int, thread_ids: Sequence[str]) -> None:
        """Write the nearest threads beside the words of a search."""
        with self._writing() as db:
            db.execute(update(t.searches).where(t.searches.c.id == search_id).values(found=list(thread_ids)))

    @writes
    def drop_old_searches(self, at: datetime) -> int:
        """Delete the searches that began more than a minute before this, as of a bot that died."""
        with self._writing() as db:
            return db.execute(delete(t.searches).where(t.searches.c.at < at - timedelta(minutes=1))).rowcount
