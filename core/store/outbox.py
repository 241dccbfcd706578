"""The outbox: what was or is being sent to Slack, by deterministic key.

begin ──> sending ──> sent          Slack has it; files that it does not show for long become "dropped"
             └──────> unsent        Slack does not have it for certain; the next begin sends it without a look
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, func, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from core.rows import NewReport, OutboxRow, Sent
from core.store import tables as t
from core.store.part import HOLDS, Part, guard, insert_under, lease_values, now, parameters, storable, writes
from core.store.reports import insert_report, report_in_one, report_values
from core.values import Lease

CARD_SLOT = "card"
"""A turn's progress card is in the outbox under "{turn id}:card"."""

UNSHOWN = (t.outbox.c.method == "files.completeUploadExternal", t.outbox.c.status == "sent", t.outbox.c.ts == "")
"""SQL: files that Slack took and that nobody has seen in their thread yet."""


class Outbox(Part):
    """Table `outbox`. Workers pass their lease; the bot holds none and passes None."""

    @writes
    def outbox_begin(
        self,
        lease: Lease | None,
        key: str,
        method: str,
        payload: Mapping[str, Any],
        *,
        thread_id: str | None = None,
        response: Mapping[str, Any] | None = None,
        sent: Sequence[Sent] = (),
        report: NewReport | None = None,
    ) -> OutboxRow:
        """Store a message that is about to be sent, or find the row with this key (then it is not `fresh`).

        A row that is known to be unsent is taken up with the new payload, and is fresh again, for one of those who ask.
        `response` is a partial answer of Slack's, kept with a new row. In the same transaction, what was `sent` before
        is noted, and the `report` of a turn that ends is stored (as `save_report` does). Without a lease, the
        `thread_id` is needed. Raises ValueError when there is neither, or when a report comes without a lease.
        """
        thread = lease.thread_id if lease is not None else thread_id
        if thread is None:
            raise ValueError("an outbox row needs a lease or a thread id")
        if report is not None and lease is None:
            raise ValueError("a report is stored under a lease")
        values = {
            "key": key,
            "thread_id": thread,
            "method": method,
            "payload": storable(dict(payload)),
            "status": "sending",
            "response": storable(dict(response or {})),
            "created_at": now(),
        }
        # What goes with it is a part of the same statement on Postgres, and a statement of its own in SQLite.
        in_one = self._database.dialect == "postgresql" and lease is not None
        beside = _Beside(sent if in_one else (), report if in_one else None)
        apart = _Beside(() if in_one else sent, None if in_one else report)
        query = _begin_query(self._database.dialect, lease is not None, len(beside.sent), beside.report is not None)
        given = {f"{name}_new": value for name, value in values.items()} | _values_of(lease)
        for number, each in enumerate(beside.sent):
            given |= {f"{name}_{number}": value for name, value in _sent_values(each).items()}
        if lease is not None and beside.report is not None:
            given |= report_values(lease, beside.report, self._database.dialect)
        turn_id = None if report is None else report.turn_id
        with self._guarded(lease, turn_id, statements=1 + apart.statements) as db:
            self._note_sent(db, lease, apart.sent)
            if lease is not None and apart.report is not None:
                self._save_beside(db, lease, apart.report)
            made = db.execute(query, given).first()
            if made is None and lease is not None:
                guard(db, lease)
        if made is not None:
            return _outbox(made, fresh=True)
        mine = t.outbox.c.key == key
        names = ("status", "payload", "created_at", *(["response"] if response else []))
        again = (
            update(t.outbox).where(mine, t.outbox.c.status == "unsent").values({name: values[name] for name in names})
        )
        with self._writing(lease) as db:
            # Without a lease, several may take it up at the same moment. The condition holds for one of them.
            if (taken := db.execute(again.returning(t.outbox)).first()) is not None:
                return _outbox(taken, fresh=True)
            return _outbox(db.execute(select(t.outbox).where(mine)).one())

    def _save_beside(self, db: Connection, lease: Lease, report: NewReport) -> None:
        values = report_values(lease, report, self._database.dialect)
        if db.execute(_report_query(self._database.dialect), values).first() is None:
            guard(db, lease)

    @writes
    def outbox_take_up(self, row: OutboxRow) -> bool:
        """Begin a row anew that was begun long ago and came to no end; True for one of those who ask at that moment."""
        o = t.outbox.c
        as_seen = (o.key == row.key, o.status == "sending", o.created_at == row.created_at)
        with self._writing() as db:
            return db.execute(update(t.outbox).where(*as_seen).values(created_at=now())).rowcount == 1

    @writes
    def outbox_note(self, lease: Lease | None, key: str, response: Mapping[str, Any]) -> None:
        """Store a row's progress (the ids of uploaded files, how far a lost post was looked for). Its status stays."""
        with self._guarded(lease) as db:
            _change(db, lease, key, response=storable(dict(response)))

    @writes
    def outbox_done(self, lease: Lease | None, key: str, ts: str, response: Mapping[str, Any]) -> None:
        """Slack has it. Store its ts ("" when Slack gives none yet) and its reply; what was sent need not be kept."""
        self.outbox_sent(lease, [Sent(key, ts, response)])

    @writes
    def outbox_sent(self, lease: Lease | None, sent: Sequence[Sent]) -> None:
        """The same for several rows, in one transaction."""
        with self._guarded(lease, statements=len(sent)) as db:
            self._note_sent(db, lease, sent)

    def _note_sent(self, db: Connection, lease: Lease | None, sent: Sequence[Sent]) -> None:
        for each in sent:
            changed = db.execute(_sent_query(lease is not None), _sent_values(each) | _values_of(lease)).rowcount
            if lease is not None and changed != 1:
                guard(db, lease)

    @writes
    def outbox_unsent(self, lease: Lease | None, key: str, error: str) -> None:
        """Slack does not have it: the call was refused or never made. `error` says why, for people who read the
        table."""
        with self._writing(lease) as db:
            response = db.execute(select(t.outbox.c.response).where(t.outbox.c.key == key)).scalar() or {}
            values = {"status": "unsent", "response": {**response, "error": storable(error)}}
            db.execute(update(t.outbox).where(t.outbox.c.key == key).values(**values))

    @writes
    def outbox_dropped(self, lease: Lease | None, key: str) -> None:
        """Slack took these files and does not show them; the thread was told."""
        with self._writing(lease) as db:
            db.execute(update(t.outbox).where(t.outbox.c.key == key).values(status="dropped"))

    def outbox_get(self, key: str) -> OutboxRow | None:
        """The row of this key."""
        with self._reading() as db:
            row = db.execute(select(t.outbox).where(t.outbox.c.key == key)).first()
        return None if row is None else _outbox(row)

    def outbox_slot(self, thread_id: str, ts: str) -> str | None:
        """The key of the row that sent the message with this ts; None when none of the thread did."""
        o = t.outbox.c
        with self._reading() as db:
            return db.execute(select(o.key).where(o.thread_id == thread_id, o.ts == ts).limit(1)).scalar()

    def outbox_files(self, thread_id: str) -> dict[str, str]:
        """The files that Slack has for a thread, by their ids there, with the keys of the rows that sent them."""
        o = t.outbox.c
        sent = select(o.key, o.response).where(o.thread_id == thread_id, o.status == "sent")
        with self._reading() as db:
            rows = [(key, response or {}) for key, response in db.execute(sent)]
        return {str(file_id): key for key, response in rows for file_id in response.get("file_ids") or ()}

    def outbox_known(self, thread_id: str) -> frozenset[str]:
        """The ts of all messages of a thread that rows are known to have sent."""
        o = t.outbox.c
        with self._reading() as db:
            return frozenset(db.execute(select(o.ts).where(o.thread_id == thread_id, o.ts > "")).scalars())

    def outbox_unshown(self, thread_id: str) -> list[OutboxRow]:
        """The files of a thread that Slack took and that nobody has seen there yet, oldest first."""
        o = t.outbox.c
        taken = select(t.outbox).where(o.thread_id == thread_id, *UNSHOWN).order_by(o.sent_at)
        with self._reading() as db:
            return [_outbox(row) for row in db.execute(taken)]


class _Beside(NamedTuple):
    """What is written together with a new row."""

    sent: Sequence[Sent]
    report: NewReport | None

    @property
    def statements(self) -> int:
        return len(self.sent) + (0 if self.report is None else 1)


def _outbox(row: Row[Any], *, fresh: bool = False) -> OutboxRow:
    return OutboxRow(**row._mapping, fresh=fresh)


_NEW = ("key", "thread_id", "method", "payload", "status", "response", "created_at")


def _sent_values(sent: Sent) -> dict[str, Any]:
    """The parameters of `_sent_query`, without its suffix: the columns of a row that Slack has, and its key."""
    values = {"ts": sent.ts, "response": storable(dict(sent.response)), "sent_at": now(), "sent_key": sent.key}
    return {**values, "status": "sent", "payload": {}}


@cache
def _sent_query(is_leased: bool, suffix: str = "") -> Any:
    """SQL: note that Slack has a row."""
    columns = parameters(t.outbox, ("status", "ts", "response", "sent_at", "payload"), suffix)
    query = update(t.outbox).where(t.outbox.c.key == bindparam(f"sent_key{suffix}")).values(columns)
    return query.where(HOLDS) if is_leased else query


@cache
def _report_query(dialect: str) -> Any:
    return insert_report(dialect)


@cache
def _begin_query(dialect: str, is_leased: bool, noted: int, reports: bool) -> Any:
    """SQL: add a row that is about to be sent, unless there is one with this key. On Postgres, also note this many rows
    as sent, and store a report."""
    others = t.outbox.alias()
    newest = select(func.max(others.c.ts)).where(others.c.thread_id == bindparam("thread_id_new"))
    # A parameter that is called like a column would be set by the UPDATE, too.
    columns = {**parameters(t.outbox, _NEW, "_new"), "after_ts": newest.scalar_subquery()}
    insert = postgresql.insert(t.outbox) if dialect == "postgresql" else sqlite.insert(t.outbox)
    query = insert_under(insert, columns, HOLDS if is_leased else true())
    query = query.on_conflict_do_nothing().returning(t.outbox)
    for number in range(noted):
        query = query.add_cte(_sent_query(is_leased, f"_{number}").cte(f"noted_{number}"))
    return query.add_cte(*report_in_one()) if reports else query


def _change(db: Connection, lease: Lease | None, key: str, **values: Any) -> None:
    """Change a row. Raises LeaseLost."""
    query = update(t.outbox).where(t.outbox.c.key == key).values(**values)
    if lease is None:
        db.execute(query)
    elif db.execute(query.where(HOLDS), lease_values(lease)).rowcount != 1:
        guard(db, lease)


def _values_of(lease: Lease | None) -> dict[str, Any]:
    return {} if lease is None else lease_values(lease)
