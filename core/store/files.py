"""Files that people gave to a thread."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from core.store import tables as t
from core.store.part import Part, now, storable, writes
from core.values import Lease, StoredFile


class Files(Part):
    """Table `thread_files`. The contents are in the file store, by hash."""

    @writes
    def add_thread_file(self, lease: Lease, file: StoredFile, *, copied_from: str = "") -> None:
        """Add an input of the thread, after the earlier ones. Adding it again changes nothing.

        One that is copied from another thread was given when it was given there.
        """
        with self._writing(lease) as db:
            self._refer(db, lease.thread_id, [file.sha256])
            self._insert_once(db, t.thread_files, **file_values(db, lease.thread_id, file, copied_from))

    def thread_files(self, thread_id: str) -> list[StoredFile]:
        """The thread's inputs in the order in which they came: what a new session needs again."""
        query = select(t.thread_files).where(t.thread_files.c.thread_id == thread_id).order_by(t.thread_files.c.id)
        with self._reading() as db:
            rows = db.execute(query).all()
        return [StoredFile(name=r.name, mimetype=r.mimetype, size=r.size, sha256=r.sha256) for r in rows]


def file_values(db: Connection, thread_id: str, file: StoredFile, copied_from: str = "") -> dict[str, Any]:
    """The columns of an input of a thread. See `add_thread_file`."""
    f = t.thread_files.c
    same = select(f.created_at).where(
        f.thread_id == copied_from, f.name == storable(file.name), f.sha256 == file.sha256
    )
    given_at = db.execute(same).scalar() if copied_from else None
    values = storable(file.model_dump(mode="json"))
    return {"thread_id": thread_id, "created_at": given_at or now(), **values}
