"""What the parts of the Store share: one Database, the check of the lease before a write, and how values are stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from sqlalchemy import ColumnElement, Connection, Insert, Table, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite

from core.errors import LeaseLost
from core.store import tables as t
from core.store.database import Database
from core.values import Lease

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MARK = "writes_to_the_store"

Method = TypeVar("Method", bound=Callable[..., Any])


def writes(method: Method) -> Method:
    """Marks a public method that writes: it is then in `Store.WRITES`. A test finds methods without their mark."""
    setattr(method, _MARK, True)
    return method


class Part:
    """The methods of the Store for one group of tables. `Store` inherits all parts; they share its Database."""

    WRITES: ClassVar[frozenset[str]] = frozenset()
    """The names of all methods that write."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.WRITES = frozenset(name for name in dir(cls) if getattr(getattr(cls, name), _MARK, False))

    def __init__(self, database: Database) -> None:
        self._database = database

    def _reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads."""
        return self._database.reading()

    @contextmanager
    def _writing(self, lease: Lease | None = None, turn_id: str | None = None) -> Iterator[Connection]:
        """A transaction that writes. With a lease, it is refused (LeaseLost) once a newer token was given out.

        Raises ValueError when the turn is not one of the lease's thread.
        """
        with self._database.writing() as db:
            if lease is not None:
                _guard(db, lease, turn_id)
            yield db

    def _refer(self, db: Connection, thread_id: str, contents: Iterable[str]) -> None:
        """Note that a thread needs these contents of the file store. A purge deletes only what no thread needs."""
        for sha256 in sorted(contents):
            self._insert_once(db, t.blob_refs, thread_id=thread_id, sha256=sha256)

    @contextmanager
    def _one_write(self, lease: Lease, turn_id: str | None = None) -> Iterator[Connection]:
        """A transaction of one statement, which asks `holds(lease)` itself: one round trip instead of two.

        Raises ValueError when the turn is not one of the lease's thread.
        """
        _must_be_of_thread(lease, turn_id)
        with self._database.writing() as db:
            yield db

    def _insert_once(self, db: Connection, table: Table, **values: Any) -> bool:
        """Insert the row unless one with the same key exists; True when it was inserted."""
        insert = postgresql.insert if self._database.dialect == "postgresql" else sqlite.insert
        query = insert(table).values(**values).on_conflict_do_nothing().returning(*table.primary_key)
        return db.execute(query).first() is not None


def _guard(db: Connection, lease: Lease, turn_id: str | None) -> None:
    newest = t.threads.c.fence <= lease.token
    query = update(t.threads).where(t.threads.c.id == lease.thread_id, newest).values(fence=lease.token)
    if db.execute(query).rowcount != 1:
        raise lease_lost(lease)
    _must_be_of_thread(lease, turn_id)


def _must_be_of_thread(lease: Lease, turn_id: str | None) -> None:
    if turn_id is not None and not turn_id.startswith(lease.thread_id + "/"):
        raise ValueError(f"turn {turn_id} is not of thread {lease.thread_id}")


def holds(lease: Lease) -> ColumnElement[bool]:
    """SQL: no newer token was given out, and none will be until this transaction ends.

    Postgres locks the thread's row. SQLite has one writer at a time anyway.
    """
    held = select(t.threads.c.id).where(t.threads.c.id == lease.thread_id, t.threads.c.fence <= lease.token)
    return held.with_for_update().scalar_subquery().is_not(None)


def insert_under(lease: Lease, table: Table, **values: Any) -> Insert:
    """SQL: add a row if `holds(lease)`. A value may be an SQL expression."""
    columns = {
        name: value if isinstance(value, ColumnElement) else literal(value, table.c[name].type)
        for name, value in values.items()
    }
    return table.insert().from_select(list(columns), select(*columns.values()).where(holds(lease)))


def lease_lost(lease: Lease) -> LeaseLost:
    """The error for a lease whose token is no longer the newest."""
    return LeaseLost(f"token {lease.token} of {lease.thread_id} is no longer the newest")


def now() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)


def contents_in(value: object) -> set[str]:
    """The hashes that a JSON value names as `sha256`, however deep."""
    if isinstance(value, dict):
        own = value.get("sha256")
        inner = {found for item in value.values() for found in contents_in(item)}
        return inner | ({own} if isinstance(own, str) and len(own) == 64 else set())
    if isinstance(value, list | tuple):
        return {found for item in value for found in contents_in(item)}
    return set()


def storable(value: Any) -> Any:
    """The same JSON value with what Postgres or UTF-8 cannot hold (NUL, lone surrogates) replaced by U+FFFD."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value
