"""What the app's home shows of threads and of spending: a person's own threads, what waits, where tokens went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import func, select

from core.rows import Spent, TurnRow
from core.store import tables as t
from core.store.part import Part
from core.store.turns import turn_row

TITLE_CHARS = 300
"""How much of the message that began a thread is its title."""


@dataclass(frozen=True, slots=True)
class Glance:
    """A thread at a glance: its first words, and how far its last turn is. `turn_id` is "" while no turn has begun."""

    thread_id: str
    title: str
    state: Literal["running", "waiting", "done", "stopped", "failed"]
    turn_id: str
    at: datetime


class Overviews(Part):
    """Reads over `threads`, `messages`, `turns` and `model_calls`."""

    def threads_of(self, team: str, user: str, since: datetime, limit: int) -> list[Glance]:
        """The threads in which a person wrote since then, the latest first. Those without any work are left out."""
        m = t.messages.c
        last = func.max(m.received_at).label("last")
        mine = select(m.thread_id, last).where(m.user == user, m.received_at >= since, m.team == team)
        with self._reading() as db:
            found = db.execute(mine.group_by(m.thread_id).order_by(last.desc()).limit(limit)).all()
            ids = [row.thread_id for row in found]
            turns: dict[str, TurnRow] = {}
            query = select(t.turns).where(t.turns.c.thread_id.in_(ids)).order_by(t.turns.c.number)
            for row in db.execute(query):
                turns[row.thread_id] = turn_row(row)
            unread = set(db.execute(select(m.thread_id).where(m.thread_id.in_(ids), t.UNREAD)).scalars())
            first = select(func.min(m.id)).where(m.thread_id.in_(ids), m.kind == "text").group_by(m.thread_id)
            title = func.substr(m.text, 1, TITLE_CHARS)
            titles = {row[0]: str(row[1]) for row in db.execute(select(m.thread_id, title).where(m.id.in_(first)))}
            d = t.descriptions.c
            described = select(d.thread_id, func.substr(d.text, 1, TITLE_CHARS)).where(d.thread_id.in_(ids))
            titles |= {row[0]: str(row[1]) for row in db.execute(described)}
        glances = []
        for row in found:
            turn = turns.get(row.thread_id)
            if turn is None and row.thread_id not in unread:
                continue
            state = "running" if turn is None or row.thread_id in unread else turn.status
            turn_id = turn.id if turn is not None else ""
            # SQLite gives a maximum without the column's type.
            at = turn.ended_at or turn.created_at if turn is not None else since
            glances.append(Glance(row.thread_id, titles.get(row.thread_id, ""), state, turn_id, at))
        return glances

    def waiting_turns(self, team: str, limit: int) -> list[TurnRow]:
        """The turns of a workspace that wait for a person, the latest first."""
        query = select(t.turns).join(t.threads, t.threads.c.id == t.turns.c.thread_id)
        query = query.where(t.OPEN, t.turns.c.status == "waiting", t.threads.c.team == team)
        with self._reading() as db:
            return [turn_row(row) for row in db.execute(query.order_by(t.turns.c.created_at.desc()).limit(limit))]

    def threads_with_held_files(self, team: str, since: datetime, limit: int) -> list[str]:
        """The threads of a workspace in which files were asked about since then, the latest first."""
        last = func.max(t.steps.c.created_at)
        query = select(t.turns.c.thread_id).join(t.steps, t.steps.c.turn_id == t.turns.c.id)
        query = query.join(t.threads, t.threads.c.id == t.turns.c.thread_id)
        query = query.where(t.HOLDS_FILES, t.steps.c.created_at >= since, t.threads.c.team == team)
        with self._reading() as db:
            found = db.execute(query.group_by(t.turns.c.thread_id).order_by(last.desc()).limit(limit))
            return [str(thread_id) for thread_id in found.scalars()]

    def spent_by_channel(self, team: str, since: datetime, limit: int) -> list[tuple[str, Spent]]:
        """What model calls took since then in each channel of a workspace, the most first."""
        c = t.model_calls.c
        tokens = func.sum(c.prompt_tokens + c.completion_tokens)
        query = select(
            c.channel,
            func.sum(c.prompt_tokens),
            func.sum(c.cached_tokens),
            func.sum(c.completion_tokens),
            func.sum(c.cost_micros),
            func.count(),
        ).where(c.created_at >= since, c.thread_id.startswith(f"{team}:", autoescape=True))
        with self._reading() as db:
            rows = db.execute(query.group_by(c.channel).order_by(tokens.desc()).limit(limit)).all()
        return [
            (
                str(row[0]),
                Spent(int(row[1]), int(row[2]), int(row[3]), None if row[4] is None else int(row[4]), int(row[5])),
            )
            for row in rows
        ]

    def title_of(self, thread_id: str) -> str:
        """What somebody says a thread is about, else its first words; "" when none are stored."""
        m, d = t.messages.c, t.descriptions.c
        described = select(func.substr(d.text, 1, TITLE_CHARS)).where(d.thread_id == thread_id)
        query = select(func.substr(m.text, 1, TITLE_CHARS)).where(m.thread_id == thread_id, m.kind == "text")
        with self._reading() as db:
            title = db.execute(described).scalar() or db.execute(query.order_by(m.id).limit(1)).scalar()
            return str(title or "")
