"""Turns and their steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Row,
    bindparam,
    column,
    func,
    null,
    select,
    table,
    union_all,
    update,
)

from core.rows import Appended, Spent, StoredMessage, TurnRow
from core.steps import Questioned, Replied, Step, dump_step, load_step
from core.store import tables as t
from core.store.messages import HAS_UNREAD, mark_read
from core.store.part import (
    HOLDS,
    Part,
    contents_in,
    insert_under,
    lease_lost,
    lease_values,
    now,
    parameters,
    reference_values,
    references_if,
    storable,
    writes,
)
from core.store.spending import CALL_COLUMNS, call_row
from core.values import Language, Lease, TurnStatus

_Rows = Sequence[dict[str, Any]]

_QUESTIONED = Questioned.model_fields["kind"].default
_ENDED: tuple[TurnStatus, ...] = ("done", "stopped", "failed")
_TURN_COLUMNS = ("id", "thread_id", "number", "status", "language", "model", "created_at")
_TURN_FIELDS = tuple(each.name for each in fields(TurnRow))
_STEP_COLUMNS = ("turn_id", "kind", "body", "created_at")


class Turns(Part):
    """Tables `turns` and `steps`. Steps are only ever appended."""

    @writes
    def open_turn(self, lease: Lease, language: Language, model: str) -> TurnRow:
        """Begin the thread's next turn. Raises IntegrityError while the thread has a running or waiting one."""
        with self._writing(lease) as db:
            last = db.execute(select(func.max(t.turns.c.number)).where(t.turns.c.thread_id == lease.thread_id)).scalar()
            row = new_turn(lease.thread_id, (last or 0) + 1, language, model)
            _open(db, row)
            return row

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
    def set_turn_status(self, lease: Lease, turn_id: str, status: TurnStatus) -> bool:
        """Change a turn's status. A status that ends it sets its end time. Returns whether the thread has mail."""
        ended = now() if status in _ENDED else None
        query = update(t.turns).where(t.turns.c.id == turn_id, HOLDS).values(status=status, ended_at=ended)
        with self._guarded(lease, turn_id) as db:
            given = lease_values(lease) | {"mail_thread": lease.thread_id}
            has_mail = db.execute(query.returning(HAS_UNREAD), given).scalar_one_or_none()
            if has_mail is None:
                raise lease_lost(lease)
        return bool(has_mail)

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
    def take_mail(
        self,
        lease: Lease,
        turn_id: str,
        message_ids: Sequence[int],
        steps: Sequence[Step],
        *,
        opens: TurnRow | None = None,
        node_id: str | None = None,
        as_read: Sequence[StoredMessage] = (),
    ) -> None:
        """Mark messages as read by a turn and append the steps that they became: both or neither.

        With the first step, a waiting turn runs again: a worker that dies right now leaves it to the next one. A turn
        that `opens` with this is stored first, and so is the `node_id` of a thread that is new and has no session yet.
        Raises IntegrityError when the thread has another open turn, and MailChanged when people have deleted or changed
        one of these messages, which it has `as_read`.
        """
        with self._writing(lease, turn_id, **({} if node_id is None else {"node_id": node_id})) as db:
            if opens is not None:
                _open(db, opens)
            if message_ids:
                mark_read(db, lease, turn_id, message_ids, as_read)
            if steps:
                self._append(db, turn_id, steps, first=None if opens is None else 0)
            if steps and opens is None:
                waiting = (t.turns.c.id == turn_id) & (t.turns.c.status == "waiting")
                db.execute(update(t.turns).where(waiting).values(status="running"))

    @writes
    def append_step(
        self,
        lease: Lease,
        turn_id: str,
        step: Step,
        *,
        then: Sequence[Step] = (),
        spent: Spent | None = None,
        user: str = "",
    ) -> Appended:
        """Add a step to a turn, and the steps that follow from it: `then` is stored only if the thread has no mail.

        `spent` is what the model call behind the step took for `user`. Both are stored, or neither.
        """
        rows = [_columns(turn_id, each) for each in (step, *then)]
        contents = contents_in([row["body"] for row in rows])
        model = step.model if isinstance(step, Replied) else ""
        call = None if spent is None else call_row(lease.thread_id, spent, turn_id=turn_id, user=user, model=model)
        values = _append_values(lease, rows)
        if self._database.dialect == "postgresql":
            query = _append_with_query(len(rows), call is not None, bool(contents))
            values |= {f"{name}_call": value for name, value in (call or {}).items()}
            values |= reference_values(lease.thread_id, contents) if contents else {}
        else:
            query = _append_query(len(rows), step_writes)
            values |= {"call": _call_values(call), "contents": sorted(contents) or None}
        with self._guarded(lease, turn_id) as db:
            added = list(db.execute(query, values))
            if not added:
                raise lease_lost(lease)
        return Appended(min(seq for seq, _ in added), any(has_mail for _, has_mail in added), len(added))

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
        """The turns that wait for a person, by id, whose last question expired before `at`.

        `at` is in seconds since 1970. Answers that are not read yet are not considered.
        """
        until = t.steps.c.body["until"].as_float()
        asked = t.steps.alias()
        last = select(func.max(asked.c.seq)).where(asked.c.turn_id == t.turns.c.id, asked.c.kind == _QUESTIONED)
        query = select(t.turns.c.id).join(t.steps, t.steps.c.turn_id == t.turns.c.id)
        query = query.where(t.OPEN, t.turns.c.status == "waiting", t.steps.c.kind == _QUESTIONED)
        query = query.where(t.steps.c.seq == last.scalar_subquery(), until < at)
        with self._reading() as db:
            return sorted(db.execute(query).scalars())

    def steps(self, turn_id: str) -> list[Step]:
        """The steps of a turn in order. One that this version cannot read is an `UnknownStep`."""
        query = select(t.steps.c.body).where(t.steps.c.turn_id == turn_id).order_by(t.steps.c.seq)
        with self._reading() as db:
            return [load_step(body) for body in db.execute(query).scalars()]

    def _append(self, db: Connection, turn_id: str, steps: Sequence[Step], first: int | None = None) -> None:
        if first is None:
            last = db.execute(select(func.max(t.steps.c.seq)).where(t.steps.c.turn_id == turn_id)).scalar()
            first = 0 if last is None else int(last) + 1
        rows = [{**_columns(turn_id, step), "seq": seq} for seq, step in enumerate(steps, first)]
        db.execute(t.steps.insert(), rows)
        self._refer(db, turn_id.rpartition("/")[0], contents_in([row["body"] for row in rows]))


def new_turn(thread_id: str, number: int, language: Language, model: str) -> TurnRow:
    """A turn that is about to run, as its row will be."""
    return TurnRow(
        id=f"{thread_id}/t{number}",
        thread_id=thread_id,
        number=number,
        status="running",
        language=language,
        model=storable(model),
        created_at=now(),
        ended_at=None,
    )


def open_turn_of(turns: Sequence[TurnRow]) -> TurnRow | None:
    """The running or waiting one among the turns of a thread, if there is one."""
    return next((turn for turn in reversed(turns) if turn.status in ("running", "waiting")), None)


def turn_row(row: Row[Any]) -> TurnRow:
    """A row of `turns`, perhaps with more columns, as it is handed out."""
    return TurnRow(*(getattr(row, name) for name in _TURN_FIELDS))


def _columns(turn_id: str, step: Step) -> dict[str, Any]:
    body = storable(dump_step(step))
    return {"turn_id": turn_id, "kind": body["kind"], "body": body, "created_at": now()}


def _open(db: Connection, row: TurnRow) -> None:
    db.execute(t.turns.insert(), {name: getattr(row, name) for name in _TURN_COLUMNS})


# --- appending steps: the statements are made once, for each number of steps


step_writes = table(
    "step_writes",
    *(column(name, t.steps.c[name].type) for name in (*_STEP_COLUMNS, "seq")),
    column("call", JSON(none_as_null=True)),
    column("contents", JSON(none_as_null=True)),
)
"""A view of SQLite whose trigger (migration 0032) adds the row of a step, that of a model call and references."""


@cache
def _append_query(count: int, into: Any = t.steps) -> Any:
    """SQL: add a step, and `count - 1` more if the thread has no unread mail. Gives `seq` and `has_mail` for each.

    Added to `step_writes`, the first one takes the parameters `call` and `contents` along.
    """
    last = select(func.coalesce(func.max(t.steps.c.seq) + 1, 0)).where(t.steps.c.turn_id == bindparam("turn_id_0"))
    beside = ("call", "contents") if into is step_writes else ()
    rows = []
    for number in range(count):
        columns: dict[str, ColumnElement[Any]] = parameters(t.steps, _STEP_COLUMNS, f"_{number}")
        taken = [bindparam(name, type_=into.c[name].type) if number == 0 else null() for name in beside]
        row = select(*columns.values(), (last.scalar_subquery() + number).label("seq"), *taken).where(HOLDS)
        rows.append(row if number == 0 else row.where(~HAS_UNREAD))
    steps = rows[0] if count == 1 else union_all(*rows)
    return into.insert().from_select([*_STEP_COLUMNS, "seq", *beside], steps).returning(into.c.seq, HAS_UNREAD)


@cache
def _append_with_query(count: int, calls: bool, references: bool) -> Any:
    """SQL of Postgres: the same, and what goes with it."""
    if not calls and not references:
        return _append_query(count)
    added = _append_query(count).cte("added")
    is_added = select(added.c.seq).exists()
    more = []
    if calls:
        columns = parameters(t.model_calls, CALL_COLUMNS, "_call")
        more.append(insert_under(t.model_calls.insert(), columns, is_added).cte("call"))
    if references:
        more.append(references_if(is_added))
    return select(added).add_cte(*more)


def _call_values(call: dict[str, Any] | None) -> dict[str, Any] | None:
    """The row of a model call for `step_writes`, which has its turn, its thread and its time already."""
    return None if call is None else {name: value for name, value in call.items() if name not in _OF_THE_STEP}


_OF_THE_STEP = ("turn_id", "thread_id", "created_at")


def _append_values(lease: Lease, rows: _Rows) -> dict[str, Any]:
    values = {f"{name}_{number}": value for number, row in enumerate(rows) for name, value in row.items()}
    return values | lease_values(lease) | {"mail_thread": lease.thread_id}
