"""The outbox: what was or is being sent to Slack, by deterministic key.

begin ──> sending ──> sent          Slack has it; files that it does not show for long become "dropped"
             └──────> unsent        Slack does not have it for certain; the next begin sends it without a look
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from core.rows import OutboxRow
from core.store import tables as t
from core.store.part import Part, now, storable, writes
from core.values import Lease

CARD_SLOT = "card"
"""A turn's progress card is in the outbox under "{turn id}:card"."""

_SHARED_FILES = "files.completeUploadExternal"


class Outbox(Part):
    """Table `outbox`. Workers pass their lease; the bot holds none and passes None."""

    @writes
    def outbox_begin(
        self, lease: Lease | None, key: str, method: str, payload: Mapping[str, Any], *, thread_id: str | None = None
    ) -> OutboxRow:
        """Store what is about to be sent, or find what was stored under this key before (then it is not `fresh`).

        A row that is known to be unsent is taken up with the new payload, and is fresh again. Without a lease, the
        `thread_id` is needed. Raises ValueError when there is neither.
        """
        thread = lease.thread_id if lease is not None else thread_id
        if thread is None:
            raise ValueError("an outbox row needs a lease or a thread id")
        stored = storable(dict(payload))
        with self._writing(lease) as db:
            if (made := self._made(db, key, thread, method, stored)) is not None:
                return _outbox(made, fresh=True)
            row = db.execute(select(t.outbox).where(t.outbox.c.key == key)).one()
            if row.status != "unsent":
                return _outbox(row)
            again = update(t.outbox).where(t.outbox.c.key == key).values(status="sending", payload=stored)
            return _outbox(db.execute(again.returning(t.outbox)).one(), fresh=True)

    def _made(self, db: Connection, key: str, thread: str, method: str, payload: Any) -> Row[Any] | None:
        """The new row; None when there is one with this key."""
        insert = postgresql.insert if self._database.dialect == "postgresql" else sqlite.insert
        others = t.outbox.alias()
        newest = select(func.max(others.c.ts)).where(others.c.thread_id == thread).scalar_subquery()
        values = {"status": "sending", "response": {}, "created_at": now(), "after_ts": newest}
        query = insert(t.outbox).values(key=key, thread_id=thread, method=method, payload=payload, **values)
        return db.execute(query.on_conflict_do_nothing().returning(t.outbox)).first()

    @writes
    def outbox_note(self, lease: Lease | None, key: str, response: Mapping[str, Any]) -> None:
        """Store how far it came (the ids of uploaded files, how far a lost post was looked for); the status stays."""
        with self._writing(lease) as db:
            db.execute(update(t.outbox).where(t.outbox.c.key == key).values(response=storable(dict(response))))

    @writes
    def outbox_done(self, lease: Lease | None, key: str, ts: str, response: Mapping[str, Any]) -> None:
        """Slack has it. Store its ts ("" when Slack gives none yet) and its reply; what was sent need not be kept."""
        with self._writing(lease) as db:
            values = {"status": "sent", "ts": ts, "response": storable(dict(response)), "sent_at": now(), "payload": {}}
            db.execute(update(t.outbox).where(t.outbox.c.key == key).values(**values))

    @writes
    def outbox_unsent(self, lease: Lease | None, key: str, error: str) -> None:
        """Slack does not have it: the call was refused or never made. `error` says why, for who reads the table."""
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

    def outbox_known(self, thread_id: str) -> frozenset[str]:
        """The ts of all messages of a thread that rows are known to have sent."""
        o = t.outbox.c
        with self._reading() as db:
            return frozenset(db.execute(select(o.ts).where(o.thread_id == thread_id, o.ts > "")).scalars())

    def outbox_unshown(self, thread_id: str) -> list[OutboxRow]:
        """The files of a thread that Slack took and that nobody has seen there yet, oldest first."""
        o = t.outbox.c
        taken = select(t.outbox).where(o.thread_id == thread_id, o.method == _SHARED_FILES)
        taken = taken.where(o.status == "sent", o.ts == "").order_by(o.sent_at)
        with self._reading() as db:
            return [_outbox(row) for row in db.execute(taken)]


def _outbox(row: Row[Any], *, fresh: bool = False) -> OutboxRow:
    return OutboxRow(**row._mapping, fresh=fresh)
