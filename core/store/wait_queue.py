"""The wait queue: threads that have something to do, with who asked first, where, and since when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, func, select

from core.phrases import detect
from core.steps import load_step, user_of
from core.store import tables as t
from core.values import Language, ThreadKey

LANGUAGE_CHARS = 500
"""How many characters of a message are used to detect its language."""


@dataclass(frozen=True, slots=True)
class QueuedThread:
    """A thread with unread messages or a running turn. `user` asked first, at `since`; `stops`: a stop is unread."""

    thread_id: str
    user: str
    since: datetime
    language: Language
    stops: bool = False

    @property
    def channel(self) -> str:
        """The thread's channel."""
        return ThreadKey.parse(self.thread_id).channel

    def joined(self, user: str, since: datetime, *, stops: bool) -> QueuedThread:
        """The same with one more unread message."""
        first = min(self.since, since)
        return QueuedThread(self.thread_id, self.user or user, first, self.language, self.stops or stops)


def read_wait_queue(db: Connection) -> list[QueuedThread]:
    """The wait queue, oldest first."""
    m = t.messages.c
    start = func.substr(m.text, 1, LANGUAGE_CHARS)
    mail = select(m.thread_id, m.user, m.received_at, m.kind, start, m.id).where(t.UNREAD)
    first = and_(t.steps.c.turn_id == t.turns.c.id, t.steps.c.seq == 0)
    turns = select(t.turns.c.thread_id, t.turns.c.created_at, t.turns.c.language, t.steps.c.body)
    turns = turns.outerjoin(t.steps, first).where(t.OPEN, t.turns.c.status == "running")
    queue: dict[str, QueuedThread] = {}
    for thread, since, language, body in db.execute(turns):
        queue[thread] = QueuedThread(thread, user_of(load_step(body)) if body else "", since, language)
    # Sorted here: SQLite, told to order by `id`, would read the whole table in that order.
    for thread, user, since, kind, text, _ in sorted(db.execute(mail).all(), key=lambda row: row[-1]):
        known = queue.get(thread) or QueuedThread(thread, user, since, detect(text))
        queue[thread] = known.joined(user, since, stops=kind == "stop")
    return sorted(queue.values(), key=lambda queued: (queued.since, queued.thread_id))
