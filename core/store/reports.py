"""Reports: how turns ended for the people in the thread."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from core.rows import ReportRow
from core.store import tables as t
from core.store.part import Part, now, storable, writes
from core.values import Lease, StoredFile


class Reports(Part):
    """Table `reports`."""

    @writes
    def save_report(self, lease: Lease, turn_id: str, markdown: str, files: Sequence[StoredFile]) -> None:
        """Store a turn's report. The first one stays: saving again, after a crash, changes nothing."""
        with self._writing(lease, turn_id) as db:
            self._insert_once(
                db,
                t.reports,
                turn_id=turn_id,
                markdown=storable(markdown),
                files=storable([file.model_dump(mode="json") for file in files]),
                created_at=now(),
            )
            self._refer(db, lease.thread_id, {file.sha256 for file in files})

    def report(self, turn_id: str) -> ReportRow | None:
        """The report of a turn, once there is one."""
        with self._reading() as db:
            row = db.execute(select(t.reports).where(t.reports.c.turn_id == turn_id)).first()
        if row is None:
            return None
        files = tuple(StoredFile.model_validate(file, extra="allow") for file in row.files)
        return ReportRow(row.turn_id, row.markdown, files, row.created_at)
