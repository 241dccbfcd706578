"""Reports whose code is run once more: which one is next, and its outcome.

due ──> ended ──> shown     after the report: run, then the badge under it is drawn again
before ─────────> shown     before the report: its turn runs it, and posts the badge with the report

A process that takes a report up raises its number of tries. Only the newest try may write its outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from sqlalchemy import null, select, update

from core.clean_room import WAITING, CleanRoom, CleanRoomOrder
from core.store import tables as t
from core.store.part import Part, is_free, now, storable, writes
from core.values import Language, Lease


@dataclass(frozen=True, slots=True)
class ClaimedCheck:
    """A report that is to be checked, or whose badge is to be drawn: then it has an `outcome`."""

    turn_id: str
    thread_id: str
    language: Language
    tries: int
    order: CleanRoomOrder
    outcome: CleanRoom | None
    created_at: datetime


class CleanRooms(Part):
    """The columns of table `reports` that begin with `clean_room`."""

    @writes
    def claim_clean_room(self, node_id: str, stale: datetime) -> ClaimedCheck | None:
        """Take up the oldest report that nobody is checking; None when there is none.

        A claim that was made before `stale` no longer counts. A turn that still runs is left alone: its report may not
        be posted yet.
        """
        c = t.reports.c
        query = select(t.reports, t.turns.c.thread_id, t.turns.c.language).join(t.turns)
        query = query.where(t.TO_CHECK, t.turns.c.status == "done", is_free(c.clean_room_at, stale))
        with self._reading() as db:
            row = db.execute(query.order_by(c.created_at).limit(1)).first()
        if row is None:
            return None
        mine = (c.turn_id == row.turn_id) & (c.clean_room_tries == row.clean_room_tries)
        taken = {"clean_room_node": node_id, "clean_room_at": now(), "clean_room_tries": row.clean_room_tries + 1}
        with self._writing() as db:
            if db.execute(update(t.reports).where(mine, t.TO_CHECK).values(**taken)).rowcount != 1:
                return None
        return ClaimedCheck(
            row.turn_id,
            row.thread_id,
            row.language,
            row.clean_room_tries + 1,
            _order(row.clean_room),
            _outcome(row.clean_room_outcome),
            row.created_at,
        )

    @writes
    def begin_clean_room(self, lease: Lease, turn_id: str) -> int:
        """The turn itself is about to check its report; returns which try this is, from 1; 0 when it is gone."""
        c = t.reports.c
        query = update(t.reports).where(c.turn_id == turn_id).values(clean_room_tries=c.clean_room_tries + 1)
        with self._writing(lease, turn_id) as db:
            return int(db.execute(query.returning(c.clean_room_tries)).scalar() or 0)

    @writes
    def end_clean_room(self, turn_id: str, tries: int, outcome: CleanRoom, *, shown: bool) -> bool:
        """Store the outcome of a try, and whether people see it. False once a newer try began, or the report is
        gone."""
        c = t.reports.c
        values: dict[str, Any] = {
            "clean_room_outcome": storable(outcome.model_dump(mode="json")),
            "clean_room_state": "shown" if shown else "ended",
        }
        if shown:  # nobody needs it any more
            values["clean_room"] = null()
        query = update(t.reports).where(c.turn_id == turn_id, c.clean_room_tries == tries).values(**values)
        with self._writing() as db:
            return db.execute(query).rowcount == 1

    @writes
    def free_clean_rooms(self, node_id: str) -> None:
        """A node starts again: the reports that it had taken up may be taken up again."""
        c = t.reports.c
        query = update(t.reports).where(t.TO_CHECK, c.clean_room_node == node_id).values(clean_room_at=None)
        with self._writing() as db:
            db.execute(query)

    def clean_room_is_wanted(self, turn_id: str, tries: int) -> bool:
        """Whether this try is still the newest one of a report that is still there."""
        c = t.reports.c
        query = select(c.turn_id).where(c.turn_id == turn_id, c.clean_room_tries == tries)
        with self._reading() as db:
            return db.execute(query).first() is not None

    def clean_room(self, turn_id: str) -> CleanRoom | None:
        """The outcome of running a turn's code again; None if nobody runs it again."""
        c = t.reports.c
        with self._reading() as db:
            row = db.execute(select(c.clean_room_state, c.clean_room_outcome).where(c.turn_id == turn_id)).first()
        if row is None or row.clean_room_state is None:
            return None
        return _outcome(row.clean_room_outcome) or WAITING


def _outcome(value: Any) -> CleanRoom | None:
    """A stored outcome; None for none, and for one that a newer version wrote and this one cannot read."""
    try:
        return None if value is None else CleanRoom.model_validate(value, extra="allow")
    except ValidationError:
        return None


def _order(value: Any) -> CleanRoomOrder:
    return CleanRoomOrder.model_validate(value, extra="allow")
