"""Turns and their steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from core.rows import Appended, Spent, TurnRow
from core.steps import Questioned, Replied, Step, dump_step, load_step
from core.store import tables as t
from core.store.messages import has_unread, mark_read
from core.store.part import Part, contents_in, holds, insert_under, lease_lost, now, storable, writes
from core.store.spending import add_call
from core.values import Language, Lease, TurnStatus

_QUESTIONED = Questioned.model_fields["kind"].default
_ENDED: tuple[TurnStatus, ...] = ("done", "stopped", "failed")


class Turns(Part):
    """Tables `turns` and `steps`. Steps are only ever appended."""

    @writes
    def open_turn(self, lease: Lease, language: Language, model: str) -> TurnRow:
        """Begin the thread's next turn. Raises IntegrityError while the thread has a running or waiting one."""
        with self._writing(lease) as db:
            last = db.execute(select(func.max(t.turns.c.number)).where(t.turns.c.thread_id == lease.thread_id)).scalar()
            number = (last or 0) + 1
            values = {
                "id": f"{lease.thread_id}/t{number}",
                "thread_id": lease.thread_id,
                "number": number,
                "status": "running",
                "language": language,
                "model": storable(model),
                "created_at": now(),
            }
            return turn_row(db.execute(t.turns.insert().values(**values).returning(*t.turns.c)).one())

    def current_turn(self, thread_id: str) -> TurnRow | None:
        """The thread's running or waiting turn, if there is one."""
        return open_turn_of(self.turns(thread_id))

    def turns(self, thread_id: str) -> list[TurnRow]:
        """All turns of a thread, oldest first."""
        query = select(t.turns).where(t.turns.c.thread_id == thread_id).order_by(t.turns.c.number)
        with self._reading() as db:
            return [turn_row(row) for row in db.execute(query)]

    def turn(self, turn_id: str) -> TurnRow | None:
        """The turn with this id."""
        with self._reading() as db:
            row = db.execute(select(t.turns).where(t.turns.c.id == turn_id)).first()
        return None if row is None else turn_row(row)

    @writes
    def set_turn_status(self, lease: Lease, turn_id: str, status: TurnStatus) -> None:
        """Change a turn's status. A status that ends it sets its end time."""
        ended = now() if status in _ENDED else None
        query = update(t.turns).where(t.turns.c.id == turn_id, holds(lease)).values(status=status, ended_at=ended)
        with self._one_write(lease, turn_id) as db:
            if db.execute(query).rowcount != 1:
                raise lease_lost(lease)

    @writes
    def reopen_turn(self, lease: Lease, turn_id: str, message_id: int, step: Step, *, model: str) -> TurnRow:
        """Let a turn that ended go on with this model. The message that asked for it is read and becomes the step."""
        with self._writing(lease, turn_id) as db:
            mark_read(db, lease, turn_id, [message_id])
            self._append(db, turn_id, [step])
            values = {"status": "running", "ended_at": None, "model": storable(model)}
            query = update(t.turns).where(t.turns.c.id == turn_id).values(**values)
            return turn_row(db.execute(query.returning(*t.turns.c)).one())

    @writes
    def take_mail(self, lease: Lease, turn_id: str, message_ids: Sequence[int], steps: Sequence[Step]) -> None:
        """Mark messages as read by a turn and append the steps that they became: both or neither.

        With the first step, a waiting turn runs again: a worker that dies right now leaves it to the next one.
        """
        with self._writing(lease, turn_id) as db:
            if message_ids:
                mark_read(db, lease, turn_id, message_ids)
            if steps:
                self._append(db, turn_id, steps)
                waiting = (t.turns.c.id == turn_id) & (t.turns.c.status == "waiting")
                db.execute(update(t.turns).where(waiting).values(status="running"))

    @writes
    def append_step(
        self, lease: Lease, turn_id: str, step: Step, *, spent: Spent | None = None, user: str = ""
    ) -> Appended:
        """Add a step to a turn.

        `spent` is what the model call behind the step took for `user`. Both are stored, or neither.
        """
        next_seq = select(func.coalesce(func.max(t.steps.c.seq) + 1, 0)).where(t.steps.c.turn_id == turn_id)
        row = {**_columns(turn_id, step), "seq": next_seq.scalar_subquery()}
        query = insert_under(lease, t.steps, **row).returning(t.steps.c.seq, has_unread(lease.thread_id))
        with self._one_write(lease, turn_id) as db:
            added = db.execute(query).first()
            if added is None:
                raise lease_lost(lease)
            if spent is not None:
                model = step.model if isinstance(step, Replied) else ""
                add_call(db, lease.thread_id, spent, turn_id=turn_id, user=user, model=model)
            self._refer(db, lease.thread_id, contents_in(row["body"]))
            return Appended(*added)

    def thread_steps(self, thread_id: str) -> dict[str, list[Step]]:
        """The steps of all turns of a thread, by the id of the turn, the oldest turn first."""
        query = select(t.turns.c.id, t.steps.c.body).outerjoin(t.steps).where(t.turns.c.thread_id == thread_id)
        found: dict[str, list[Step]] = {}
        with self._reading() as db:
            for turn_id, body in db.execute(query.order_by(t.turns.c.number, t.steps.c.seq)):
                steps = found.setdefault(turn_id, [])
                if body is not None:
                    steps.append(load_step(body))
        return found

    def overdue_questions(self, at: float) -> list[str]:
        """The turns that wait for a person, by id, whose last question counted until a moment before `at`.

        `at` is in seconds since 1970. Answers that are not read yet are not looked at.
        """
        until = t.steps.c.body["until"].as_float()
        asked = t.steps.alias()
        last = select(func.max(asked.c.seq)).where(asked.c.turn_id == t.turns.c.id, asked.c.kind == _QUESTIONED)
        query = select(t.turns.c.id).join(t.steps, t.steps.c.turn_id == t.turns.c.id)
        query = query.where(t.OPEN, t.turns.c.status == "waiting", t.steps.c.kind == _QUESTIONED)
        query = query.where(t.steps.c.seq == last.scalar_subquery(), until < at)
        with self._reading() as db:
            return sorted(db.execute(query).scalars())

    def progress_mark(self, thread_id: str) -> str:
        """A text that changes with every step that is stored for the thread's open turn, and every message sent."""
        steps = select(func.count()).select_from(t.steps).where(t.steps.c.turn_id == t.turns.c.id)
        is_sent = (t.outbox.c.thread_id == thread_id) & (t.outbox.c.status == "sent")
        sent = select(func.count()).select_from(t.outbox).where(is_sent)
        query = select(t.turns.c.id, steps.scalar_subquery(), sent.scalar_subquery())
        query = query.where(t.OPEN, t.turns.c.thread_id == thread_id)
        with self._reading() as db:
            found = db.execute(query).first()
        return f"{thread_id}/new" if found is None else ":".join(str(part) for part in found)

    def steps(self, turn_id: str) -> list[Step]:
        """The steps of a turn in order. One that this version cannot read is an `UnknownStep`."""
        query = select(t.steps.c.body).where(t.steps.c.turn_id == turn_id).order_by(t.steps.c.seq)
        with self._reading() as db:
            return [load_step(body) for body in db.execute(query).scalars()]

    def _append(self, db: Connection, turn_id: str, steps: Sequence[Step]) -> None:
        last = db.execute(select(func.max(t.steps.c.seq)).where(t.steps.c.turn_id == turn_id)).scalar()
        first = 0 if last is None else int(last) + 1
        rows = [{**_columns(turn_id, step), "seq": seq} for seq, step in enumerate(steps, first)]
        db.execute(t.steps.insert(), rows)
        self._refer(db, turn_id.rpartition("/")[0], contents_in([row["body"] for row in rows]))


def open_turn_of(turns: Sequence[TurnRow]) -> TurnRow | None:
    """The running or waiting one among the turns of a thread, if there is one."""
    return next((turn for turn in reversed(turns) if turn.status in ("running", "waiting")), None)


def turn_row(row: Row[Any]) -> TurnRow:
    """A row of `turns` as it is handed out."""
    return TurnRow(**dict(row._mapping))


def _columns(turn_id: str, step: Step) -> dict[str, Any]:
    body = storable(dump_step(step))
    return {"turn_id": turn_id, "kind": body["kind"], "body": body, "created_at": now()}
