"""One engine for SQLite and Postgres: how connections open, how reads and writes begin, how the schema is made."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    create_engine,
    event,
    inspect,
    make_url,
    text,
    update,
)
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DisconnectionError,
    InterfaceError,
    InternalError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from core.errors import OursToFix, SettingsError, outline
from core.private import mend_mode
from core.store import schema
from core.store.full_text import FULL_TEXT_TABLES
from core.store.one_file import keep_to_its_place
from core.store.tables import threads

BUSY_TIMEOUT_MS = 15_000
RESTED_S = 5.0
"""A connection of Postgres that was not used for this long is asked whether it is alive, before it is used."""
CONNECT_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 10
"""Postgres cancels a statement of ours that takes longer, waiting for a lock included."""
IDLE_IN_TRANSACTION_S = 10
"""Postgres ends a connection that holds a transaction open and asks nothing: its client may be gone without a word."""
ANSWER_S = 12.0
"""A connection on which Postgres says nothing for this long is given up: a firewall or proxy may have swallowed the
data. Longer than `STATEMENT_TIMEOUT_S`, so that a Postgres that is merely slow says so itself."""
CONNECTIONS, MORE_CONNECTIONS = 5, 5
"""Connections of one process with any number of threads: kept open, and opened in addition while those are in use. A
statement takes milliseconds, so threads hardly wait for one, and several nodes fit into the 100 that Postgres
allows."""
POOL_TIMEOUT_S = 15.0
PATIENT_S = 600.0
"""The same for migrations, and for commands that only read, but may read much."""
_DEMOTED = (psycopg.errors.ReadOnlySqlTransaction,)
"""The server takes no writes any more: another one does since a failover. A new connection may lead there."""
_PASSING = (*_DEMOTED, psycopg.errors.IdleInTransactionSessionTimeout)
"""Errors that psycopg counts as internal ones, though the same transaction may work in a moment."""
_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another program holds the file: end it, or try again when it is done.",
    sqlite3.SQLITE_READONLY: "Let this user write the file of the Store and its folder.",
    sqlite3.SQLITE_CANTOPEN: "Check DATABASE_URL, and whether the disk of the Store is mounted read-only.",
    sqlite3.SQLITE_FULL: "Make room on the disk of the Store.",
    sqlite3.SQLITE_IOERR: "Look at the disk of the Store: it may be full or broken.",
}
"""What an admin does where the address of the Store is right."""
_POSTGRES_ADVICE = {
    "53100": "The disk of Postgres is full: make room there.",
    "53200": "Postgres is out of memory: give it more, or end what else uses it.",
    "25006": "Postgres is read-only: lead DATABASE_URL to the primary, or look at default_transaction_read_only.",
}
"""The same for Postgres, by SQLSTATE."""
_NO_CONNECTION_LEFT = ("too many clients already", "too many connections for", "remaining connection slots")
"""What Postgres says then, in English: the driver has no number of an error that comes before there is a connection."""
_CONNECTIONS_ADVICE = (
    "Postgres has no connection left: raise its max_connections (or the limit of the user in DATABASE_URL), or end "
    "what else holds them. docs/deploy.md says how many Threadbook needs."
)
_MIGRATION_LOCK = 7_405_112_236
"""Any fixed number: the name of our advisory lock in Postgres."""


_POOL: dict[str, Any] = {
    "pool_size": CONNECTIONS,
    "max_overflow": MORE_CONNECTIONS,
    "pool_timeout": POOL_TIMEOUT_S,
}


ADDRESS_ADVICE = "Check DATABASE_URL."


class StoreUnreachable(OursToFix, SQLAlchemyError):
    """The database is unavailable, full or too busy. Nothing of the transaction was kept; it may be tried again
    later. `advice` tells the admin what to look at."""

    def __init__(self, message: str, advice: str = ADDRESS_ADVICE) -> None:
        super().__init__(message)
        self.advice = advice


class StoreDamaged(OursToFix, SQLAlchemyError):
    """The file of the SQLite database is damaged, or it is another file. Only an admin can put that right."""

    def __init__(self) -> None:
        super().__init__(
            "The Store's file is damaged, or it is no SQLite database (DATABASE_URL, else threadbook.db in "
            "THREADBOOK_HOME). Stop Threadbook and put the last backup in its place (docs/backup.md)."
        )


class Database:
    """Transactions that read (`reading`) or write (`writing`), on either database. Both raise StoreUnreachable.

    Safe to share between threads, except for `rolled_back`. After `close` it may be used again, also by a fork. Its
    cache of compiled statements is kept.
    """

    def __init__(self, url: str, *, patient: bool = False) -> None:
        """`patient`: a statement may take minutes. Otherwise a Postgres that does not answer soon counts as
        unavailable."""
        self._engine = _engine(url, patient=patient)
        self.dialect = self._engine.dialect.name
        self._rolled_back: Connection | None = None
        # SQLite has one writer at a time, and lets the others ask again after ever longer pauses. Threads of one
        # process wait here instead, where the next one goes on at once.
        self._writer = threading.Lock() if self.dialect == "sqlite" else None
        # In Postgres each statement of a READ COMMITTED transaction has a snapshot of its own anyway: a transaction
        # around reads would only add two round trips.
        self._read_options: dict[str, Any] = {"threadbook_reads": True}
        # One statement is a transaction of its own: BEGIN and COMMIT around it would be two more round trips.
        self._single_options: dict[str, Any] = {"threadbook_single": True}
        if self.dialect == "postgresql":
            self._read_options["isolation_level"] = self._single_options["isolation_level"] = "AUTOCOMMIT"

    @contextmanager
    def reading(self, *, patient: bool = False) -> Iterator[Connection]:
        """A transaction that only reads: never waits for a writer. `patient`: a statement may take minutes."""
        if self._rolled_back is not None:
            yield self._rolled_back
            return
        is_patient = patient and self.dialect == "postgresql"
        options = {} if is_patient else self._read_options
        with (
            _reachable(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            if is_patient:
                _be_patient(connection)
            yield connection

    @contextmanager
    def writing(self, *, single: bool = False) -> Iterator[Connection]:
        """A transaction that writes; committed at the end, rolled back by an exception.

        In SQLite it takes the write lock first (BEGIN IMMEDIATE). A transaction that reads and then writes would fail
        without waiting when another writer was faster. With `single` the caller sends one statement, which commits
        itself.
        """
        if self._rolled_back is not None:
            yield self._rolled_back
            return
        options = self._single_options if single else {}
        with (
            _reachable(),
            self._turn_to_write(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        if self._writer is None:
            yield
            return
        if not self._writer.acquire(timeout=BUSY_TIMEOUT_MS / 1000):
            raise StoreUnreachable("other threads have been writing for too long", _ADVICE[sqlite3.SQLITE_BUSY])
        try:
            yield
        finally:
            self._writer.release()

    @contextmanager
    def rolled_back(self) -> Iterator[None]:
        """All reads and writes inside are one transaction, which is rolled back at the end. For one thread alone."""
        with _reachable(), self._engine.connect() as connection, connection.begin() as transaction:
            self._rolled_back = connection
            try:
                yield
            finally:
                self._rolled_back = None
                transaction.rollback()

    def is_new(self) -> bool:
        """Whether nothing was ever stored here: there is not even a table. Raises StoreUnreachable."""
        with self.reading() as connection:
            return not inspect(connection).has_table("turns")

    def check_writes(self) -> None:
        """Check that our schema is there and takes writes; nothing is changed. Raises StoreUnreachable."""
        nothing = update(threads).where(threads.c.id == "").values(id=threads.c.id)  # no thread has this id
        with self.writing(single=True) as connection:
            connection.execute(nothing)
            if self.dialect == "sqlite":  # the same number again: it is written, so a full disk is noticed
                number = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
                connection.exec_driver_sql(f"PRAGMA user_version = {int(number)}")

    def migrate(self, migrations: str = schema.MIGRATIONS) -> None:
        """Bring the schema to its newest version. Processes that do it at the same time wait for each other.

        Raises StoreTooNew when a newer version has made a schema that this one cannot work with.
        """
        with self.writing() as connection:
            if self.dialect == "postgresql":
                _be_patient(connection)
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
            schema.upgrade(connection, migrations)

    def check_schema(self, migrations: str = schema.MIGRATIONS) -> None:
        """Raise StoreTooNew when a newer version has made a schema that this one cannot work with."""
        with self.reading() as connection:
            schema.check(connection, migrations)

    def scrub(self) -> None:
        """In SQLite, write the full-text search again and empty the write-ahead log: deleted words stand in both.

        Pages of the file itself are zeroed as rows are deleted (`secure_delete`). Postgres does both when it vacuums.
        """
        if self.dialect == "sqlite" and self._rolled_back is None:
            with _reachable(), self._engine.connect() as connection:
                # Outside of any transaction. The pool's own event would begin one.
                cursor = connection.connection.cursor()
                with self._turn_to_write():
                    for name in FULL_TEXT_TABLES:
                        cursor.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")  # noqa: S608 - our names
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                cursor.close()

    def close(self) -> None:
        """Close the pooled connections."""
        self._engine.dispose()


@contextmanager
def _reachable() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise StoreUnreachable(outline(error), _advice(error)) from error
    except InternalError as error:
        if not isinstance(error.orig, _PASSING):
            raise
        said = str(error.orig).partition("\n")[0]  # it names the kind of a statement, and quotes nothing
        raise StoreUnreachable(f"{outline(error)}: {said}", _advice(error)) from error
    except DatabaseError as error:
        if _sqlite_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        raise StoreDamaged from error


def _advice(error: Exception) -> str:
    """What an admin does about a database that is unavailable."""
    said = str(getattr(error, "orig", None) or "")
    if any(words in said for words in _NO_CONNECTION_LEFT):
        return _CONNECTIONS_ADVICE
    sqlstate = getattr(getattr(error, "orig", None), "sqlstate", None)
    return _POSTGRES_ADVICE.get(sqlstate or "") or _ADVICE.get(_sqlite_code(error), ADDRESS_ADVICE)


def _sqlite_code(error: Exception) -> int:
    """SQLite's number of the error; 0 where it is another database's."""
    code: int = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)
    return code & 0xFF  # the other bits say more of the same


class _Postgres(psycopg.Connection[Any]):
    """A connection to Postgres on which every call comes to an end, also when nothing answers any more.

    The time-outs of TCP and of the server do not help against that: a proxy or a firewall may swallow data and still
    acknowledge it.
    """

    answer_s: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """As in psycopg, with a time-out where none is given. Raises OperationalError, and the connection is closed."""
        limit = timeout if timeout is not None else self.answer_s
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout as error:
            if timeout is not None:
                raise
            self.pgconn.finish()  # whatever comes later belongs to a call that nobody waits for
            raise psycopg.OperationalError(f"Postgres did not answer within {limit:.0f} s") from error


def _be_patient(connection: Connection) -> None:
    """Allow minutes for the current transaction, and for the calls of this connection until it is closed."""
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    if isinstance(raw := connection.connection.driver_connection, _Postgres):
        raw.answer_s = PATIENT_S
        connection.detach()  # the pool must not give such a connection to anybody else


def _postgres(url: URL, *, patient: bool) -> Engine:
    statement_s = PATIENT_S if patient else STATEMENT_TIMEOUT_S
    limits = {"statement_timeout": statement_s, "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_S}
    arguments: dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "tcp_user_timeout": int(ANSWER_S * 1000),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }
    if "options" not in url.query:
        options = [f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items()]
        # Postgres expects a fifth of all messages to be unread, and would compile the query for the few that are.
        arguments["options"] = " ".join([*options, "-c jit=off"])
    engine = create_engine(
        url, connect_args=arguments, hide_parameters=True, **_POOL
    )  # an error must not quote its row

    def connect(_dialect: object, _record: object, given: Any, named: dict[str, Any]) -> _Postgres:
        connection = _Postgres.connect(*given, **named)
        connection.answer_s = PATIENT_S if patient else ANSWER_S
        return connection

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _ping_if_rested)
    event.listen(engine, "handle_error", _leave_if_demoted)
    return engine


def _engine(given: str, *, patient: bool) -> Engine:
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):  # its message may show the password
        raise SettingsError(
            "DATABASE_URL: cannot be read as postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE or "
            "sqlite:////PATH; in a name or a password write @ as %40 and : as %3A."
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("postgresql+psycopg", "sqlite", "sqlite+pysqlite"):
        raise SettingsError(
            f"DATABASE_URL: {url.drivername} is not supported; write postgresql+psycopg:// or sqlite://."
        )
    if url.get_backend_name() == "postgresql":
        return _postgres(url, patient=patient)
    path, in_memory = Path(url.database or ""), url.database in (None, "", ":memory:")
    if not in_memory:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"the folder {path.parent} for the database cannot be made: {error.strerror}. Set THREADBOOK_HOME, or "
                "DATABASE_URL, to a place where this user may write."
            ) from error
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            mend_mode(path.with_name(name))  # of an older version; never open it here: that undoes SQLite's locks
    engine = create_engine(url, hide_parameters=True, **({} if in_memory else _POOL))  # an error must not quote its row
    if not in_memory and not url.query.get("uri"):  # with uri the name is an address of SQLite's own
        keep_to_its_place(engine, path)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _note_use(_connection: object, record: Any) -> None:
    record.info["used_at"] = time.monotonic()


def _ping_if_rested(connection: Any, record: Any, _proxy: object) -> None:
    """Check a connection that was not used for a while. A connection that was just used needs no round trip."""
    if time.monotonic() - record.info.get("used_at", math.inf) < RESTED_S:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except Exception as error:
        raise DisconnectionError from error  # the pool opens another connection


def _leave_if_demoted(context: ExceptionContext) -> None:
    """Give up all connections to a server that takes no writes any more."""
    if isinstance(context.original_exception, _DEMOTED):
        context.is_disconnect = True


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late; ours is in _begin_sqlite
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "foreign_keys = ON",
        "secure_delete = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("threadbook_single", False):
        connection.exec_driver_sql("BEGIN" if options.get("threadbook_reads", False) else "BEGIN IMMEDIATE")
