"""Files that people gave to a thread."""

from __future__ import annotations

from sqlalchemy import select

from core.store import tables as t
from core.store.part import Part, now, storable, writes
from core.values import Lease, StoredFile


class Files(Part):
    """Table `thread_files`. The contents are in the file store, by hash."""

    @writes
    def add_thread_file(self, lease: Lease, file: StoredFile) -> None:
        """Add an input of the thread, after the earlier ones. Adding it again changes nothing."""
        with self._writing(lease) as db:
            values = storable(file.model_dump(mode="json"))
            self._refer(db, lease.thread_id, [file.sha256])
            self._insert_once(db, t.thread_files, thread_id=lease.thread_id, created_at=now(), **values)

    def thread_files(self, thread_id: str) -> list[StoredFile]:
        """The thread's inputs in the order in which they came: what a new session needs again."""
        query = select(t.thread_files).where(t.thread_files.c.thread_id == thread_id).order_by(t.thread_files.c.id)
        with self._reading() as db:
            rows = db.execute(query).all()
        return [StoredFile(name=r.name, mimetype=r.mimetype, size=r.size, sha256=r.sha256) for r in rows]
