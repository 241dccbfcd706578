"""Everything about a thread that a worker asks before it begins, read at once after it has taken the lease."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, select

from core.commands.registry import NOTE
from core.preferences import WORKSPACE
from core.rows import StoredMessage, TurnRow
from core.steps import Step, load_step, user_of
from core.store import tables as t
from core.store.fences import raise_token
from core.store.messages import unread_messages
from core.store.outbox import UNSHOWN
from core.store.part import Part, writes
from core.store.participation import is_root_for_us
from core.store.preferences import preferences_of
from core.store.turns import open_turn_of, turn_row
from core.store.wait_queue import QueuedThread, queued_by_mail
from core.values import TurnStatus

_OPEN: tuple[TurnStatus, ...] = ("running", "waiting")


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread as the Store has it at one moment.

    Turns and steps stay like this while the lease is held, because only its holder writes them. Mail may come at any
    time. `mail` is in the order in which it was written, and a turn without steps is among `steps` too.
    """

    thread_id: str
    node_id: str | None
    """The node that holds the session; None when none does."""
    is_exported: bool
    """Whether exported sessions are counted for the thread."""
    has_files: bool
    """Whether people gave it files."""
    is_talk: bool
    """Whether it is a conversation of people that the bot was called into."""
    sent: int
    """How many messages of ours Slack has."""
    unshown: int
    """How many of them are files that nobody has seen in the thread."""
    turns: tuple[TurnRow, ...]
    steps: Mapping[str, tuple[Step, ...]]
    mail: tuple[StoredMessage, ...]
    since: tuple[Any, ...] = ()
    """When each message of `mail` was received."""
    preferences: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What was chosen for its workspace, its channel and the people of the mail, by subject."""

    @property
    def open_turn(self) -> TurnRow | None:
        """The running or waiting turn."""
        return open_turn_of(self.turns)

    @property
    def progress(self) -> str:
        """A text that changes with every step that is stored for the open turn, and every message sent."""
        turn = self.open_turn
        return f"{self.thread_id}/new" if turn is None else f"{turn.id}:{len(self.steps[turn.id])}:{self.sent}"

    @property
    def needs_place(self) -> bool:
        """Whether what it has to do counts against the limits on running turns."""
        queued = self.queued
        return queued is not None and queued.needs_place

    @property
    def queued(self) -> QueuedThread | None:
        """The thread as it stands in the wait queue; None when it has nothing to do."""
        turn = self.open_turn
        found = None
        if turn is not None and turn.status == "running":
            first = self.steps[turn.id][:1]
            found = QueuedThread(self.thread_id, user_of(first[0]) if first else "", turn.created_at, turn.language)
        came = sorted(zip(self.mail, self.since, strict=True), key=lambda one: one[0].id)
        for message, since in came:
            if message.kind == NOTE:  # it starts nothing
                continue
            found = found or queued_by_mail(self.thread_id, message.user, since, message.text)
            found = found.joined(message.user, since, message.kind)
        return found


class ThreadStates(Part):
    """Reads over `threads`, `turns`, `steps` and `messages`."""

    def thread_state(self, thread_id: str) -> ThreadState:
        """The thread with its turns, their steps and its mail. Raises KeyError."""
        with self._reading() as db:
            found = _read(db, thread_id)
        return self._with_past(found)

    @writes
    def take_thread(self, thread_id: str) -> tuple[int, ThreadState]:
        """The thread's next token (see `raise_fence`), and the thread as it stands from then on. Raises KeyError.

        What an older worker wrote is in it: from the first statement on, its writes are refused. On Postgres each
        statement commits itself.
        """
        with self._guarded(None, statements=1 if self._database.dialect == "postgresql" else 5) as db:
            token = raise_token(db, thread_id)
            found = _read(db, thread_id)
        return token, self._with_past(found)

    def _with_past(self, found: ThreadState) -> ThreadState:
        """The same with the steps of the turns that ended. They do not change, so they are read separately. Otherwise,
        nobody could write in SQLite while those of a long thread are read."""
        if all(turn is found.open_turn for turn in found.turns):
            return found
        with self._reading() as db:
            past = list(db.execute(_past_query(), {"thread": found.thread_id}))
        steps: dict[str, list[Step]] = {turn.id: [] for turn in found.turns}
        for turn_id, body in past:
            steps[turn_id].append(load_step(body))
        read = {turn_id: found.steps.get(turn_id) or tuple(mine) for turn_id, mine in steps.items()}
        return replace(found, steps=read)


def _read(db: Connection, thread_id: str) -> ThreadState:
    """The thread with the steps of its open turn alone."""
    thread = db.execute(_thread_query(), {"thread": thread_id}).first()
    if thread is None:
        raise KeyError(thread_id)
    turns: dict[str, TurnRow] = {}
    steps: dict[str, list[Step]] = {}
    for row in db.execute(_turns_query(), {"thread": thread_id}):
        if row.id not in turns:
            turns[row.id], steps[row.id] = turn_row(row), []
        if row.body is not None:
            steps[row.id].append(load_step(row.body))
    mail = unread_messages(db, thread_id)
    subjects = {WORKSPACE, thread.channel, *(message.user for message, _ in mail)}
    preferences = preferences_of(db, thread.team, subjects)
    return ThreadState(
        thread_id=thread_id,
        node_id=thread.node_id,
        is_exported=bool(thread.exported_bytes),
        has_files=bool(thread.has_files),
        is_talk=not thread.channel.startswith("D") and not thread.is_for_us,
        sent=int(thread.sent),
        unshown=int(thread.unshown),
        turns=tuple(turns.values()),
        steps={turn_id: tuple(found) for turn_id, found in steps.items()},
        mail=tuple(message for message, _ in mail),
        since=tuple(since for _, since in mail),
        preferences=preferences,
    )


@cache
def _thread_query() -> Any:
    threads, files, outbox = t.threads.c, t.thread_files.c, t.outbox.c
    sent = select(func.count()).select_from(t.outbox).where(outbox.thread_id == threads.id, outbox.status == "sent")
    unshown = select(func.count()).select_from(t.outbox).where(outbox.thread_id == threads.id, *UNSHOWN)
    has_files = select(files.id).where(files.thread_id == threads.id).exists()
    query = select(
        threads.node_id,
        threads.exported_bytes,
        threads.channel,
        threads.team,
        sent.scalar_subquery().label("sent"),
        unshown.scalar_subquery().label("unshown"),
        has_files.label("has_files"),
        is_root_for_us().label("is_for_us"),
    )
    return query.where(threads.id == bindparam("thread"))


@cache
def _turns_query() -> Any:
    """All turns of a thread, with the steps of the open one."""
    mine = and_(t.steps.c.turn_id == t.turns.c.id, t.OPEN)
    query = select(*t.turns.c, t.steps.c.body).outerjoin(t.steps, mine)
    return query.where(t.turns.c.thread_id == bindparam("thread")).order_by(t.turns.c.number, t.steps.c.seq)


@cache
def _past_query() -> Any:
    """The steps of the turns of a thread that ended."""
    query = select(t.steps.c.turn_id, t.steps.c.body).join(t.turns, t.turns.c.id == t.steps.c.turn_id)
    query = query.where(t.turns.c.thread_id == bindparam("thread"), t.turns.c.status.not_in(_OPEN))
    return query.order_by(t.turns.c.number, t.steps.c.seq)
