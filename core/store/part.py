"""What the parts of the Store share: one Database, the check of the lease before a write, and how values are stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, TypeVar

from sqlalchemy import ARRAY, CTE, ColumnElement, Connection, Table, bindparam, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from core.errors import LeaseLost
from core.store import tables as t
from core.store.database import Database
from core.values import Lease, ThreadKey

NO_VECTORS: dict[str, Any] = {"model": "", "dims": 0, "vectors": b"", "upto": 0, "changed": 0}
"""The columns of a thread whose vectors have to be made again."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""The clocks of our machines differ by less, while all are right."""
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
    def _writing(
        self, lease: Lease | None = None, turn_id: str | None = None, **thread_values: Any
    ) -> Iterator[Connection]:
        """A transaction that writes. With a lease, it is refused (LeaseLost) once a newer token was given out.

        The statement that checks the lease also sets `thread_values`, columns of the thread's row. Raises ValueError
        when the turn is not one of the lease's thread.
        """
        with self._database.writing() as db:
            if lease is not None:
                guard(db, lease, turn_id, thread_values)
            yield db

    @contextmanager
    def _guarded(self, lease: Lease | None, turn_id: str | None = None, *, statements: int = 1) -> Iterator[Connection]:
        """A transaction whose first statement checks `HOLDS` itself, with `lease_values`. A single statement commits
        itself.

        Raises ValueError when the turn is not one of the lease's thread.
        """
        if lease is not None:
            _must_be_of_thread(lease, turn_id)
        with self._database.writing(single=statements == 1) as db:
            yield db

    def _refer(self, db: Connection, thread_id: str, contents: Iterable[str]) -> None:
        """Note that a thread needs these contents of the file store. A purge deletes only what no thread needs."""
        if rows := reference_rows(thread_id, contents):
            db.execute(self._insert(t.blob_refs).values(rows).on_conflict_do_nothing())

    def _take_back(self, db: Connection, thread_ids: Iterable[str]) -> None:
        """Remove the vectors of threads whose words were deleted or changed. Vectors that are being made now will not
        be kept."""
        c = t.thread_vectors.c
        values = {**NO_VECTORS, "changed": c.changed + 1}
        for thread_id in sorted(thread_ids):
            new = {**NO_VECTORS, "team": ThreadKey.parse(thread_id).team, "changed": 1}
            insert = self._insert(t.thread_vectors).values(thread_id=thread_id, **new)
            db.execute(insert.on_conflict_do_update(index_elements=["thread_id"], set_=values))

    def _insert(self, table: Table) -> Any:
        """An INSERT of this database, which knows ON CONFLICT."""
        return postgresql.insert(table) if self._database.dialect == "postgresql" else sqlite.insert(table)

    def _insert_once(self, db: Connection, table: Table, **values: Any) -> bool:
        """Insert the row unless one with the same key exists; True when it was inserted."""
        query = self._insert(table).values(**values).on_conflict_do_nothing().returning(*table.primary_key)
        return db.execute(query).first() is not None


_MINE = (t.threads.c.id == bindparam("lease_thread"), t.threads.c.fence <= bindparam("lease_token"))
GUARD = update(t.threads).where(*_MINE).values(fence=bindparam("lease_token"))
"""SQL: changes the thread's row, unless a newer token was given out. The row may be given further values."""

HOLDS: ColumnElement[bool] = select(t.threads.c.id).where(*_MINE).with_for_update().scalar_subquery().is_not(None)
"""SQL: no newer token was given out, and none will be until this transaction ends. Its parameters are `lease_values`.

Postgres locks the thread's row. SQLite has one writer at a time anyway."""


def lease_values(lease: Lease) -> dict[str, Any]:
    """The parameters of `HOLDS`."""
    return {"lease_thread": lease.thread_id, "lease_token": lease.token}


def guard(
    db: Connection, lease: Lease, turn_id: str | None = None, thread_values: Mapping[str, Any] | None = None
) -> None:
    """Lock the thread's row, and set these values there. Raises LeaseLost once a newer token was given out."""
    query = GUARD.values(**thread_values) if thread_values else GUARD
    if db.execute(query, lease_values(lease)).rowcount != 1:
        raise lease_lost(lease)
    _must_be_of_thread(lease, turn_id)


def _must_be_of_thread(lease: Lease, turn_id: str | None) -> None:
    if turn_id is not None and not turn_id.startswith(lease.thread_id + "/"):
        raise ValueError(f"turn {turn_id} is not of thread {lease.thread_id}")


def parameters(table: Table, names: Sequence[str], suffix: str = "") -> dict[str, ColumnElement[Any]]:
    """SQL: a parameter for each of these columns. It has the column's type, and its name is the column's with the
    suffix."""
    return {name: bindparam(f"{name}{suffix}", type_=table.c[name].type) for name in names}


def insert_under(insert: Any, columns: Mapping[str, ColumnElement[Any]], holds: ColumnElement[bool] = HOLDS) -> Any:
    """SQL: add a row of these columns if `holds`."""
    return insert.from_select(list(columns), select(*columns.values()).where(holds))


def references_if(is_done: ColumnElement[bool]) -> CTE:
    """SQL of Postgres, for use beside another write: add references if `is_done`. See `reference_values`."""
    contents = func.unnest(bindparam("reference_contents", type_=ARRAY(t.blob_refs.c.sha256.type)))
    columns = {"thread_id": bindparam("reference_thread", type_=t.blob_refs.c.thread_id.type), "sha256": contents}
    insert = insert_under(postgresql.insert(t.blob_refs), columns, is_done).on_conflict_do_nothing()
    referred: CTE = insert.cte("referred")
    return referred


def reference_values(thread_id: str, contents: Iterable[str]) -> dict[str, Any]:
    """The parameters of `references_if`."""
    return {"reference_thread": thread_id, "reference_contents": sorted(contents)}


def reference_rows(thread_id: str, contents: Iterable[str]) -> list[dict[str, str]]:
    """Rows of `blob_refs`, always in the same order: two writers never wait for each other."""
    return [{"thread_id": thread_id, "sha256": sha256} for sha256 in sorted(contents)]


def lease_lost(lease: Lease) -> LeaseLost:
    """The error for a lease whose token is no longer the newest."""
    return LeaseLost(f"token {lease.token} of {lease.thread_id} is no longer the newest")


def now() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)


def is_free(
    taken_at: ColumnElement[datetime | None], stale: datetime, at: datetime | None = None
) -> ColumnElement[bool]:
    """SQL: at this moment, or now, nobody claims the row. A claim counts for as long as it is from after `stale`.

    One from the future was made before the clock was set back. It would count until that time comes again.
    """
    return or_(taken_at.is_(None), taken_at <= stale, taken_at > (at or now()) + CLOCKS_DIFFER)


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
    try:
        # As one text it is looked through fastest, and nearly always nothing is found. JSON writes NUL as \u0000.
        written = json.dumps(value, ensure_ascii=False)
    except TypeError:  # a mapping that is no dict
        return _replaced(value)
    return _replaced(value) if "\\u0000" in written or _UNSTORABLE.search(written) else value


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_replaced(key): _replaced(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item) for item in value]
    return value
