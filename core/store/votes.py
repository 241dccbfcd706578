"""What people think of reports: one vote for each person and report; and turns that are examples to learn from."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from sqlalchemy import delete, select, update

from core.rows import Vote, VoteRow
from core.store import tables as t
from core.store.part import Part, now, storable, writes


class Votes(Part):
    """Tables `votes` and `examples`."""

    @writes
    def save_vote(self, turn_id: str, user: str, vote: Vote) -> None:
        """Store what a person thinks of a turn's report, instead of what they thought before. Raises when no such turn.

        The same vote again keeps its reason.
        """
        values = {"vote": vote, "reason": "", "at": now()}
        query = self._insert(t.votes).values(turn_id=turn_id, user=user, **values)
        changed = t.votes.c.vote != vote
        query = query.on_conflict_do_update(index_elements=["turn_id", "user"], set_=values, where=changed)
        with self._writing() as db:
            db.execute(query)

    @writes
    def save_reason(self, turn_id: str, user: str, reason: str) -> bool:
        """Store why a person voted so; False when they did not vote."""
        mine = (t.votes.c.turn_id == turn_id) & (t.votes.c.user == user)
        with self._writing() as db:
            return bool(db.execute(update(t.votes).where(mine).values(reason=storable(reason), at=now())).rowcount)

    def votes(self, turn_id: str) -> list[VoteRow]:
        """The votes on a turn's report, the first one first."""
        c = t.votes.c
        query = select(c.user, c.vote, c.reason).where(c.turn_id == turn_id).order_by(c.at, c.user)
        with self._reading() as db:
            return [VoteRow(row.user, cast(Vote, row.vote), row.reason) for row in db.execute(query)]

    # --- examples to learn from

    @writes
    def mark_example(self, turn_id: str, user: str) -> bool:
        """A person says that a turn is an example to learn from; False when they said so before."""
        with self._writing() as db:
            return self._insert_once(db, t.examples, turn_id=turn_id, user=user, at=now())

    @writes
    def unmark_example(self, turn_id: str, user: str) -> bool:
        """A person takes that back; False when they had not said so."""
        mine = (t.examples.c.turn_id == turn_id) & (t.examples.c.user == user)
        with self._writing() as db:
            return bool(db.execute(delete(t.examples).where(mine)).rowcount)

    def examples(self, turn_id: str) -> dict[str, datetime]:
        """The people who marked a turn as an example, with the times, oldest first."""
        c = t.examples.c
        query = select(c.user, c.at).where(c.turn_id == turn_id).order_by(c.at, c.user)
        with self._reading() as db:
            return {row.user: row.at for row in db.execute(query)}
