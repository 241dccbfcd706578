"""One engine for SQLite and Postgres: how connections open, how reads and writes begin, how the schema comes about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from core.errors import OursToFix

BUSY_TIMEOUT_MS = 15_000
CONNECT_TIMEOUT_S = 5
_MIGRATION_LOCK = 7_405_112_236
"""Any fixed number: the name of our advisory lock in Postgres."""


class StoreUnreachable(OursToFix, SQLAlchemyError):
    """The database is away, full or too busy: nothing of the transaction stands, and it may be tried again later."""


class Database:
    """Transactions that read (`reading`) or write (`writing`), on either database. Both raise StoreUnreachable.

    After `close` it may be used again, by a fork, too: what it has learned of its statements is not lost.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self.dialect = self._engine.dialect.name
        self._undone: Connection | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: never waits for a writer."""
        if self._undone is not None:
            yield self._undone
            return
        with (
            _reachable(),
            self._engine.connect().execution_options(threadbook_reads=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; committed at the end, rolled back by an exception.

        In SQLite it takes the write lock at once (BEGIN IMMEDIATE): a transaction that first reads and then wants to
        write would otherwise fail at once, without waiting, when another writer was faster.
        """
        if self._undone is not None:
            yield self._undone
            return
        with _reachable(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def undone(self) -> Iterator[None]:
        """All that is read and written inside is one transaction, which is rolled back. For one thread alone."""
        with _reachable(), self._engine.connect() as connection, connection.begin() as transaction:
            self._undone = connection
            try:
                yield
            finally:
                self._undone = None
                transaction.rollback()

    def migrate(self) -> None:
        """Bring the schema to its newest version. Processes that start at the same time wait for one another."""
        config = Config()
        config.set_main_option("script_location", "core:migrations")
        with self.writing() as connection:
            if self.dialect == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        """Close the pooled connections."""
        self._engine.dispose()


@contextmanager
def _reachable() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise StoreUnreachable(str(error)) from error


def _engine(given: str) -> Engine:
    url = make_url(given)
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "postgresql":
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    if url.get_backend_name() != "sqlite":
        raise ValueError(f"DATABASE_URL: {url.get_backend_name()} is not supported; use sqlite or postgresql")
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late; ours is in _begin_sqlite
    cursor = connection.cursor()
    for pragma in (f"busy_timeout = {BUSY_TIMEOUT_MS}", "journal_mode = WAL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get("threadbook_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
