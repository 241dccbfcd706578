"""What people chose in Slack: for themselves, for a channel, for a workspace."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, delete, select, update

from core.store import tables as t
from core.store.part import Part, now, storable, writes


class Preferences(Part):
    """Table `preferences`: a row for each subject of a workspace. The empty subject is the workspace itself."""

    def preferences(self, team: str, subjects: Collection[str]) -> dict[str, dict[str, Any]]:
        """What was chosen for these subjects. Subjects without a choice are left out."""
        with self._reading() as db:
            return preferences_of(db, team, subjects)

    @writes
    def save_preferences(
        self, team: str, subject: str, changes: Mapping[str, Any], user: str
    ) -> dict[str, tuple[Any, Any]]:
        """Change what was chosen for a subject; None takes a choice back. Returns what really changed: (before, now).

        If two people change different things at the same moment, both count. If they change the same thing, the later
        one counts.
        """
        c = t.preferences.c
        mine = (c.team == team) & (c.subject == subject)
        with self._writing() as db:
            self._insert_once(db, t.preferences, team=team, subject=subject, body={}, changed_at=now(), changed_by=user)
            before = dict(db.execute(select(c.body).where(mine).with_for_update()).scalar_one())
            wanted = {**before, **storable(dict(changes))}
            after = {name: value for name, value in wanted.items() if value is not None}
            values = {"body": after, "changed_at": now(), "changed_by": user}
            db.execute(update(t.preferences).where(mine).values(**values))
        names = [*before, *(name for name in after if name not in before)]
        return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}

    @writes
    def forget_preferences(self, user: str, team: str = "") -> int:
        """Delete what a person chose and pinned for themselves, and what they think of answers to others; returns the
        number of rows. In every workspace, or in this one."""
        p, pins, votes, examples = t.preferences.c, t.own_pins.c, t.votes.c, t.examples.c
        of_person = (
            (p.subject, p.team == team),
            *(
                (column, place.startswith(f"{team}:", autoescape=True))
                for column, place in (
                    (pins.user, pins.thread_id),
                    (votes.user, votes.turn_id),
                    (examples.user, examples.turn_id),
                )
            ),
        )
        with self._writing() as db:
            rows = (
                delete(column.table).where(column == user, *([in_team] if team else []))
                for column, in_team in of_person
            )
            return sum(db.execute(each).rowcount for each in rows)


def preferences_of(db: Connection, team: str, subjects: Collection[str]) -> dict[str, dict[str, Any]]:
    """What was chosen for these subjects, read in a transaction of the caller's."""
    c = t.preferences.c
    query = select(c.subject, c.body).where(c.team == team, c.subject.in_(sorted(set(subjects))))
    return {str(subject): dict(body) for subject, body in db.execute(query)}
