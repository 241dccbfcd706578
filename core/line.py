"""The line of threads that have something to do, as the Store knows it: who asked, where, since when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, func, select

from core import tables as t
from core.phrases import detect
from core.values import Language, ThreadKey

_WORDS = 500
"""Characters of a message that tell its language."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A thread with unread mail or a running turn. `user` asked first, at `since`; `stops`: somebody wishes an end."""

    thread_id: str
    user: str
    since: datetime
    language: Language
    stops: bool = False

    @property
    def channel(self) -> str:
        """Where it is."""
        return ThreadKey.parse(self.thread_id).channel


def read_line(db: Connection, thread_id: str | None = None) -> list[Waiting]:
    """The line, those that wait longest first; of one thread, it or nothing."""
    m = t.messages.c
    words = func.substr(m.text, 1, _WORDS)
    mail = select(m.thread_id, m.user, m.received_at, m.kind, words).where(t.UNREAD, m.quiet.is_(False))
    first = and_(t.steps.c.turn_id == t.turns.c.id, t.steps.c.seq == 0)
    turns = select(t.turns.c.thread_id, t.turns.c.created_at, t.turns.c.language, t.steps.c.body)
    turns = turns.outerjoin(t.steps, first).where(t.OPEN, t.turns.c.status == "running")
    if thread_id is not None:
        mail, turns = mail.where(m.thread_id == thread_id), turns.where(t.turns.c.thread_id == thread_id)
    found: dict[str, Waiting] = {}
    for thread, since, language, body in db.execute(turns):
        found[thread] = Waiting(thread, str((body or {}).get("user", "")), since, language)
    for thread, user, since, kind, text in db.execute(mail.order_by(m.id)):
        known = found.get(thread) or Waiting(thread, user, since, detect(text))
        stops = known.stops or kind == "stop"
        found[thread] = Waiting(thread, known.user or user, min(known.since, since), known.language, stops)
    return sorted(found.values(), key=lambda waiting: (waiting.since, waiting.thread_id))
