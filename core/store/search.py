"""Threads that people look for: by words, by person, by channel, by time, by state; and those that they pinned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, delete, func, or_, select, union

from core.rows import FOUND_BY, FoundBy, FoundThread, Pin, Tombstone
from core.steps import Finished, Step, load_step
from core.store import tables as t
from core.store.full_text import has_word
from core.store.part import Part, now, storable, writes
from core.values import Lease

_PEOPLE = ("text", "answer", "note")
MOST_FOUND = 500
"""Threads of one search. A person who may see only some of them sees the newest of these."""
_EXCERPT_CHARS = 2_000
_FUSION = 60
"""What the paper adds to each rank, so that the first place of one list does not outweigh two good places."""


class Search(Part):
    """Reads over `threads`, `messages` and `steps`; tables `pins`, `own_pins`, `descriptions` and `tombstones`."""

    def find_threads(
        self,
        words: Collection[str] = (),
        *,
        near: Sequence[str] = (),
        team: str = "",
        user: str = "",
        channel: str = "",
        since: datetime | None = None,
        pinned: bool = False,
        states: Collection[str] = (),
        reader: str = "",
        limit: int = MOST_FOUND,
    ) -> list[FoundThread]:
        """The threads that fit everything that is given. The thread that people wrote to last comes first.

        Each of the `words` (`full_text.words_in`) stands somewhere in the thread, or in its description. `user` wrote
        there. The `states` are those of `FoundThread`. With `reader`, threads that they pinned themselves count as
        pinned, too. `near` are threads of similar meaning, the nearest first; with them, both lists are fused by their
        ranks.
        """
        wanted: dict[str, Any] = {"team": team, "user": user, "channel": channel, "since": since}
        wanted |= {"pinned": pinned, "states": states, "reader": reader, "limit": limit}
        with_words = self._find(words, (), **wanted)
        return fused(with_words, self._find((), near, **wanted), near)[:limit] if near else with_words

    def _find(
        self,
        words: Collection[str],
        among: Collection[str],
        *,
        team: str,
        user: str,
        channel: str,
        since: datetime | None,
        pinned: bool,
        states: Collection[str],
        reader: str,
        limit: int,
    ) -> list[FoundThread]:
        c, m = t.threads.c, t.messages.c
        of_thread = m.thread_id == c.id
        last = select(func.max(m.received_at)).where(of_thread).scalar_subquery()
        first = select(m.text).where(of_thread, m.kind == "text", m.text != "").order_by(m.id).limit(1)
        author = select(m.author).where(of_thread, m.kind == "text").order_by(m.id).limit(1)
        turns = select(func.count()).select_from(t.turns).where(t.turns.c.thread_id == c.id)
        state = _state_of(c.id)
        own = (t.own_pins.c.thread_id == c.id) & (t.own_pins.c.user == reader)
        query = select(
            c.id,
            c.channel,
            func.coalesce(last, c.created_at).label("last_at"),
            func.coalesce(first.scalar_subquery(), "").label("question"),
            func.coalesce(author.scalar_subquery(), "").label("author"),
            turns.scalar_subquery().label("turns"),
            t.pins.c.user.label("pinned_by"),
            func.coalesce(t.descriptions.c.text, "").label("description"),
            state.label("state"),
            t.own_pins.c.user.label("own"),
        ).outerjoin(t.pins, t.pins.c.thread_id == c.id)
        query = query.outerjoin(t.own_pins, own)
        query = query.outerjoin(t.descriptions, t.descriptions.c.thread_id == c.id)
        spoken = c.id.in_(select(m.thread_id).where(m.kind.in_(_PEOPLE)))
        query = query.where(or_(spoken, t.descriptions.c.thread_id.is_not(None)))
        for word in words:
            in_message, in_step = has_word(self._database.dialect, word)
            messages = select(m.thread_id).where(in_message)
            steps = select(t.turns.c.thread_id).join(t.steps, t.steps.c.turn_id == t.turns.c.id)
            steps = steps.where(t.steps.c.id.in_(select(t.steps.c.id).where(in_step)))
            described = func.lower(t.descriptions.c.text).contains(word, autoescape=True)
            query = query.where(or_(c.id.in_(union(messages, steps)), described))
        if among:
            query = query.where(c.id.in_(list(among)))
        if team:
            query = query.where(c.team == team)
        if user:
            query = query.where(c.id.in_(select(m.thread_id).where(m.user == user, m.kind.in_(_PEOPLE))))
        if channel:
            query = query.where(c.channel == channel)
        if since is not None:
            query = query.where(func.coalesce(last, c.created_at) >= since)
        if pinned:
            query = query.where(or_(t.pins.c.thread_id.is_not(None), t.own_pins.c.thread_id.is_not(None)))
        if states:
            query = query.where(state.in_(states))
        with self._reading() as db:
            rows = db.execute(query.order_by(func.coalesce(last, c.created_at).desc(), c.id).limit(limit)).all()
        return [_found(row) for row in rows]

    def texts_of(self, thread_id: str) -> list[str]:
        """What is searched in a thread, to show where a word stands: messages, then reports and imports."""
        m = t.messages.c
        messages = select(m.text).where(m.thread_id == thread_id, m.kind.in_(_PEOPLE)).order_by(m.id)
        turns = select(t.turns.c.id).where(t.turns.c.thread_id == thread_id)
        ends = select(t.steps.c.body).where(t.steps.c.turn_id.in_(turns), t.steps.c.kind.in_(("finished", "said")))
        with self._reading() as db:
            steps = map(load_step, db.execute(ends.order_by(t.steps.c.id)).scalars())
            reports = [step.report if isinstance(step, Finished) else getattr(step, "text", "") for step in steps]
            return [*db.execute(messages).scalars(), *reports]

    def timed_steps(self, thread_id: str) -> list[list[tuple[datetime, Step]]]:
        """The steps of all turns of a thread with the times at which they were stored, the oldest turn first."""
        query = select(t.turns.c.id, t.steps.c.created_at, t.steps.c.body).outerjoin(t.steps)
        query = query.where(t.turns.c.thread_id == thread_id).order_by(t.turns.c.number, t.steps.c.seq)
        found: dict[str, list[tuple[datetime, Step]]] = {}
        with self._reading() as db:
            for turn_id, at, body in db.execute(query):
                steps = found.setdefault(turn_id, [])
                if body is not None:
                    steps.append((at, load_step(body)))
        return list(found.values())

    # --- pins

    @writes
    def pin_thread(self, lease: Lease, user: str) -> bool:
        """Pin the lease's thread for everybody; False when it is pinned already."""
        with self._writing(lease) as db:
            return self._insert_once(db, t.pins, thread_id=lease.thread_id, user=storable(user), at=now())

    @writes
    def unpin_thread(self, lease: Lease) -> bool:
        """Take the pin of the lease's thread away; False when there was none."""
        with self._writing(lease) as db:
            return bool(db.execute(delete(t.pins).where(t.pins.c.thread_id == lease.thread_id)).rowcount)

    def pin_of(self, thread_id: str) -> Pin | None:
        """Who pinned a thread, and when; None when nobody did."""
        query = select(t.pins.c.user, t.pins.c.at).where(t.pins.c.thread_id == thread_id)
        with self._reading() as db:
            row = db.execute(query).first()
        return None if row is None else Pin(row.user, row.at)

    @writes
    def pin_for(self, thread_id: str, user: str) -> bool:
        """Pin a thread for one person; False when they have pinned it already, or nothing of it is stored."""
        c = t.threads.c
        spoken = select(t.messages.c.id).where(t.messages.c.thread_id == c.id)
        begun = select(t.turns.c.id).where(t.turns.c.thread_id == c.id)
        there = select(c.id).where(c.id == thread_id, or_(spoken.exists(), begun.exists()))
        with self._writing() as db:
            if db.execute(there).first() is None:
                return False
            return self._insert_once(db, t.own_pins, thread_id=thread_id, user=storable(user), at=now())

    @writes
    def unpin_for(self, thread_id: str, user: str) -> bool:
        """Take a person's own pin away; False when there was none."""
        p = t.own_pins.c
        with self._writing() as db:
            return bool(db.execute(delete(t.own_pins).where(p.thread_id == thread_id, p.user == user)).rowcount)

    # --- descriptions

    @writes
    def describe_thread(self, lease: Lease, user: str, new_text: str) -> None:
        """Give the lease's thread a description in place of the one it has; "" takes it away."""
        mine = t.descriptions.c.thread_id == lease.thread_id
        with self._writing(lease) as db:
            db.execute(delete(t.descriptions).where(mine))
            if new_text:
                values = storable({"text": new_text, "user": user})
                db.execute(t.descriptions.insert().values(thread_id=lease.thread_id, at=now(), **values))
            self._take_back(db, [lease.thread_id])

    def description_of(self, thread_id: str) -> str:
        """What somebody says the thread is about; "" when nobody does."""
        query = select(t.descriptions.c.text).where(t.descriptions.c.thread_id == thread_id)
        with self._reading() as db:
            return str(db.execute(query).scalar() or "")

    # --- what is gone

    def tombstones(self, name: str) -> list[Tombstone]:
        """What is left of purged threads, by their id, or by the beginning of the hash of their last state."""
        c = t.tombstones.c
        mine = [c.thread_id == name]
        if name:
            mine.append(c.state.startswith(name, autoescape=True))
        with self._reading() as db:
            rows = db.execute(select(t.tombstones).where(or_(*mine)).order_by(c.thread_id).limit(20)).all()
        return [Tombstone(row.thread_id, row.state, row.turns, row.purged_at) for row in rows]


def fused(with_words: Sequence[FoundThread], meant: Collection[FoundThread], near: Sequence[str]) -> list[FoundThread]:
    """Both lists as one, by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    by_id = {one.thread_id: one for one in (*meant, *with_words)}
    lists = {"words": [one.thread_id for one in with_words], "meaning": [one for one in near if one in by_id]}
    score: dict[str, float] = dict.fromkeys(by_id, 0.0)
    ways: dict[str, list[FoundBy]] = {thread_id: [] for thread_id in by_id}
    for way in FOUND_BY:
        for rank, thread_id in enumerate(lists[way], start=1):
            score[thread_id] += 1 / (_FUSION + rank)
            ways[thread_id].append(way)
    order = sorted(by_id, key=lambda thread_id: (-score[thread_id], thread_id))
    return [replace(by_id[thread_id], by=tuple(ways[thread_id])) for thread_id in order]


def _state_of(thread_id: ColumnElement[str]) -> ColumnElement[str]:
    """SQL: how far a thread is, as `FoundThread.state` says it."""
    last = select(t.turns.c.status).where(t.turns.c.thread_id == thread_id).order_by(t.turns.c.number.desc()).limit(1)
    unread = select(t.messages.c.id).where(t.messages.c.thread_id == thread_id, t.UNREAD)
    return case((unread.exists(), "running"), else_=func.coalesce(last.scalar_subquery(), ""))


def _found(row: Any) -> FoundThread:
    return FoundThread(
        thread_id=row.id,
        channel=row.channel,
        last_at=row.last_at,
        question=row.question[:_EXCERPT_CHARS],
        author=row.author,
        turns=row.turns,
        pinned_by=row.pinned_by or "",
        description=row.description[:_EXCERPT_CHARS],
        state=row.state,
        is_own_pin=row.own is not None,
    )
