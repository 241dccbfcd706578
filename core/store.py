"""The Store: the truth about messages, turns, steps, files, reports and what was sent to Slack.

Every write for a turn carries the thread's lease; its token is checked in the same transaction, so a worker that lost
the lease without noticing cannot write. The Store raises the tokens itself: a Redis that was emptied cannot lower them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, and_, func, or_, select, union, update
from sqlalchemy.dialects import postgresql, sqlite

from core import tables as t
from core.database import Database, StoreUnreachable
from core.errors import LeaseLost
from core.line import Waiting, read_line
from core.rows import OutboxRow, Recorded, ReportRow, Spent, StoredMessage, TurnRow
from core.telemetry import get_logger
from core.values import FileRef, IncomingMessage, Language, Lease, StoredFile, ThreadKey, TurnStatus

__all__ = [
    "LeaseLost",
    "OutboxRow",
    "Recorded",
    "ReportRow",
    "Spent",
    "Store",
    "StoreUnreachable",
    "StoredMessage",
    "TurnRow",
    "start_of_day",
]

log = get_logger(__name__)

_AGAIN_S = 0.5
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ENDED: tuple[TurnStatus, ...] = ("done", "stopped", "failed")

CARD_SLOT = "card"
"""A turn's progress card is in the outbox under "{turn id}:card"."""


def start_of_day() -> datetime:
    """When this day began, by UTC: budgets per day begin anew then."""
    return _now().replace(hour=0, minute=0, second=0, microsecond=0)


class Store:
    """Safe to share between threads of one process. A fork may use it if it was closed before the fork."""

    def __init__(self, url: str) -> None:
        """`url` is an SQLAlchemy URL of SQLite (a file; its folder is made) or Postgres."""
        self._db = Database(url)

    def undone(self) -> AbstractContextManager[None]:
        """Nothing of what is done inside stays; for one thread alone. Raises StoreUnreachable."""
        return self._db.undone()

    def migrate(self, patience_s: float = 0.0) -> None:
        """Bring the database to this version's schema; safe when several processes do it at once.

        One that is away, as after a restart of the machine, is waited for so long. Raises StoreUnreachable.
        """
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self._db.migrate()
            except StoreUnreachable as error:
                why = str(error).partition("\n")[0]
                if time.monotonic() >= deadline:
                    raise StoreUnreachable(f"the database does not answer ({why}). Check DATABASE_URL.") from error
                log.info("waiting_for_database", error=why)
                time.sleep(_AGAIN_S)
            else:
                return

    def close(self) -> None:
        """Close the connections; the next call opens one again."""
        self._db.close()

    # --- intake

    def record_message(self, message: IncomingMessage, author: str = "", *, quiet: bool = False) -> Recorded:
        """Keep a message once. A twin (same team, channel, ts) adds what it knows more: files, the mention, an author.

        `quiet` messages are kept but are no mail: nobody has to read them. A twin that is not quiet makes them mail.
        """
        key = message.thread
        with self._db.writing() as db:
            self._insert_once(
                db,
                t.threads,
                id=key.id,
                team=key.team,
                channel=key.channel,
                root_ts=key.root_ts,
                created_at=_now(),
            )
            new = self._insert_once(
                db,
                t.messages,
                thread_id=key.id,
                received_at=_now(),
                author=_clean(author),
                quiet=quiet,
                **_clean(message.model_dump(mode="json", exclude={"root_ts"})),
            )
            where = (
                (t.messages.c.team == message.team)
                & (t.messages.c.channel == message.channel)
                & (t.messages.c.ts == message.ts)
            )
            kept = db.execute(select(t.messages).where(where).with_for_update()).one()
            if new:
                return Recorded(key.id, new=True, to_ring=not quiet)
            merged = {
                "author": kept.author or _clean(author),
                "mention": kept.mention or message.mention,
                "text": kept.text or _clean(message.text),
                "files": _merge_files(kept.files, message.files),
                "files_known": kept.files_known or message.files_known,
                "quiet": kept.quiet and quiet,
            }
            db.execute(update(t.messages).where(where).values(**merged))
            return Recorded(kept.thread_id, new=False, to_ring=kept.quiet and not merged["quiet"])

    def knows_thread(self, key: ThreadKey) -> bool:
        """Whether somebody brought the bot into this thread before."""
        with self._db.reading() as db:
            return db.execute(select(t.threads.c.id).where(t.threads.c.id == key.id)).first() is not None

    # --- mail

    def unread(self, thread_id: str) -> list[StoredMessage]:
        """Messages that no turn has read, in the order they were written."""
        query = (
            select(t.messages, t.threads.c.root_ts)
            .join(t.threads)
            .where(_is_mail(), t.messages.c.thread_id == thread_id)
        )
        with self._db.reading() as db:
            rows = db.execute(query).all()
        return sorted((_message(row) for row in rows), key=lambda message: (_moment(message.ts), message.id))

    def stop_asked(self, thread_id: str) -> bool:
        """Whether somebody asked the thread's turn to stop and no turn has read that yet."""
        stop = t.messages.c.kind == "stop"
        query = select(t.messages.c.id).where(_is_mail(), t.messages.c.thread_id == thread_id, stop).limit(1)
        with self._db.reading() as db:
            return db.execute(query).first() is not None

    def thread_at_work(self, team: str, channel: str, ts: str) -> str | None:
        """The thread whose open turn this message belongs to: its card, or what a person said to it."""
        here = t.turns.c.thread_id.startswith(f"{team}:{channel}:", autoescape=True)
        cards = select(t.turns.c.id + f":{CARD_SLOT}").where(t.OPEN, here)
        card = select(t.outbox.c.thread_id).where(t.outbox.c.key.in_(cards), t.outbox.c.ts == ts)
        said = select(t.messages.c.thread_id).outerjoin(t.turns, t.turns.c.id == t.messages.c.turn_id)
        said = said.where(t.messages.c.team == team, t.messages.c.channel == channel, t.messages.c.ts == ts)
        said = said.where(or_(t.turns.c.status.in_(("running", "waiting")), _is_mail()))
        with self._db.reading() as db:
            return db.execute(union(card, said)).scalar()

    def threads_needing_a_wake(self) -> list[str]:
        """Threads with unread mail or with a turn that has work to do. Whether somebody is at it, the lease tells."""
        mail = select(t.messages.c.thread_id).where(_is_mail())
        work = select(t.turns.c.thread_id).where(t.OPEN, t.turns.c.status == "running")
        with self._db.reading() as db:
            return sorted(db.execute(union(mail, work)).scalars())

    def line(self, thread_id: str | None = None) -> list[Waiting]:
        """Threads that need a wake with who asked and since when, the one that waits longest first; or one of them."""
        with self._db.reading() as db:
            return read_line(db, thread_id)

    # --- leases

    def raise_fence(self, thread_id: str) -> int:
        """The next fencing token of a thread. From now on, writes with an older one are refused. Raises KeyError."""
        query = update(t.threads).where(t.threads.c.id == thread_id).values(fence=t.threads.c.fence + 1)
        with self._db.writing() as db:
            token = db.execute(query.returning(t.threads.c.fence)).scalar_one_or_none()
        if token is None:
            raise KeyError(thread_id)
        return int(token)

    def fence(self, thread_id: str) -> int:
        """The newest fencing token that was given out; 0 for a thread that was never leased."""
        with self._db.reading() as db:
            return int(db.execute(select(t.threads.c.fence).where(t.threads.c.id == thread_id)).scalar() or 0)

    def check(self, lease: Lease) -> None:
        """Raise LeaseLost when a newer token was given out. Asked right before what is no write to the Store."""
        if self.fence(lease.thread_id) > lease.token:
            raise LeaseLost(f"token {lease.token} of {lease.thread_id} is no longer the newest")

    # --- turns

    def open_turn(self, lease: Lease, language: Language, model: str) -> TurnRow:
        """Begin the next turn of the lease's thread. A thread has at most one turn that is running or waiting."""
        with self._db.writing() as db:
            _guard(db, lease)
            last = db.execute(select(func.max(t.turns.c.number)).where(t.turns.c.thread_id == lease.thread_id)).scalar()
            number = (last or 0) + 1
            values = {
                "id": f"{lease.thread_id}/t{number}",
                "thread_id": lease.thread_id,
                "number": number,
                "status": "running",
                "language": language,
                "model": _clean(model),
                "created_at": _now(),
            }
            return _turn(db.execute(t.turns.insert().values(**values).returning(*t.turns.c)).one())

    def current_turn(self, thread_id: str) -> TurnRow | None:
        """The turn that is running or waiting, if there is one."""
        return next((turn for turn in reversed(self.turns(thread_id)) if turn.status in ("running", "waiting")), None)

    def turns(self, thread_id: str) -> list[TurnRow]:
        """All turns of a thread, oldest first."""
        query = select(t.turns).where(t.turns.c.thread_id == thread_id).order_by(t.turns.c.number)
        with self._db.reading() as db:
            return [_turn(row) for row in db.execute(query)]

    def turn(self, turn_id: str) -> TurnRow | None:
        """A turn by its id."""
        with self._db.reading() as db:
            row = db.execute(select(t.turns).where(t.turns.c.id == turn_id)).first()
        return None if row is None else _turn(row)

    def set_turn_status(self, lease: Lease, turn_id: str, status: TurnStatus) -> None:
        """Move a turn on; ending it sets its end time."""
        with self._db.writing() as db:
            _guard(db, lease, turn_id)
            ended = _now() if status in _ENDED else None
            db.execute(update(t.turns).where(t.turns.c.id == turn_id).values(status=status, ended_at=ended))

    def reopen_turn(
        self, lease: Lease, turn_id: str, message_id: int, step: Mapping[str, Any], *, model: str
    ) -> TurnRow:
        """Let a turn that ended go on, with this model: the message that wished it is read and becomes the step."""
        with self._db.writing() as db:
            _guard(db, lease, turn_id)
            values = {"status": "running", "ended_at": None, "model": _clean(model)}
            mine = (t.messages.c.thread_id == lease.thread_id) & (t.messages.c.id == message_id)
            db.execute(update(t.messages).where(mine).values(turn_id=turn_id))
            _append(db, turn_id, step)
            query = update(t.turns).where(t.turns.c.id == turn_id).values(**values)
            return _turn(db.execute(query.returning(*t.turns.c)).one())

    def take_mail(
        self, lease: Lease, turn_id: str, message_ids: Sequence[int], steps: Sequence[Mapping[str, Any]]
    ) -> None:
        """Mark messages as read by a turn and append the steps that they became: both or neither.

        A turn that waits for a person runs again with the first step: whoever dies now leaves it to the next worker.
        """
        with self._db.writing() as db:
            _guard(db, lease, turn_id)
            mine = (t.messages.c.thread_id == lease.thread_id) & t.messages.c.id.in_(message_ids)
            db.execute(update(t.messages).where(mine).values(turn_id=turn_id))
            for step in steps:
                _append(db, turn_id, step)
            if steps:
                waiting = (t.turns.c.id == turn_id) & (t.turns.c.status == "waiting")
                db.execute(update(t.turns).where(waiting).values(status="running"))

    def append_step(
        self, lease: Lease, turn_id: str, step: Mapping[str, Any], *, spent: Spent | None = None, user: str = ""
    ) -> int:
        """Add a step to a turn; returns its place, counted from 0. `spent` is what the call of a model behind it took
        for `user`: kept together with the step, or neither."""
        with self._db.writing() as db:
            _guard(db, lease, turn_id)
            if spent is not None:
                _spend(db, lease.thread_id, spent, turn_id=turn_id, user=user, model=str(step.get("model") or ""))
            return _append(db, turn_id, step)

    def steps(self, turn_id: str) -> list[dict[str, Any]]:
        """The steps of a turn in order, as they were given."""
        query = select(t.steps.c.body).where(t.steps.c.turn_id == turn_id).order_by(t.steps.c.seq)
        with self._db.reading() as db:
            return list(db.execute(query).scalars())

    def spent(
        self,
        *,
        thread_id: str | None = None,
        user: str | None = None,
        since: datetime | None = None,
    ) -> Spent:
        """The sum over the calls of models that fit everything that is given: a thread, a person, a time."""
        c = t.model_calls.c
        query = select(
            func.coalesce(func.sum(c.prompt_tokens), 0),
            func.coalesce(func.sum(c.cached_tokens), 0),
            func.coalesce(func.sum(c.completion_tokens), 0),
            func.sum(c.cost_micros),
            func.count(),
        )
        wanted = ((c.thread_id, thread_id), (c.user, user))
        query = query.where(*(column == value for column, value in wanted if value is not None))
        if since is not None:
            query = query.where(c.created_at >= since)
        with self._db.reading() as db:
            prompt, cached, completion, cost, calls = db.execute(query).one()
        return Spent(int(prompt), int(cached), int(completion), None if cost is None else int(cost), int(calls))

    # --- files and reports

    def add_thread_file(self, lease: Lease, file: StoredFile) -> None:
        """Note an input of the thread, after those that came before. Noting it again changes nothing."""
        with self._db.writing() as db:
            _guard(db, lease)
            values = _clean(file.model_dump(mode="json"))
            self._insert_once(db, t.thread_files, thread_id=lease.thread_id, created_at=_now(), **values)

    def thread_files(self, thread_id: str) -> list[StoredFile]:
        """The thread's inputs in the order they came: what a new session must be given again."""
        query = select(t.thread_files).where(t.thread_files.c.thread_id == thread_id).order_by(t.thread_files.c.id)
        with self._db.reading() as db:
            rows = db.execute(query).all()
        return [StoredFile(name=r.name, mimetype=r.mimetype, size=r.size, sha256=r.sha256) for r in rows]

    def save_report(self, lease: Lease, turn_id: str, markdown: str, files: Sequence[StoredFile]) -> None:
        """Keep a turn's report. The first one stands: saving again, after a crash, changes nothing."""
        with self._db.writing() as db:
            _guard(db, lease, turn_id)
            self._insert_once(
                db,
                t.reports,
                turn_id=turn_id,
                markdown=_clean(markdown),
                files=_clean([file.model_dump(mode="json") for file in files]),
                created_at=_now(),
            )

    def report(self, turn_id: str) -> ReportRow | None:
        """The report of a turn, once there is one."""
        with self._db.reading() as db:
            row = db.execute(select(t.reports).where(t.reports.c.turn_id == turn_id)).first()
        if row is None:
            return None
        return ReportRow(row.turn_id, row.markdown, tuple(StoredFile(**file) for file in row.files), row.created_at)

    # --- outbox

    def outbox_begin(
        self, lease: Lease | None, key: str, method: str, payload: Mapping[str, Any], *, thread_id: str | None = None
    ) -> OutboxRow:
        """Say what is about to be sent to Slack, or find what was said under this key before.

        The bot holds no lease: it passes None and the `thread_id`.
        """
        thread = lease.thread_id if lease is not None else thread_id
        if thread is None:
            raise ValueError("an outbox row needs a lease or a thread id")
        with self._db.writing() as db:
            _guard(db, lease)
            new = self._insert_once(
                db,
                t.outbox,
                key=key,
                thread_id=thread,
                method=method,
                payload=_clean(dict(payload)),
                status="sending",
                response={},
                created_at=_now(),
            )
            return _outbox(db.execute(select(t.outbox).where(t.outbox.c.key == key)).one(), fresh=new)

    def outbox_note(self, lease: Lease | None, key: str, response: Mapping[str, Any]) -> None:
        """Keep what Slack said half-way (the ids of uploaded files); the row stays "sending"."""
        with self._db.writing() as db:
            _guard(db, lease)
            db.execute(update(t.outbox).where(t.outbox.c.key == key).values(response=_clean(dict(response))))

    def outbox_done(self, lease: Lease | None, key: str, ts: str, response: Mapping[str, Any]) -> None:
        """Slack has it: its ts ("" when Slack gives none) and its reply."""
        with self._db.writing() as db:
            _guard(db, lease)
            values = {"status": "sent", "ts": ts, "response": _clean(dict(response)), "sent_at": _now()}
            db.execute(update(t.outbox).where(t.outbox.c.key == key).values(**values))

    def outbox_get(self, key: str) -> OutboxRow | None:
        """The row of this key."""
        with self._db.reading() as db:
            row = db.execute(select(t.outbox).where(t.outbox.c.key == key)).first()
        return None if row is None else _outbox(row)

    # --- hosts

    def set_thread_host(self, lease: Lease, host_id: str | None) -> None:
        """Remember which host holds the thread's session."""
        with self._db.writing() as db:
            _guard(db, lease)
            db.execute(update(t.threads).where(t.threads.c.id == lease.thread_id).values(host_id=host_id))

    def thread_host(self, thread_id: str) -> str | None:
        """The host that holds the thread's session, if any ever did."""
        with self._db.reading() as db:
            return db.execute(select(t.threads.c.host_id).where(t.threads.c.id == thread_id)).scalar()

    def set_packed(self, lease: Lease, sha256: str) -> None:
        """Remember where in the file store the thread's session is kept, as of its last cell."""
        with self._db.writing() as db:
            _guard(db, lease)
            db.execute(update(t.threads).where(t.threads.c.id == lease.thread_id).values(packed=sha256))

    def packed(self, thread_id: str) -> str | None:
        """What `set_packed` remembered last."""
        with self._db.reading() as db:
            return db.execute(select(t.threads.c.packed).where(t.threads.c.id == thread_id)).scalar()

    def begin_cell(self, lease: Lease, cell_id: str) -> None:
        """Remember that this cell of the thread is about to run."""
        with self._db.writing() as db:
            _guard(db, lease)
            db.execute(update(t.threads).where(t.threads.c.id == lease.thread_id).values(begun_cell=cell_id))

    def begun_cell(self, thread_id: str) -> str | None:
        """The cell that `begin_cell` remembered last."""
        with self._db.reading() as db:
            return db.execute(select(t.threads.c.begun_cell).where(t.threads.c.id == thread_id)).scalar()

    def _insert_once(self, db: Connection, table: Table, **values: Any) -> bool:
        """Insert unless a row with the same key stands; True when it was inserted."""
        insert = postgresql.insert if self._db.dialect == "postgresql" else sqlite.insert
        query = insert(table).values(**values).on_conflict_do_nothing().returning(*table.primary_key)
        return db.execute(query).first() is not None


def _guard(db: Connection, lease: Lease | None, turn_id: str | None = None) -> None:
    """Refuse the transaction when a newer token was given out, or when the turn belongs to another thread."""
    if lease is None:
        return
    newer = t.threads.c.fence <= lease.token
    query = update(t.threads).where(t.threads.c.id == lease.thread_id, newer).values(fence=lease.token)
    if db.execute(query).rowcount != 1:
        raise LeaseLost(f"token {lease.token} of {lease.thread_id} is no longer the newest")
    if turn_id is not None and not turn_id.startswith(lease.thread_id + "/"):
        raise ValueError(f"turn {turn_id} is not of thread {lease.thread_id}")


def _append(db: Connection, turn_id: str, step: Mapping[str, Any]) -> int:
    last = db.execute(select(func.max(t.steps.c.seq)).where(t.steps.c.turn_id == turn_id)).scalar()
    seq = 0 if last is None else int(last) + 1
    values = {"turn_id": turn_id, "seq": seq, "kind": step["kind"], "body": _clean(dict(step)), "created_at": _now()}
    db.execute(t.steps.insert().values(**values))
    return seq


def _spend(db: Connection, thread_id: str, spent: Spent, **about: str) -> None:
    values = {
        **_clean(about),
        "thread_id": thread_id,
        "channel": ThreadKey.parse(thread_id).channel,
        "prompt_tokens": spent.prompt_tokens,
        "cached_tokens": spent.cached_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost_micros": spent.cost_micros,
        "created_at": _now(),
    }
    db.execute(t.model_calls.insert().values(**values))


def _is_mail() -> Any:
    return and_(t.UNREAD, t.messages.c.quiet.is_(False))


def _merge_files(kept: list[dict[str, Any]], more: Sequence[FileRef]) -> list[dict[str, Any]]:
    known = {file["id"] for file in kept}
    return [*kept, *(_clean(file.model_dump(mode="json")) for file in more if file.id not in known)]


def _moment(ts: str) -> tuple[int, int]:
    """Slack's "seconds.micros" as numbers: as text, ts of different widths sort wrongly."""
    seconds, _, micros = ts.partition(".")
    return int(seconds or 0), int(micros or 0)


def _now() -> datetime:
    return datetime.now(UTC)


def _clean(value: Any) -> Any:
    """The same value with what Postgres or UTF-8 cannot hold (NUL, lone surrogates) replaced by U+FFFD throughout."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _message(row: Row[Any]) -> StoredMessage:
    names = StoredMessage.model_fields
    return StoredMessage(**{name: value for name, value in row._mapping.items() if name in names})


def _turn(row: Row[Any]) -> TurnRow:
    return TurnRow(**dict(row._mapping))


def _outbox(row: Row[Any], *, fresh: bool = False) -> OutboxRow:
    values = dict(row._mapping)
    del values["sent_at"]
    return OutboxRow(**values, fresh=fresh)
