"""The audit of who did what. Lines are only added. They hold ids and numbers, never text that people wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select

from core.store import tables as t
from core.store.part import Part, now, storable, writes


@dataclass(frozen=True, slots=True)
class AuditLine:
    """`actor` is a Slack user id, or "cli:NAME@NODE"; `resource` a thread's id, or what a command was given."""

    at: datetime
    actor: str
    action: str
    resource: str
    outcome: str
    details: Mapping[str, int | str] = field(default_factory=dict)


class Audit(Part):
    """Table `audit`. The database refuses to change or delete its rows."""

    @writes
    def audit(
        self,
        actor: str,
        action: str,
        resource: str,
        outcome: str,
        *,
        key: str | None = None,
        details: Mapping[str, int | str] | None = None,
    ) -> None:
        """Add a line. With a `key` it is added only once, also when this is called again. `outcome` is "done",
        "refused", or "nothing" for a command that changed nothing."""
        with self._writing() as db:
            self._insert_once(db, t.audit, key=key, **line_values(actor, action, resource, outcome, details or {}))

    def audit_lines(self, *, since: datetime | None = None, resource: str = "", actor: str = "") -> list[AuditLine]:
        """The lines that fit everything that is given, oldest first."""
        c = t.audit.c
        query = select(c.at, c.actor, c.action, c.resource, c.outcome, c.details).order_by(c.at, c.id)
        if since is not None:
            query = query.where(c.at >= since)
        if resource:
            query = query.where(c.resource == resource)
        if actor:
            query = query.where(c.actor == actor)
        with self._reading() as db:
            return [AuditLine(*row) for row in db.execute(query)]


def line_values(
    actor: str, action: str, resource: str, outcome: str, details: Mapping[str, int | str]
) -> dict[str, object]:
    """The columns of a line that is written now, without its key."""
    return {
        "at": now(),
        "actor": storable(actor)[:200],
        "action": action,
        "resource": storable(resource)[:300],
        "outcome": outcome,
        "details": storable(dict(details)),
    }
