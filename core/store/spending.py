"""Tokens and estimated cost of model calls, by thread, person and time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from core.rows import Spent
from core.store import tables as t
from core.store.part import Part, insert_under, lease_lost, lease_values, now, parameters, storable, writes
from core.values import Lease, ThreadKey


class Spending(Part):
    """Table `model_calls`. The row of a call that was answered is written together with its step (`turns.py`)."""

    def spent(
        self,
        *,
        thread_id: str | None = None,
        user: str | None = None,
        since: datetime | None = None,
        team: str | None = None,
    ) -> Spent:
        """The sum over the model calls that fit everything that is given: a thread, a person, a time, a workspace."""
        c = t.model_calls.c
        query = select(
            func.coalesce(func.sum(c.prompt_tokens), 0),
            func.coalesce(func.sum(c.cached_tokens), 0),
            func.coalesce(func.sum(c.completion_tokens), 0),
            func.sum(c.cost_micros),
            func.count(),
        )
        wanted = ((c.thread_id, thread_id), (c.user, user))
        query = query.where(*(column == value for column, value in wanted if value is not None))
        if since is not None:
            query = query.where(c.created_at >= since)
        if team is not None:
            query = query.where(c.thread_id.startswith(f"{team}:", autoescape=True))
        with self._reading() as db:
            prompt, cached, completion, cost, calls = db.execute(query).one()
        return Spent(int(prompt), int(cached), int(completion), None if cost is None else int(cost), int(calls))

    @writes
    def note_left_call(self, lease: Lease, turn_id: str, spent: Spent, *, user: str, model: str) -> None:
        """Note a model call that was left before its reply had come, so that it has no step. Raises LeaseLost."""
        query = insert_under(t.model_calls.insert(), parameters(t.model_calls, CALL_COLUMNS, "_call"))
        query = query.returning(t.model_calls.c.id)
        row = call_row(lease.thread_id, spent, turn_id=turn_id, user=user, model=model)
        values = lease_values(lease) | {f"{name}_call": value for name, value in row.items()}
        with self._guarded(lease, turn_id) as db:
            if db.execute(query, values).first() is None:
                raise lease_lost(lease)


CALL_COLUMNS = tuple(column.name for column in t.model_calls.columns if column.name != "id")


def call_row(thread_id: str, spent: Spent, **about: str) -> dict[str, Any]:
    """The row of one model call. `about` is its `turn_id`, `user` and `model`."""
    return {
        **storable(about),
        "thread_id": thread_id,
        "channel": ThreadKey.parse(thread_id).channel,
        "prompt_tokens": spent.prompt_tokens,
        "cached_tokens": spent.cached_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost_micros": spent.cost_micros,
        "created_at": now(),
    }


def start_of_day() -> datetime:
    """When this day began, by UTC. Budgets per day start again then."""
    return now().replace(hour=0, minute=0, second=0, microsecond=0)
