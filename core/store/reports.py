"""Reports: how turns ended for the people in the thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import CTE, select, update
from sqlalchemy.dialects import postgresql, sqlite

from core.clean_room import CleanRoomOrder
from core.rows import NewReport, ReportRow
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

_COLUMNS = ("turn_id", "markdown", "files", "created_at", "clean_room", "clean_room_state")


class Reports(Part):
    """Table `reports`."""

    @writes
    def save_report(
        self,
        lease: Lease,
        turn_id: str,
        markdown: str,
        files: Sequence[StoredFile],
        *,
        clean_room: CleanRoomOrder | None = None,
    ) -> None:
        """Store a turn's report. The first one stays: saving again, after a crash, changes nothing.

        With a `clean_room`, its code is to be run again (`core/store/clean_rooms.py`).
        """
        report = NewReport(turn_id, markdown, files, clean_room)
        dialect = self._database.dialect
        with self._guarded(lease, turn_id) as db:
            if db.execute(_save_query(dialect), report_values(lease, report, dialect)).first() is None:
                guard(db, lease)

    @writes
    def complete_report(self, lease: Lease, turn_id: str, markdown: str, files: Sequence[StoredFile]) -> None:
        """The text and the files of a report that was stored before its code was run again."""
        values = {
            "markdown": storable(markdown),
            "files": storable([file.model_dump(mode="json") for file in files]),
        }
        with self._writing(lease, turn_id) as db:
            db.execute(update(t.reports).where(t.reports.c.turn_id == turn_id).values(**values))
            self._refer(db, lease.thread_id, {file.sha256 for file in files})

    def report(self, turn_id: str) -> ReportRow | None:
        """The report of a turn, once there is one."""
        with self._reading() as db:
            row = db.execute(select(t.reports).where(t.reports.c.turn_id == turn_id)).first()
        if row is None:
            return None
        files = tuple(StoredFile.model_validate(file, extra="allow") for file in row.files)
        return ReportRow(row.turn_id, row.markdown, files, row.created_at)


def contents_of(report: NewReport) -> set[str]:
    """The hashes of its files."""
    return {file.sha256 for file in report.files}


def report_values(lease: Lease, report: NewReport, dialect: str) -> dict[str, Any]:
    """The parameters of a statement that stores a report under this lease; on Postgres with its references."""
    order = report.clean_room
    values = {
        "turn_id": report.turn_id,
        "markdown": storable(report.markdown),
        "files": storable([file.model_dump(mode="json") for file in report.files]),
        "created_at": now(),
        "clean_room": None if order is None else storable(order.model_dump(mode="json")),
        "clean_room_state": None if order is None else order.state,
    }
    references = reference_values(lease.thread_id, contents_of(report)) if dialect == "postgresql" else {}
    return {f"{name}_report": value for name, value in values.items()} | lease_values(lease) | references


def insert_report(dialect: str) -> Any:
    """SQL: add a report unless the turn has one, if the lease holds. Its parameters are `report_values`."""
    insert = postgresql.insert(t.reports) if dialect == "postgresql" else sqlite.insert(t.reports)
    query = insert_under(insert, parameters(t.reports, _COLUMNS, "_report"))
    return query.on_conflict_do_nothing().returning(t.reports.c.turn_id)


def report_in_one() -> tuple[CTE, CTE]:
    """SQL of Postgres, for use beside another write: the same with the report's references."""
    saved = insert_report("postgresql").cte("saved")
    return saved, references_if(select(saved.c.turn_id).exists())


@cache
def _save_query(dialect: str) -> Any:
    """SQL: add a report unless the turn has one, with its references: in SQLite a trigger adds them (0032)."""
    if dialect != "postgresql":
        return insert_report(dialect)
    saved, referred = report_in_one()
    return select(saved).add_cte(referred)
