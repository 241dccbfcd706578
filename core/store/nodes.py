"""Where a thread's session is: the node that holds it, its exported sessions, and the cell that was begun last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Column, Connection, select, update

from core.rows import ExportedBytes, ExportedRow
from core.store import tables as t
from core.store.part import GUARD, Part, lease_lost, lease_values, writes
from core.values import Lease


class Nodes(Part):
    """Some columns of table `threads`, and `packed_totals`, the sums of one of them."""

    @writes
    def set_thread_node(self, lease: Lease, node_id: str | None) -> None:
        """Store which node holds the thread's session; the bytes of its exported sessions count there."""
        c = t.threads.c
        with self._writing(lease) as db:
            before = db.execute(select(c.node_id, c.exported_bytes).where(c.id == lease.thread_id)).one()
            db.execute(update(t.threads).where(c.id == lease.thread_id).values(node_id=node_id))
            if node_id != before.node_id:
                moved = {_node(before.node_id): -before.exported_bytes, _node(node_id): before.exported_bytes}
                self._add_to_totals(db, moved)

    def thread_node(self, thread_id: str) -> str | None:
        """The node that holds the thread's session; None when none does."""
        found: str | None = self._get(thread_id, t.threads.c.node_id)
        return found

    def thread_nodes(self, thread_ids: Sequence[str]) -> dict[str, str]:
        """The node that holds each thread's session, for those that have one; the ids must fit into one statement."""
        query = select(t.threads.c.id, t.threads.c.node_id).where(t.threads.c.id.in_(thread_ids))
        with self._reading() as db:
            return {str(row[0]): str(row[1]) for row in db.execute(query) if row[1] is not None}

    @writes
    def set_exported_session(self, lease: Lease, exported: ExportedRow, contents: Iterable[str] = ()) -> None:
        """Store which exported session counts, as of the thread's last cell, and what of the file store it names."""
        c = t.threads.c
        values = {"exported_session": exported.name, "exported_before": exported.before}
        with self._writing(lease) as db:
            row = db.execute(select(c.node_id, c.team, c.exported_bytes).where(c.id == lease.thread_id)).one()
            self._refer(db, lease.thread_id, contents)
            query = update(t.threads).where(c.id == lease.thread_id)
            db.execute(query.values(**values, exported_bytes=exported.bytes))
            more = exported.bytes - row.exported_bytes
            self._add_to_totals(db, {_node(row.node_id): more, _team(row.team): more})

    def exported_session(self, thread_id: str) -> ExportedRow | None:
        """The thread's exported sessions; None when there is none."""
        c = t.threads.c
        with self._reading() as db:
            query = select(c.exported_session, c.exported_before, c.exported_bytes).where(c.id == thread_id)
            row = db.execute(query).first()
        return None if row is None or row[0] is None else ExportedRow(*row)

    def exported_bytes(self, thread_id: str) -> ExportedBytes:
        """The size of exported sessions: of this thread, at its node, of its team. Raises KeyError."""
        c, totals = t.threads.c, t.packed_totals.c
        with self._reading() as db:
            row = db.execute(select(c.node_id, c.team, c.exported_bytes).where(c.id == thread_id)).first()
            if row is None:
                raise KeyError(thread_id)
            scopes = [_node(row.node_id), _team(row.team)]
            query = select(totals.scope, totals.bytes).where(totals.scope.in_(scopes))
            sums = {scope: int(size) for scope, size in db.execute(query)}
        return ExportedBytes(int(row.exported_bytes), *(sums.get(scope, 0) for scope in scopes))

    @writes
    def begin_cell(self, lease: Lease, cell_id: str) -> None:
        """Store that this cell of the thread is about to run."""
        with self._guarded(lease) as db:
            if db.execute(GUARD.values(begun_cell=cell_id), lease_values(lease)).rowcount != 1:
                raise lease_lost(lease)

    def begun_cell(self, thread_id: str) -> str | None:
        """The cell that began last; None before the first."""
        found: str | None = self._get(thread_id, t.threads.c.begun_cell)
        return found

    def _add_to_totals(self, db: Connection, changes: dict[str, int]) -> None:
        """Add to the sums, always in the same order: two writers never wait for each other."""
        for scope, more in sorted(changes.items()):
            if more:
                query = self._insert(t.packed_totals).values(scope=scope, bytes=more)
                total = t.packed_totals.c.bytes + query.excluded.bytes
                db.execute(query.on_conflict_do_update(index_elements=["scope"], set_={"bytes": total}))

    def _get(self, thread_id: str, column: Column[Any]) -> Any:
        with self._reading() as db:
            return db.execute(select(column).where(t.threads.c.id == thread_id)).scalar()


def forget_exported(db: Connection, thread_id: str) -> None:
    """Note that the thread has no exported session any more, and lower the sums. Its row must be locked before."""
    c, totals = t.threads.c, t.packed_totals.c
    row = db.execute(select(c.node_id, c.team, c.exported_bytes).where(c.id == thread_id)).one()
    for scope in sorted((_node(row.node_id), _team(row.team))):  # in the order of `_add_to_totals`
        less = totals.bytes - row.exported_bytes
        db.execute(update(t.packed_totals).where(totals.scope == scope).values(bytes=less))
    forgotten = {"exported_session": None, "exported_before": None, "exported_bytes": 0}
    db.execute(update(t.threads).where(c.id == thread_id).values(**forgotten))


def _node(node_id: str | None) -> str:
    return f"node:{node_id or ''}"


def _team(team: str) -> str:
    return f"team:{team}"
