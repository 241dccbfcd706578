"""Reports: how turns ended for the people in the thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from core.rows import ReportRow
from core.store import tables as t
from core.store.part import (
    Part,
    guard,
    insert_under,
    lease_values,
    now,
    parameters,
    reference_values,
    references_if,
    storable,
    writes,
)
from core.values import Lease, StoredFile


class Reports(Part):
    """Table `reports`."""

    @writes
    def save_report(self, lease: Lease, turn_id: str, markdown: str, files: Sequence[StoredFile]) -> None:
        """Store a turn's report. The first one stays: saving again, after a crash, changes nothing."""
        values = {
            "turn_id": turn_id,
            "markdown": storable(markdown),
            "files": storable([file.model_dump(mode="json") for file in files]),
            "created_at": now(),
        }
        contents = {file.sha256 for file in files}
        in_one = self._database.dialect == "postgresql"
        values |= lease_values(lease) | (reference_values(lease.thread_id, contents) if in_one else {})
        with self._guarded(lease, turn_id, statements=1 if in_one else 2) as db:
            if db.execute(_save_query(self._database.dialect), values).first() is None:
                guard(db, lease)
            elif not in_one:
                self._refer(db, lease.thread_id, contents)

    def report(self, turn_id: str) -> ReportRow | None:
        """The report of a turn, once there is one."""
        with self._reading() as db:
            row = db.execute(select(t.reports).where(t.reports.c.turn_id == turn_id)).first()
        if row is None:
            return None
        files = tuple(StoredFile.model_validate(file, extra="allow") for file in row.files)
        return ReportRow(row.turn_id, row.markdown, files, row.created_at)


@cache
def _save_query(dialect: str) -> Any:
    """SQL: add a report unless the turn has one; on Postgres with its references, which follow in SQLite."""
    insert = postgresql.insert(t.reports) if dialect == "postgresql" else sqlite.insert(t.reports)
    query = insert_under(insert, parameters(t.reports, ("turn_id", "markdown", "files", "created_at")))
    query = query.on_conflict_do_nothing().returning(t.reports.c.turn_id)
    if dialect != "postgresql":
        return query
    saved = query.cte("saved")
    return select(saved).add_cte(references_if(select(saved.c.turn_id).exists()))
