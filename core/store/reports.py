"""Reports: how turns ended for the people in the thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite

from core.clean_room import CleanRoomOrder
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
        values = {
            "turn_id": turn_id,
            "markdown": storable(markdown),
            "files": storable([file.model_dump(mode="json") for file in files]),
            "created_at": now(),
            "clean_room": None if clean_room is None else storable(clean_room.model_dump(mode="json")),
            "clean_room_state": None if clean_room is None else clean_room.state,
        }
        contents = {file.sha256 for file in files}
        in_one = self._database.dialect == "postgresql"
        values |= lease_values(lease) | (reference_values(lease.thread_id, contents) if in_one else {})
        with self._guarded(lease, turn_id, statements=1 if in_one else 2) as db:
            if db.execute(_save_query(self._database.dialect), values).first() is None:
                guard(db, lease)
            elif not in_one:
                self._refer(db, lease.thread_id, contents)

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


@cache
def _save_query(dialect: str) -> Any:
    """SQL: add a report unless the turn has one; on Postgres with its references, which follow in SQLite."""
    insert = postgresql.insert(t.reports) if dialect == "postgresql" else sqlite.insert(t.reports)
    query = insert_under(insert, parameters(t.reports, _COLUMNS))
    query = query.on_conflict_do_nothing().returning(t.reports.c.turn_id)
    if dialect != "postgresql":
        return query
    saved = query.cte("saved")
    return select(saved).add_cte(references_if(select(saved.c.turn_id).exists()))
