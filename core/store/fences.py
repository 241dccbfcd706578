"""Fencing tokens: a number per thread that only rises. The Store raises it, so an emptied Redis cannot lower it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from core.store import tables as t
from core.store.part import Part, lease_lost, writes
from core.values import Lease


class Fences(Part):
    """One column of table `threads`."""

    @writes
    def raise_fence(self, thread_id: str) -> int:
        """The thread's next token. From now on, writes with an older one are refused. Raises KeyError."""
        with self._guarded(None) as db:
            return raise_token(db, thread_id)

    def fence(self, thread_id: str) -> int:
        """The newest token that was given out; 0 for a thread that was never leased."""
        with self._reading() as db:
            return int(db.execute(select(t.threads.c.fence).where(t.threads.c.id == thread_id)).scalar() or 0)

    def fences(self, thread_ids: Collection[str]) -> dict[str, int]:
        """The newest tokens of these threads, in one read; a thread that is gone is left out."""
        query = select(t.threads.c.id, t.threads.c.fence).where(t.threads.c.id.in_(list(thread_ids)))
        with self._reading() as db:
            return {thread_id: int(fence) for thread_id, fence in db.execute(query)} if thread_ids else {}

    def check(self, lease: Lease) -> None:
        """Raise LeaseLost if a newer token was given out. Call it right before an action that is not a write to the
        Store."""
        if self.fence(lease.thread_id) > lease.token:
            raise lease_lost(lease)


def raise_token(db: Connection, thread_id: str) -> int:
    """The thread's next token, in this transaction. Raises KeyError."""
    token = db.execute(_raise_query(), {"thread": thread_id}).scalar_one_or_none()
    if token is None:
        raise KeyError(thread_id)
    return int(token)


@cache
def _raise_query() -> Any:
    query = update(t.threads).where(t.threads.c.id == bindparam("thread")).values(fence=t.threads.c.fence + 1)
    return query.returning(t.threads.c.fence)
