"""Postgres, read by ADBC. The walls: a READ ONLY transaction that is always rolled back, and a cursor.

DECLARE … CURSOR takes one SELECT and nothing else: no second statement, no INTO, no data-changing WITH. ADBC then
reads the same text as COPY (…) TO STDOUT, the server's fastest way.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import StatementOptions, dbapi
from psycopg.conninfo import make_conninfo

from workers.sources.catalogue import Catalogue
from workers.sources.drivers import postgres_catalogue
from workers.sources.drivers.base import Stop, capped, too_slow
from workers.sources.drivers.plans import postgres_rows, scanned_tables
from workers.sources.drivers.postgres_access import MEND, WRITES
from workers.sources.drivers.postgres_arrow import as_sent, columns_of, converted, zone_of
from workers.sources.drivers.rows import BATCH_BYTES
from workers.sources.errors import LimitReached, Misconfigured, SourceAway, StatementFailed
from workers.sources.values import Access, ColumnInfo, Limits, Result, Source, TableName, Visible

CONNECT_S = 10
CATALOG_S = 20
DEAD = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""A server that vanished without a word is noticed after 25 seconds. The system's own settings would wait for hours."""
DENIED = "42501"
UNHEARD_MS = 25_000
_MARKS = itertools.cycle(range(5_000))
"""Each connection has a `tcp_user_timeout` of its own, by which its socket is found among those of this process."""
NO_MEMORY = r"out of memory|allocate memory|ReadRecord failed at row \d+:\s*$"
"""What libpq and ADBC say when this process, not the server, has no memory."""

VISIBLE = """
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))
  AND NOT (c.relispartition AND EXISTS (
    WITH RECURSIVE above AS (
      SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid
      UNION ALL SELECT i.inhparent FROM pg_catalog.pg_inherits i JOIN above ON i.inhrelid = above.inhparent
    ) SELECT FROM above WHERE pg_catalog.has_any_column_privilege(above.inhparent, 'SELECT')))
ORDER BY 1, 2
"""
"""A partition is left out where the login can read the table that it is a part of: who denies that denies both."""
COLUMNS = """
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum
"""
SIZE = """
SELECT c.reltuples::float8 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2
"""


class PostgresDriver:
    """A connection of one login."""

    def __init__(self, source: Source) -> None:
        self._role = source.settings.role
        self._stop: Stop | None = None
        url = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", source.url.get_secret_value())
        mark = UNHEARD_MS + next(_MARKS)
        try:
            address = make_conninfo(
                url, connect_timeout=CONNECT_S, application_name="threadbook", tcp_user_timeout=mark, **DEAD
            )
        except psycopg.ProgrammingError:
            raise Misconfigured(f"The URL of {source.name} is no URL of Postgres.") from None
        try:
            self._connection = dbapi.connect(address, autocommit=True)
        except Error as error:
            raise SourceAway(f"{source.name} cannot be reached: {_why(error)}.") from None
        self._socket = _socket_with(mark)
        self._server = self._socket.getpeername() if self._socket is not None else None
        with self._transaction(CATALOG_S) as cursor:
            ((zone,),) = _rows(cursor, "SELECT pg_catalog.current_setting('TimeZone')")
        self._zone = zone_of(zone)
        """Where the server lets days and months begin. Shown in another zone, its January would begin in December."""

    def access(self) -> Access:
        """The rights of the login, and of every role that it could take, beyond reading."""
        with self._transaction(CATALOG_S) as cursor:
            found = _rows(cursor, WRITES)
            ((database,),) = _rows(cursor, "SELECT pg_catalog.current_database()::text")
        writes = tuple(str(row[0]) for row in found)
        return Access(writes, MEND.format(database=_quoted(database)) if writes else "")

    def visible(self) -> Visible:
        """What the role can read, and its search path."""
        with self._transaction(CATALOG_S) as cursor:
            tables = tuple(TableName(schema, name) for schema, name in _rows(cursor, VISIBLE))
            ((path,),) = _rows(cursor, "SELECT pg_catalog.current_schemas(false)::text[]")
        return Visible(tables, tuple(path))

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns that the role can read."""
        with self._transaction(CATALOG_S) as cursor:
            found = _rows(cursor, COLUMNS, (table.schema, table.name))
        return tuple(ColumnInfo(name, kind) for name, kind in found)

    def catalogue(self) -> Catalogue:
        """What the catalogue of Postgres tells, with `reltuples` as the estimate of rows."""
        visible = self.visible()
        with self._transaction(CATALOG_S) as cursor:
            statements = (postgres_catalogue.TABLES, postgres_catalogue.COLUMNS, postgres_catalogue.KEYS)
            return postgres_catalogue.catalogue(visible, *(_rows(cursor, each) for each in statements))

    @contextmanager
    def run(self, sql: str, limits: Limits) -> Iterator[Result]:
        """Run one SELECT in a read-only transaction."""
        with Stop(limits.seconds, self._cancel) as stop:
            self._stop = stop
            try:
                with _errors(stop, limits.seconds), self._transaction(limits.seconds) as cursor:
                    # The server itself says that this is one SELECT; nothing is read through the cursor.
                    cursor.execute(f"DECLARE threadbook NO SCROLL CURSOR FOR {sql}")
                    stop.check()
                    columns = columns_of(cursor.adbc_execute_schema(sql), self._zone)
                    cursor.execute(as_sent(sql, columns))
                    stop.check()
                    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
                    batches = converted(_reading(cursor, stop, limits.seconds), columns)
                    yield Result(schema, capped(batches, limits))
            finally:
                self._stop = None

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """What EXPLAIN says; of tables that are read from beginning to end, `reltuples`."""
        with Stop(limits.seconds, self._cancel) as stop:
            self._stop = stop
            try:
                with _errors(stop, limits.seconds), self._transaction(limits.seconds) as cursor:
                    cursor.adbc_statement.set_options(**{StatementOptions.USE_COPY.value: "false"})
                    ((told,),) = _rows(cursor, f"EXPLAIN (FORMAT JSON, VERBOSE) {sql}")
                    plan = json.loads(told)[0]["Plan"]
                    sizes = {place: _rows(cursor, SIZE, place) for place in scanned_tables(plan)}
            finally:
                self._stop = None
        return postgres_rows(plan, {place: max(0.0, float(row[0][0])) for place, row in sizes.items() if row})

    def cancel(self) -> None:
        """End the statement at the server."""
        if (stop := self._stop) is not None:
            stop.cancel()

    def close(self) -> None:
        """Close the connection."""
        with suppress(Error):  # it is lost
            self._connection.close()
        if self._socket is not None:
            self._socket.close()

    def _cancel(self) -> None:
        """Ask the server to end the statement. A server that does not take the request loses the connection."""
        before = {name for name, _ in _sockets()}
        asking = threading.Thread(target=self._ask_to_cancel, name="cancel", daemon=True)
        asking.start()
        asking.join(CONNECT_S)
        if asking.is_alive():
            self._hang_up()
            self._hang_up_request(before)

    def _ask_to_cancel(self) -> None:
        with suppress(Error):  # it ended meanwhile; its timeout at the server is the other way
            self._connection.adbc_cancel()

    def _hang_up(self) -> None:
        """End the wait for a server that says nothing: neither libpq nor ADBC ends it."""
        if self._socket is not None:
            with suppress(OSError):  # the connection is lost already
                self._socket.shutdown(socket.SHUT_RDWR)

    def _hang_up_request(self, before: set[str]) -> None:
        """End a request to the server that was not among these sockets: libpq waits for its answer without end.

        It has no mark, and a connection that somebody opens meanwhile has one.
        """
        for name, found in _sockets():
            with suppress(OSError):  # it is no connection
                if name not in before and found.getpeername() == self._server and not _mark_of(found):
                    found.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _transaction(self, seconds: float) -> Iterator[dbapi.Cursor]:
        """A read-only transaction with the role taken. It is always rolled back, whatever READ ONLY lets through."""
        begin = (
            f"BEGIN READ ONLY; SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}; "
            "SET LOCAL standard_conforming_strings = on; SET LOCAL lock_timeout = '5s'; "
            "SET LOCAL client_encoding = 'UTF8'"
        )
        if self._role:
            begin += f"; SET LOCAL ROLE {_quoted(self._role)}"
        cursor = self._connection.cursor(
            adbc_stmt_kwargs={StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
        )
        silent = threading.Timer(seconds + CONNECT_S, self._hang_up)
        silent.daemon = True
        silent.start()
        try:
            with _errors(None, seconds):
                cursor.executescript(begin)
                yield cursor
        finally:
            with suppress(Error):
                cursor.close()  # rows that nobody read are given up
            for _ in range(2):  # an end of the statement that comes late ends the first rollback
                with suppress(Error), self._connection.cursor() as last:  # a lost connection was said already
                    last.executescript("ROLLBACK")
            silent.cancel()


def _socket_with(mark: int) -> socket.socket | None:
    """The socket of this process that has this `tcp_user_timeout`; None for a connection without TCP."""
    for _, found in _sockets():
        with suppress(OSError):  # it is no socket of TCP
            if _mark_of(found) == mark:
                return found.dup()
    return None


def _mark_of(found: socket.socket) -> int:
    return found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)


def _sockets() -> Iterator[tuple[str, socket.socket]]:
    """The sockets of this process, each by its name in /proc and as a copy that is open until the next one."""
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it is closed by now
            name = os.readlink(f"/proc/self/fd/{each}")
            if name.startswith("socket:"):  # a copy of a pipe's end would keep that pipe open
                with socket.socket(fileno=os.dup(int(each))) as found:
                    yield name, found


def _rows(cursor: dbapi.Cursor, sql: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    cursor.execute(sql, values or None)
    return list(cursor.fetchall())


def _reading(cursor: dbapi.Cursor, stop: Stop, seconds: float) -> Iterator[pa.RecordBatch]:
    with _errors(stop, seconds):
        # What `fetch_record_batch` gives would raise errors that have lost the server's own number.
        reader = cursor._results.reader
        while True:
            stop.check()
            try:
                yield reader.read_next_batch()
            except StopIteration:
                return


@contextmanager
def _errors(stop: Stop | None, seconds: float) -> Iterator[None]:
    try:
        yield
    except Error as error:
        if stop is not None:
            stop.check()
        said = {_text(key): value for key, value in error.details}
        text = _text(said.get("PG_DIAG_MESSAGE_PRIMARY"))
        match error.sqlstate or "":
            case "57014":
                raise too_slow(seconds) from None
            case "55P03":
                raise LimitReached("A table is locked by somebody who changes it. Try again in a moment.") from None
            case state if state.startswith("08") or state in ("57P01", "57P02", "57P03"):
                raise SourceAway("The connection to the source was lost. Try again in a moment.") from None
        if not text and re.search(NO_MEMORY, str(error)):
            raise MemoryError from None
        if not text and "ReadRecord" in str(error):
            raise StatementFailed(
                "A value cannot be read as its type. Leave columns out to find it, and write CAST(… AS text) there."
            ) from None
        if not text:
            raise SourceAway("The connection to the source was lost. Try again in a moment.") from None
        hint = _text(said.get("PG_DIAG_MESSAGE_HINT"))
        unknown = re.findall(r'column "?([^" ]+)"? does not exist', text)
        raise StatementFailed(
            f"Postgres: {text}.{f' {hint}' if hint else ''}",
            unknown=unknown[0] if unknown else "",
            is_denied=error.sqlstate == DENIED,
        ) from None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _why(error: Error) -> str:
    """Why a connection failed, in words of our own: the driver's name the host and the login."""
    text = str(error).lower()
    known = {
        "password authentication failed": "the login or its password is refused",
        "no password supplied": "its URL has no password",
        "no pg_hba.conf entry": "the server takes no connections from here",
        "does not exist": "the database or the login does not exist",
        "not permitted": "the login may not connect",
        "too many": "the server has no free connection",
        "timeout": "the server does not answer in time",
        "refused": "nothing listens at its address",
        "could not translate": "its host is not known",
        "resolve": "its host is not known",
    }
    return next((said for sign, said in known.items() if sign in text), "the server does not answer")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
