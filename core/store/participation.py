"""The bot's part in a thread: whether it takes part, left, or was called in; and which threads were active lately.

The bot takes part in a thread that has a turn, that has real mail (a message that somebody has to read), or that began
with a message to the bot. A thread where people only told the bot to stop, or where it could answer nothing, stays
theirs. A message that tells the bot to leave ends its part until somebody mentions it again.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, update

from core.store import tables as t
from core.store.changes import DELETED
from core.store.part import Part
from core.values import ThreadKey


class LatelyActive(NamedTuple):
    """A thread, and the ts of the newest message that is known of it."""

    thread: ThreadKey
    newest_ts: str


class PartIn(NamedTuple):
    """The bot's part in a thread, and the node that holds its session. The defaults are those of a new thread."""

    takes_part: bool = False
    left_ts: str | None = None
    node_id: str | None = None


class Participation(Part):
    """What the bot asks before it takes a message in. Column `left_ts` of `threads`, and reads of `messages`."""

    def knows_thread(self, key: ThreadKey) -> bool:
        """Whether the bot takes part in this thread: a message there is for it without a mention."""
        with self._reading() as db:
            return part_in(db, key).takes_part

    def has_left(self, key: ThreadKey) -> bool:
        """Whether the bot was told to leave this thread and nobody has called it back."""
        with self._reading() as db:
            return db.execute(select(t.threads.c.left_ts).where(t.threads.c.id == key.id)).scalar() is not None

    def lately_active(self, since: datetime, limit: int) -> list[LatelyActive]:
        """The threads in which somebody wrote since then, the latest first, `limit` at most."""
        m = t.messages.c
        thread = func.trim(m.thread_id)  # as a bare column, SQLite would read its index whole to group by it
        query = (
            select(thread, func.max(m.ts))
            .where(m.received_at > since)
            .group_by(thread)
            .order_by(func.max(m.received_at).desc())
            .limit(limit)
        )
        with self._reading() as db:
            return [LatelyActive(ThreadKey.parse(thread_id), ts) for thread_id, ts in db.execute(query)]

    def newest_ts(self, thread_id: str) -> str:
        """The ts of the newest message that is known of the thread; "0" when none is."""
        m = t.messages.c
        with self._reading() as db:
            return max(db.execute(select(m.ts).where(m.thread_id == thread_id)).scalars(), key=moment, default="0")

    def known_messages(self, team: str, channel: str, ts: Collection[str]) -> set[str]:
        """The ts among these that are stored as messages of the channel."""
        m = t.messages.c
        with self._reading() as db:
            query = select(m.ts).where(m.team == team, m.channel == channel, m.ts.in_(ts))
            return set(db.execute(query).scalars())


def is_root_for_us() -> ColumnElement[bool]:
    """SQL, over `threads`: whether the thread's first message is known and is addressed to the bot."""
    m, threads = t.messages.c, t.threads.c
    place = (m.team == threads.team, m.channel == threads.channel, m.ts == threads.root_ts)
    return select(m.id).where(*place, m.mention).exists()


def part_in(db: Connection, key: ThreadKey) -> PartIn:
    """The bot's part in a thread, also in one that is not known."""
    row = db.execute(_part_of(key)).first()
    return PartIn() if row is None else PartIn(bool(row.takes_part), row.left_ts, row.node_id)


def _part_of(key: ThreadKey) -> Select[Any]:
    turn = exists().where(t.turns.c.thread_id == key.id)
    # A message that a turn has read implies a turn. So only the others are searched; they have an index.
    real = or_(t.messages.c.quiet.is_(False), and_(t.messages.c.ts == key.root_ts, t.messages.c.mention.is_(True)))
    no_turn = and_(t.messages.c.thread_id == key.id, t.messages.c.turn_id.is_(None), t.messages.c.kind != DELETED)
    mail = select(t.messages.c.id).where(no_turn, real).exists()
    takes_part = and_(t.threads.c.left_ts.is_(None), or_(turn, mail))
    query = select(takes_part.label("takes_part"), t.threads.c.left_ts, t.threads.c.node_id)
    return query.where(t.threads.c.id == key.id)


def set_part(db: Connection, key: ThreadKey, left_ts: str | None, ts: str, *, leaves: bool, calls_back: bool) -> None:
    """Note that the message at `ts` ended the bot's part or called it back. An older message changes nothing."""
    is_later = left_ts is None or moment(ts) > moment(left_ts)
    if is_later and (leaves or (calls_back and left_ts is not None)):
        values = {"left_ts": ts if leaves else None}
        db.execute(update(t.threads).where(t.threads.c.id == key.id).values(**values))


def moment(ts: str) -> tuple[int, int]:
    """Slack's "seconds.micros" as numbers: as text, ts of different widths sort wrongly."""
    seconds, _, micros = ts.partition(".")
    return int(seconds or 0), int(micros or 0)
