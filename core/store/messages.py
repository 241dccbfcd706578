"""Messages: what people wrote, which of it is unread, and which threads have something to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, exists, or_, select, text, union, update

from core.commands.registry import NOTE, is_command
from core.rows import Recorded, StoredMessage
from core.store import tables as t
from core.store.changes import DELETED
from core.store.outbox import CARD_SLOT
from core.store.part import Part, now, storable, writes
from core.store.participation import PartIn, moment, part_in, set_part
from core.store.wait_queue import QueuedThread, read_wait_queue
from core.values import FileRef, IncomingMessage, Lease, ThreadKey

_TO_READ = and_(t.NOT_READ, text(f"(kind = '{NOTE}' OR NOT quiet OR talk_wanted)"))
"""SQL: unread mail, and notes, which are read together with the next mail."""
_TO_READ_OF = (
    select(t.messages, t.threads.c.root_ts)
    .join(t.threads)
    .where(_TO_READ, t.messages.c.thread_id == bindparam("mail_thread"))
)


class Messages(Part):
    """Tables `threads` and `messages`. A message is unread if no turn has read it, and if it is not quiet or wants a
    talk to be read."""

    @writes
    def record_message(
        self, message: IncomingMessage, author: str = "", *, quiet: bool = False, leaves: bool = False
    ) -> Recorded:
        """Store a message once. A twin (same team, channel, ts) adds what only it knows: files, the mention, an author,
        and that a command with a file is a question.

        A `quiet` message is stored, but nobody has to read it. A twin that is not quiet makes it unread. The same
        transaction notes what the message does to the bot's part in the thread. A message that calls the bot into a
        conversation of people wants the talk to be read (`take_talk`). A message that `leaves` ends the bot's part in
        the thread. A later one that mentions the bot calls it back.
        """
        key = message.thread
        place = {"team": key.team, "channel": key.channel, "root_ts": key.root_ts}
        with self._writing() as db:
            is_new_thread = self._insert_once(db, t.threads, id=key.id, created_at=now(), **place)
            part = PartIn() if is_new_thread else part_in(db, key)
            is_reply = message.kind == "text" and message.root_ts != message.ts
            # A mention without a word in a thread of ours may mean files that it has not read yet.
            wants_talk = is_reply and (quiet or not part.takes_part)
            new = self._insert_message(db, message, author, quiet=quiet, talk_wanted=wants_talk)
            if new:
                calls_back = message.mention and (wants_talk or not quiet)
                set_part(db, key, part.left_ts, message.ts, leaves=leaves, calls_back=calls_back)
                return Recorded(key.id, new=True, to_notify=wants_talk or not quiet, node_id=part.node_id)
            kept = _kept(db, message)
            if kept.kind == DELETED:  # it was delivered late: people have deleted it since
                return Recorded(kept.thread_id, new=False, to_notify=False, node_id=part.node_id)
            merged = _merged(kept, message, author, quiet)
            db.execute(update(t.messages).where(t.messages.c.id == kept.id).values(**merged))
            to_notify = kept.quiet and not merged["quiet"]
            return Recorded(kept.thread_id, new=False, to_notify=to_notify, node_id=part.node_id)

    @writes
    def note_thread(self, key: ThreadKey) -> None:
        """Have a row for the thread, so that a sentence can be sent there; nothing of any message is kept."""
        with self._writing() as db:
            place = {"team": key.team, "channel": key.channel, "root_ts": key.root_ts}
            self._insert_once(db, t.threads, id=key.id, created_at=now(), **place)

    def thread_asker(self, thread_id: str) -> str:
        """The id of the person whose message began the thread for us; "" when none is stored."""
        query = select(t.messages.c.user).where(t.messages.c.thread_id == thread_id).order_by(t.messages.c.id).limit(1)
        with self._reading() as db:
            return str(db.execute(query).scalar() or "")

    def thread_writers(self, thread_id: str) -> frozenset[str]:
        """The ids of the people whose text is stored in the thread. People who only pressed a button are not
        included."""
        c = t.messages.c
        query = select(c.user).where(c.thread_id == thread_id, c.kind == "text").distinct()
        with self._reading() as db:
            return frozenset(db.execute(query).scalars())

    @writes
    def drop_messages(self, lease: Lease, message_ids: Collection[int]) -> None:
        """Delete unread messages of the lease's thread, as if they had never been stored."""
        c = t.messages.c
        with self._writing(lease) as db:
            mine = (c.thread_id == lease.thread_id) & c.id.in_(message_ids) & c.turn_id.is_(None)
            db.execute(delete(t.message_versions).where(t.message_versions.c.message_id.in_(select(c.id).where(mine))))
            db.execute(delete(t.messages).where(mine))

    @writes
    def take_talk(
        self, lease: Lease, callers: Sequence[IncomingMessage], earlier: Sequence[tuple[IncomingMessage, str]]
    ) -> None:
        """Store what was said in a talk before the bot was called in, with its authors: all of it or nothing.

        `callers` are the messages that called the bot, with the files that Slack shows of them. They want the talk no
        longer. Messages of `earlier` that are known already stay as they are.
        """
        with self._writing(lease) as db:
            for message, author in earlier:
                self._insert_message(db, message, author, quiet=False, talk_wanted=False)
            for caller in callers:
                kept = _kept(db, caller)
                if kept.kind == DELETED:  # people have deleted it since it was read
                    continue
                merged = _merged(kept, caller, "", quiet=not (caller.text or caller.files))
                db.execute(update(t.messages).where(t.messages.c.id == kept.id).values(**merged, talk_wanted=False))

    def _insert_message(
        self, db: Connection, message: IncomingMessage, author: str, *, quiet: bool, talk_wanted: bool
    ) -> bool:
        return self._insert_once(
            db,
            t.messages,
            thread_id=message.thread.id,
            received_at=now(),
            author=_name(author, message),
            quiet=quiet,
            talk_wanted=talk_wanted,
            **storable(message.model_dump(mode="json", include=set(IncomingMessage.model_fields) - {"root_ts"})),
        )

    def unread(self, thread_id: str, *, notes: bool = False) -> list[StoredMessage]:
        """The thread's unread messages with its notes, in the order in which they were written.

        If there are only notes, nothing is to do: they are returned only with `notes`.
        """
        with self._reading() as db:
            found = [message for message, _ in unread_messages(db, thread_id)]
        return found if notes or any(message.kind != NOTE for message in found) else []

    def stop_asked(self, thread_id: str) -> bool:
        """Whether the thread has an unread stop."""
        stop = t.messages.c.kind == "stop"
        query = select(t.messages.c.id).where(t.UNREAD, t.messages.c.thread_id == thread_id, stop).limit(1)
        with self._reading() as db:
            return db.execute(query).first() is not None

    def stops_asked(self, thread_ids: Collection[str]) -> set[str]:
        """The threads among these that have an unread stop, in one read."""
        stop = t.messages.c.kind == "stop"
        query = select(t.messages.c.thread_id).where(t.UNREAD, t.messages.c.thread_id.in_(list(thread_ids)), stop)
        with self._reading() as db:
            return set(db.execute(query).scalars()) if thread_ids else set()

    def thread_at_work(self, team: str, channel: str, ts: str) -> str | None:
        """The thread with an open turn that this Slack message belongs to: the turn's card, or a person's message."""
        here = t.turns.c.thread_id.startswith(f"{team}:{channel}:", autoescape=True)
        cards = select(t.turns.c.id + f":{CARD_SLOT}").where(t.OPEN, here)
        card = select(t.outbox.c.thread_id).where(t.outbox.c.key.in_(cards), t.outbox.c.ts == ts)
        written = select(t.messages.c.thread_id).outerjoin(t.turns, t.turns.c.id == t.messages.c.turn_id)
        written = written.where(_has_ts(team, channel, ts))
        written = written.where(or_(t.turns.c.status.in_(("running", "waiting")), t.UNREAD))
        with self._reading() as db:
            return db.execute(union(card, written)).scalar()

    def threads_needing_a_wake(self) -> list[str]:
        """Threads with unread messages or a running turn. The lease of a thread shows whether a worker has it."""
        mail = select(t.messages.c.thread_id).where(t.UNREAD)
        work = select(t.turns.c.thread_id).where(t.OPEN, t.turns.c.status == "running")
        with self._reading() as db:
            return sorted(db.execute(union(mail, work)).scalars())

    def wait_queue(self) -> list[QueuedThread]:
        """Threads that need a wake, oldest first, with who asked and since when."""
        with self._reading() as db:
            return read_wait_queue(db)


HAS_UNREAD: ColumnElement[bool] = exists().where(_TO_READ, t.messages.c.thread_id == bindparam("mail_thread"))
"""SQL: whether the thread `mail_thread` has unread messages or notes."""


def unread_messages(db: Connection, thread_id: str) -> list[tuple[StoredMessage, datetime]]:
    """The thread's unread messages and notes in the order in which they were written, with the times of receipt."""
    rows = db.execute(_TO_READ_OF, {"mail_thread": thread_id}).all()
    found = [(_message(row), row.received_at) for row in rows]
    return sorted(found, key=lambda one: (moment(one[0].ts), one[0].id))


class MailChanged(Exception):
    """People have deleted or changed a message since it was read."""


def mark_read(
    db: Connection, lease: Lease, turn_id: str, message_ids: Collection[int], as_read: Collection[StoredMessage] = ()
) -> None:
    """Note that a turn has read these messages; those of other threads stay as they are.

    Raises MailChanged if one of them is not `as_read` any more.
    """
    c = t.messages.c
    mine = (c.thread_id == lease.thread_id) & c.id.in_(message_ids)
    marked = db.execute(update(t.messages).where(mine).values(turn_id=turn_id).returning(c.id, c.kind, c.text))
    now_there = {row.id: (row.kind, row.text) for row in marked}
    if any(now_there.get(each.id) != (each.kind, each.text) for each in as_read):
        raise MailChanged


def _has_ts(team: str, channel: str, ts: str) -> ColumnElement[bool]:
    return and_(t.messages.c.team == team, t.messages.c.channel == channel, t.messages.c.ts == ts)


def _kept(db: Connection, message: IncomingMessage) -> Row[Any]:
    """The stored row of a message, locked until the transaction ends."""
    same = _has_ts(message.team, message.channel, message.ts)
    return db.execute(select(t.messages).where(same).with_for_update()).one()


def _name(author: str, message: IncomingMessage) -> str:
    """The name of a message's author; "" for the bare id, so that whoever needs the name looks it up again."""
    return "" if author == message.user else storable(author)


def _merged(kept: Row[Any], twin: IncomingMessage, author: str, quiet: bool) -> dict[str, Any]:
    """The columns of a stored message after its twin came."""
    return {
        "author": kept.author or _name(author, twin),
        "mention": kept.mention or twin.mention,
        "text": kept.text or storable(twin.text),
        "files": _merged_files(kept.files, twin.files),
        "files_known": kept.files_known or twin.files_known,
        "quiet": kept.quiet and quiet,
        "standing": kept.standing or twin.standing,
        "kind": twin.kind if _is_question_with_file(kept, twin) else kept.kind,
    }


def _is_question_with_file(kept: Row[Any], twin: IncomingMessage) -> bool:
    """Whether a message that nobody has read came as a command, and its twin has the file that makes it a question."""
    is_fresh = kept.turn_id is None and is_command(kept.kind) and not kept.files
    return is_fresh and twin.kind == "text" and bool(twin.files)


def _merged_files(kept: list[dict[str, Any]], more: Sequence[FileRef]) -> list[dict[str, Any]]:
    known = {file["id"] for file in kept}
    return [*kept, *(storable(file.model_dump(mode="json")) for file in more if file.id not in known)]


def _message(row: Row[Any]) -> StoredMessage:
    names = StoredMessage.model_fields
    values = {name: value for name, value in row._mapping.items() if name in names}
    values["standing"] = row.standing or ""
    return StoredMessage.model_validate(values, extra="allow")  # a newer version may know more of a file
