"""The wait queue: threads that have something to do, with who asked first, where, and since when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, and_, cast, func, literal, null, select, union_all

from core.commands.registry import is_light
from core.language_detection import detect
from core.steps import load_step, user_of
from core.store import tables as t
from core.values import Language, ThreadKey

_NO_MESSAGE = 0
"""Stands for the id of a message; those begin with 1."""
LANGUAGE_CHARS = 500
"""How many characters of a message are used to detect its language."""


@dataclass(frozen=True, slots=True)
class QueuedThread:
    """A thread with unread messages or a running turn. `user` asked first, at `since`.

    `stops`: a stop is unread. `works`: a turn runs, or more than light commands is unread.
    """

    thread_id: str
    user: str
    since: datetime
    language: Language
    stops: bool = False
    works: bool = True

    @property
    def channel(self) -> str:
        """The thread's channel."""
        return ThreadKey.parse(self.thread_id).channel

    @property
    def needs_place(self) -> bool:
        """Whether it counts against the limits on running turns. A stop must not wait for the turn that it ends."""
        return self.works and not self.stops

    def joined(self, user: str, since: datetime, kind: str) -> QueuedThread:
        """The same with one more unread message, of this kind."""
        return replace(
            self,
            user=self.user or user,
            since=min(self.since, since),
            stops=self.stops or kind == "stop",
            works=self.works or not is_light(kind),
        )


def queued_by_mail(thread_id: str, user: str, since: datetime, text: str) -> QueuedThread:
    """A thread without a running turn, before its unread messages joined. `user` wrote the first one, `text`."""
    return QueuedThread(thread_id, user, since, detect(text[:LANGUAGE_CHARS]), works=False)


def read_wait_queue(db: Connection) -> list[QueuedThread]:
    """The wait queue, oldest first. One statement reads running turns and unread messages."""
    queue: dict[str, QueuedThread] = {}
    # Sorted here, turns first. To order by `id`, SQLite would read the whole table of messages in that order.
    for row in sorted(db.execute(_waiting()), key=lambda row: row.message):
        if row.message == _NO_MESSAGE:
            user = user_of(load_step(row.body)) if row.body else ""
            queue[row.thread_id] = QueuedThread(row.thread_id, user, row.since, row.language)
        else:
            known = queue.get(row.thread_id) or queued_by_mail(row.thread_id, row.user, row.since, row.text)
            queue[row.thread_id] = known.joined(row.user, row.since, row.kind)
    return sorted(queue.values(), key=lambda queued: (queued.since, queued.thread_id))


@cache
def _waiting() -> Any:
    """One row per running turn and per unread message. Columns that only the other kind has are null."""
    m, turns, body = t.messages.c, t.turns.c, t.steps.c.body
    first = and_(t.steps.c.turn_id == turns.id, t.steps.c.seq == 0)
    running = (
        select(
            literal(_NO_MESSAGE).label("message"),
            turns.thread_id,
            turns.created_at.label("since"),
            turns.language,
            body,
            cast(null(), m.user.type).label("user"),
            cast(null(), m.kind.type).label("kind"),
            cast(null(), m.text.type).label("text"),
        )
        .outerjoin(t.steps, first)
        .where(t.OPEN, turns.status == "running")
    )
    mail = select(
        m.id,
        m.thread_id,
        m.received_at,
        cast(null(), turns.language.type),
        cast(null(), body.type),
        m.user,
        m.kind,
        func.substr(m.text, 1, LANGUAGE_CHARS),
    ).where(t.UNREAD)
    return union_all(running, mail)
