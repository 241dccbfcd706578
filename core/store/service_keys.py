"""The key by which services of one Store know each other's wakes (`core/signatures.py`)."""

from __future__ import annotations

import secrets

from sqlalchemy import select

from core.store import tables as t
from core.store.part import Part, now, writes

_NOBODYS, _SUBJECT, _FIELD = "", "service", "wake_key"


class ServiceKeys(Part):
    """A row of `preferences` that belongs to no workspace."""

    @writes
    def wake_key(self) -> bytes:
        """The key that wakes are signed with. The first who asks makes it. Redis never has it."""
        c = t.preferences.c
        query = select(c.body).where(c.team == _NOBODYS, c.subject == _SUBJECT)
        with self._reading() as db:
            found = db.execute(query).scalar_one_or_none()
        if found is None:
            body = {_FIELD: secrets.token_hex(32)}
            row = {"team": _NOBODYS, "subject": _SUBJECT, "body": body, "changed_at": now(), "changed_by": ""}
            with self._writing() as db:
                self._insert_once(db, t.preferences, **row)
                found = db.execute(query).scalar_one()
        return bytes.fromhex(dict(found)[_FIELD])
