"""Messages that people delete or change in Slack after we stored them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from unicodedata import east_asian_width

from sqlalchemy import ColumnElement, Connection, Row, Table, delete, select, update

from core.commands.registry import DESCRIBE, NOTE, commands, is_command
from core.store import tables as t
from core.store.lineage import inheritors_of
from core.store.part import Part, now, storable, writes
from core.values import Lease

DELETED = "deleted"
"""The kind of a message that people deleted. Its key stays: a late delivery of it is not taken for a new message."""
GONE = "[…]"
"""Replaces a deleted text where it was quoted."""
_QUOTING = ("markdown", "clean_room", "clean_room_outcome")
"""Columns of reports that may quote a message."""
_SHORTEST_QUOTE = 8
"""Shorter texts are not looked for in other texts: they are words that anybody uses. A sign that is as wide as two
counts as two: four Chinese signs may say something."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A stored message that was deleted or changed. `turn_id` is the open turn that works with it, if there is one."""

    thread_id: str
    root_ts: str
    channel_type: str
    user: str
    turn_id: str | None
    was_answered: bool = False
    """Whether a turn that is over has read it."""
    was_quiet: bool = False
    """Whether nobody had to read it so far, and somebody has to now: it had neither words nor files, or the bot itself
    saw to its command."""


@dataclass(frozen=True, slots=True)
class Written:
    """A stored message: where it stands, who wrote it, its kind, its text."""

    thread_id: str
    user: str
    kind: str
    text: str


class Changes(Part):
    """Tables `messages` and `message_versions`, and whatever quotes a deleted message."""

    @writes
    def delete_message(self, team: str, channel: str, ts: str) -> Touched | None:
        """Remove the text of a message from all tables; None when it is not stored, or was deleted before.

        Its copies in threads that were forked from this one go too, and the texts that it had before it was changed.
        Files that came with it stay until the thread is purged.
        """
        with self._writing() as db:
            _lock(db, team, channel, ts)
            if (row := _found(db, team, channel, ts)) is None:
                return None
            mine = t.message_versions.c.message_id == row.id
            texts = [row.text, *db.execute(select(t.message_versions.c.text).where(mine)).scalars()]
            db.execute(delete(t.message_versions).where(mine))
            gone = {"kind": DELETED, "text": "", "author": "", "files": [], "quiet": True, "talk_wanted": False}
            db.execute(update(t.messages).where(t.messages.c.id == row.id).values(**gone))
            heirs = inheritors_of(db, [row.thread_id])
            threads = (row.thread_id, *heirs)
            for thread_id in threads:
                _redact(db, thread_id, texts, {ts})
            for thread_id in heirs:  # a question that is answered in a direct message stands there as a message
                _redact_messages(db, thread_id, texts)
            if row.kind == DESCRIBE:
                _forget_description(db, row.thread_id, texts)
            self._take_back(db, threads)
            return _touched(row)

    def written(self, team: str, channel: str, ts: str) -> Written | None:
        """A stored message as it is now; None when it is not stored or was deleted."""
        with self._reading() as db:
            row = _found(db, team, channel, ts)
        return None if row is None else Written(row.thread_id, row.user, row.kind, row.text)

    def earlier_texts(self, team: str, channel: str, ts: str) -> list[tuple[str, datetime]]:
        """The texts of a message before its author changed it in Slack, each with the time of the change; the oldest
        first."""
        v = t.message_versions.c
        with self._reading() as db:
            row = _found(db, team, channel, ts)
            if row is None:
                return []
            query = select(v.text, v.replaced_at).where(v.message_id == row.id).order_by(v.id)
            return [(str(text), at) for text, at in db.execute(query)]

    @writes
    def change_message(
        self, team: str, channel: str, ts: str, new_text: str, kind: str | None = "text"
    ) -> Touched | None:
        """Give a message its new text and keep the one before; None when it is not stored or says the same.

        A message that was empty becomes unread mail with its first words, and so does a command that the bot saw to
        (“help”) when it becomes a question. `kind` is what the new words are, None for a command that the bot sees to.
        It counts while no turn has read them.
        """
        with self._writing() as db:
            _lock(db, team, channel, ts)
            row = _found(db, team, channel, ts)
            if row is None or row.text == storable(new_text):
                return None
            is_fresh = row.turn_id is None and _is_said(row.kind)
            is_new_mail = is_fresh and row.quiet and (not row.text or (kind == "text" and _was_seen_to(row.kind)))
            said = {"text": storable(new_text), "quiet": row.quiet and not is_new_mail}
            if is_fresh and not said["quiet"]:
                said["kind"] = kind or "text"
            db.execute(t.message_versions.insert().values(message_id=row.id, text=row.text, replaced_at=now()))
            db.execute(update(t.messages).where(t.messages.c.id == row.id).values(**said))
            self._take_back(db, [row.thread_id])
            return replace(_touched(row), was_quiet=is_new_mail)

    def deleted_messages(self, turn_id: str) -> set[str]:
        """The ts of the messages of this turn that people deleted."""
        mine = (t.messages.c.turn_id == turn_id) & (t.messages.c.kind == DELETED)
        with self._reading() as db:
            return set(db.execute(select(t.messages.c.ts).where(mine)).scalars())

    @writes
    def redact(self, lease: Lease, texts: Iterable[str], deleted: Collection[str]) -> None:
        """Take these texts of deleted messages out of what the thread has stored since."""
        with self._writing(lease) as db:
            threads = (lease.thread_id, *inheritors_of(db, [lease.thread_id]))
            for thread_id in threads:
                _redact(db, thread_id, texts, deleted)
            self._take_back(db, threads)


def _lock(db: Connection, team: str, channel: str, ts: str) -> None:
    """Wait, on Postgres, for whoever changes or reads this message now: what is found then holds until the commit."""
    c = t.messages.c
    db.execute(select(c.id).where(c.team == team, c.channel == channel, c.ts == ts).with_for_update())


def _found(db: Connection, team: str, channel: str, ts: str) -> Any:
    c = t.messages.c
    query = select(
        c.id,
        c.thread_id,
        c.user,
        c.text,
        c.channel_type,
        c.kind,
        c.quiet,
        t.threads.c.root_ts,
        t.turns.c.id.label("turn_id"),
        t.turns.c.status,
    )
    query = query.join(t.threads, t.threads.c.id == c.thread_id).outerjoin(t.turns, t.turns.c.id == c.turn_id)
    return db.execute(query.where(c.team == team, c.channel == channel, c.ts == ts, c.kind != DELETED)).first()


def _is_said(kind: str) -> bool:
    """Whether a message of this kind is one that people write, as words or as a command."""
    return kind == "text" or (is_command(kind) and not commands()[kind].by_form)


def _was_seen_to(kind: str) -> bool:
    """Whether a quiet message of this kind is a command that got its answer, and did not send the bot away."""
    return is_command(kind) and not commands()[kind].leaves


def _is_over_at_once(kind: str) -> bool:
    """Whether a message of this kind is a command that a turn only carries out, such as “status”: then it is over."""
    return is_command(kind) and kind != NOTE and commands()[kind].at_rest in ("last_turn", "drop")


def _touched(row: Row[Any]) -> Touched:
    is_open = row.status in ("running", "waiting") and not _is_over_at_once(row.kind)
    open_turn = row.turn_id if is_open else None
    is_over = row.turn_id is not None and not is_open and row.kind == "text"
    return Touched(row.thread_id, row.root_ts, row.channel_type, row.user, open_turn, is_over)


def _redact(db: Connection, thread_id: str, texts: Iterable[str], deleted: Collection[str]) -> None:
    quotes = sorted(_quotes(texts), key=len, reverse=True)
    turns = select(t.turns.c.id).where(t.turns.c.thread_id == thread_id)

    def clean(value: Any) -> Any:
        return _without(value, quotes)

    def clean_body(body: Any) -> Any:
        return _without({**body, "text": ""} if body.get("ts") in deleted and "text" in body else body, quotes)

    _rewrite(db, t.steps, ("body",), t.steps.c.turn_id.in_(turns), clean_body)
    _rewrite(db, t.outbox, ("payload", "response"), t.outbox.c.thread_id == thread_id, clean)
    _rewrite(db, t.reports, _QUOTING, t.reports.c.turn_id.in_(turns), clean)
    _rewrite(db, t.schedules, ("said",), t.schedules.c.thread_id == thread_id, clean)


def _redact_messages(db: Connection, thread_id: str, texts: Iterable[str]) -> None:
    quotes = sorted(_quotes(texts), key=len, reverse=True)
    _rewrite(db, t.messages, ("text",), t.messages.c.thread_id == thread_id, lambda value: _without(value, quotes))


def _rewrite(
    db: Connection, table: Table, names: Sequence[str], mine: ColumnElement[bool], clean: Callable[[Any], Any]
) -> None:
    """Put into these columns what `clean` makes of them. A row that changes is read again once it is locked: on
    Postgres, a worker or the deletion of another message may have written it meanwhile."""
    (key,) = table.primary_key
    query = select(key, *(table.c[name] for name in names))

    def changes(row: Row[Any]) -> dict[str, Any]:
        before: dict[str, Any] = dict(zip(names, row[1:], strict=True))
        return {name: new for name, value in before.items() if (new := clean(value)) != value}

    for row in db.execute(query.where(mine)).all():
        if changes(row):
            now_there = db.execute(query.where(key == row[0]).with_for_update()).first()
            if now_there is not None and (values := changes(now_there)):
                db.execute(update(table).where(key == row[0]).values(values))


def _forget_description(db: Connection, thread_id: str, texts: Iterable[str]) -> None:
    """Take away what a deleted message said the thread is about, unless somebody has said something else since."""
    mine = t.descriptions.c.thread_id == thread_id
    described = db.execute(select(t.descriptions.c.text).where(mine)).scalar()
    if described and any(described in " ".join(text.split()) for text in texts):
        db.execute(delete(t.descriptions).where(mine))


def _quotes(texts: Iterable[str]) -> set[str]:
    """The ways in which a text may stand in another one: whole or by line, as it is or escaped for Slack."""
    lines = {line.strip() for text in texts for line in (text, *text.splitlines())}
    escaped = {line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines}
    return {quote for quote in lines | escaped if _width(quote) >= _SHORTEST_QUOTE}


def _width(text: str) -> int:
    return len(text) + sum(east_asian_width(sign) in ("W", "F") for sign in text)


def _without(value: Any, quotes: Collection[str]) -> Any:
    if isinstance(value, str):
        for quote in quotes:
            value = value.replace(quote, GONE)
        return value
    if isinstance(value, dict):
        return {key: _without(item, quotes) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, quotes) for item in value]
    return value
