"""Reports that are made again and again, and the times at which one was due.

The first process that sees a due time writes one row of `schedule_runs`; the same write moves the schedule on. A
process that takes up a run raises its number of tries, and only the newest try may write its outcome.

due ──> ended ──> told
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select, update

from core.schedules.values import Figure, RunOutcome, ScheduleOrder, State
from core.store import tables as t
from core.store.part import Part, is_free, now, storable, writes
from core.values import Lease, StoredFile

_FILES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule. `said` is the sentence that ordered it, `shown` the figures that people saw last."""

    id: str
    thread_id: str
    turn_id: str
    owner: str
    said: str
    order: ScheduleOrder
    state: State
    reason: str
    next_at: datetime
    shown: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that was taken up: with an `outcome` it only has to be told."""

    id: int
    schedule: ScheduleRow
    due_at: datetime
    tries: int
    outcome: RunOutcome | None


class Schedules(Part):
    """Tables `schedules` and `schedule_runs`."""

    @writes
    def add_schedule(
        self,
        lease: Lease,
        turn_id: str,
        *,
        owner: str,
        said: str,
        order: ScheduleOrder,
        next_at: datetime,
        shown: Sequence[Figure],
        schedule_id: str,
    ) -> None:
        """Store a schedule of the lease's thread once."""
        with self._writing(lease, turn_id) as db:
            self._insert_once(
                db,
                t.schedules,
                id=schedule_id,
                thread_id=lease.thread_id,
                turn_id=turn_id,
                owner=storable(owner),
                said=storable(said),
                order=storable(order.model_dump(mode="json")),
                state="active",
                reason="",
                next_at=next_at,
                shown=[figure.model_dump(mode="json") for figure in shown],
                created_at=now(),
            )
            self._refer(db, lease.thread_id, {file.sha256 for file in order.inputs})

    def schedules(self, thread_id: str = "", owner: str = "") -> list[ScheduleRow]:
        """The schedules of a thread or a person, or all, the oldest first; with those that were stopped."""
        c = t.schedules.c
        query = select(t.schedules).order_by(c.created_at, c.id)
        if thread_id:
            query = query.where(c.thread_id == thread_id)
        elif owner:
            query = query.where(c.owner == owner)
        with self._reading() as db:
            return [_schedule(row) for row in db.execute(query)]

    @writes
    def set_schedule_state(
        self, schedule_id: str, state: State, reason: str = "", next_at: datetime | None = None
    ) -> bool:
        """Pause, resume or stop a schedule; False when it is that already, or gone. A stopped one stays so."""
        c = t.schedules.c
        values: dict[str, Any] = {"state": state, "reason": storable(reason)}
        if next_at is not None:
            values["next_at"] = next_at
        query = update(t.schedules).where(c.id == schedule_id, c.state != state, c.state != "stopped").values(**values)
        with self._writing() as db:
            return db.execute(query).rowcount == 1

    # --- due times

    def due_schedules(self, until: datetime) -> list[ScheduleRow]:
        """The active schedules whose time has come."""
        query = select(t.schedules).where(t.ACTIVE, t.schedules.c.next_at <= until).order_by(t.schedules.c.next_at)
        with self._reading() as db:
            return [_schedule(row) for row in db.execute(query.limit(100))]

    @writes
    def begin_run(self, schedule_id: str, seen: datetime, next_at: datetime, due_at: datetime) -> bool:
        """Make the run of this due time and move the schedule on from the time that was `seen`; False when somebody
        else did."""
        c = t.schedules.c
        query = update(t.schedules).where(c.id == schedule_id, t.ACTIVE, c.next_at == seen).values(next_at=next_at)
        with self._writing() as db:
            if db.execute(query).rowcount != 1:
                return False
            run = self._insert(t.schedule_runs).values(schedule_id=schedule_id, due_at=due_at, state="due")
            db.execute(run.on_conflict_do_nothing())
            return True

    @writes
    def move_schedule(self, schedule_id: str, seen: datetime, next_at: datetime) -> None:
        """Give an active schedule another next time than the one that was `seen`, unless somebody else did."""
        c = t.schedules.c
        query = update(t.schedules).where(c.id == schedule_id, t.ACTIVE, c.next_at == seen).values(next_at=next_at)
        with self._writing() as db:
            db.execute(query)

    @writes
    def claim_run(self, node_id: str, stale: datetime, tried_at: datetime | None = None) -> ClaimedRun | None:
        """Take up the oldest run that nobody works on, or whose claim is not from after `stale`; None when there is
        none. `tried_at` is the moment of this try, if it is not now.

        A run waits until the earlier ones of its schedule are over: figures are compared with those that people saw.
        """
        c = t.schedule_runs.c
        free = is_free(c.taken_at, stale, tried_at)
        earlier = t.schedule_runs.alias()
        is_open = earlier.c.state.in_(("due", "ended"))
        waits = select(earlier.c.id).where(earlier.c.schedule_id == c.schedule_id, is_open, earlier.c.due_at < c.due_at)
        query = select(t.schedule_runs).where(t.TO_RUN, free, ~waits.exists()).order_by(c.due_at, c.id).limit(1)
        with self._reading() as db:
            run = db.execute(query).first()
            if run is None:
                return None
            row = db.execute(select(t.schedules).where(t.schedules.c.id == run.schedule_id)).one()
        mine = (c.id == run.id) & (c.tries == run.tries)
        taken = {"node_id": node_id, "taken_at": now(), "tries": run.tries + 1}
        with self._writing() as db:
            if db.execute(update(t.schedule_runs).where(mine, t.TO_RUN).values(**taken)).rowcount != 1:
                return None
        return ClaimedRun(run.id, _schedule(row), run.due_at, run.tries + 1, _outcome(run.outcome))

    @writes
    def end_run(self, run_id: int, tries: int, outcome: RunOutcome, *, told: bool) -> bool:
        """Store the outcome of a try, and whether people know; False once a newer try began, or the run is gone.

        With `told`, the figures of a run that worked are those that people saw last.
        """
        c = t.schedule_runs.c
        values = {"state": "told" if told else "ended", "outcome": storable(outcome.model_dump(mode="json"))}
        query = update(t.schedule_runs).where(c.id == run_id, c.tries == tries).values(**values)
        with self._writing() as db:
            schedule_id = db.execute(query.returning(c.schedule_id)).scalar()
            if schedule_id is None:
                return False
            if told and not outcome.why:
                figures = [figure.model_dump(mode="json") for figure in outcome.figures]
                mine = t.schedules.c.id == schedule_id
                db.execute(update(t.schedules).where(mine).values(shown=storable(figures)))
            return True

    @writes
    def free_runs(self, node_id: str) -> None:
        """A node starts again: the runs that it had taken up may be taken up again."""
        c = t.schedule_runs.c
        query = update(t.schedule_runs).where(t.TO_RUN, c.node_id == node_id).values(taken_at=None)
        with self._writing() as db:
            db.execute(query)

    @writes
    def postpone_run(self, run_id: int, tries: int, taken_at: datetime) -> None:
        """Have a run wait: its claim counts as made at this time, so it is free once that is stale."""
        c = t.schedule_runs.c
        query = update(t.schedule_runs).where(t.TO_RUN, c.id == run_id, c.tries == tries).values(taken_at=taken_at)
        with self._writing() as db:
            db.execute(query)

    def run_is_wanted(self, run_id: int, tries: int) -> bool:
        """Whether this try is still the newest one of a run whose schedule is active."""
        c = t.schedule_runs.c
        query = select(c.id).join(t.schedules).where(c.id == run_id, c.tries == tries, t.schedules.c.state == "active")
        with self._reading() as db:
            return db.execute(query).first() is not None

    # --- new data

    def channel_files(self, team: str, channel: str) -> Iterator[StoredFile]:
        """The files that people gave in threads of a channel, the newest first; read in parts as they are asked for."""
        f = t.thread_files.c
        query = select(f.name, f.mimetype, f.size, f.sha256).join(t.threads, t.threads.c.id == f.thread_id)
        query = query.where(t.threads.c.team == team, t.threads.c.channel == channel)
        query = query.order_by(f.created_at.desc(), f.id.desc()).limit(_FILES_AT_ONCE)
        for start in count(0, _FILES_AT_ONCE):
            with self._reading() as db:
                rows = db.execute(query.offset(start)).all()
            yield from (StoredFile(**dict(row._mapping)) for row in rows)
            if len(rows) < _FILES_AT_ONCE:
                return

    def count_schedules(self, owner: str) -> int:
        """How many schedules a person owns that were not stopped."""
        c = t.schedules.c
        query = select(func.count()).select_from(t.schedules).where(c.owner == owner, c.state != "stopped")
        with self._reading() as db:
            return int(db.execute(query).scalar_one())


def _schedule(row: Any) -> ScheduleRow:
    return ScheduleRow(
        id=row.id,
        thread_id=row.thread_id,
        turn_id=row.turn_id,
        owner=row.owner,
        said=row.said,
        order=ScheduleOrder.model_validate(row.order, extra="allow"),
        state=row.state,
        reason=row.reason,
        next_at=row.next_at,
        shown=tuple(Figure.model_validate(each, extra="allow") for each in row.shown),
    )


def _outcome(value: Any) -> RunOutcome | None:
    try:
        return None if value is None else RunOutcome.model_validate(value, extra="allow")
    except ValidationError:
        return None
