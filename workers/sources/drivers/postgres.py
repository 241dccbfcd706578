"""Postgres. The walls: a READ ONLY transaction that is always rolled back, and a cursor.

DECLARE … CURSOR takes one SELECT and nothing else: no second statement, no INTO, no data-changing WITH.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql as composed
from psycopg.types.string import TextLoader

from workers.sources.catalogue import Catalogue
from workers.sources.drivers import postgres_catalogue, rows
from workers.sources.drivers.base import Stop, capped, too_slow
from workers.sources.drivers.postgres_access import MEND, WRITES
from workers.sources.errors import LimitReached, Misconfigured, SourceAway, StatementFailed
from workers.sources.values import Access, ColumnInfo, Limits, Result, Source, TableName, Visible

CONNECT_S = 10
CATALOG_S = 20

PLAIN: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "oid": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "name": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "numeric": pa.float64(),
}
"""Arrow's type of each Postgres type that has one; every other type comes as Postgres writes it, as text."""

VISIBLE = """
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))
ORDER BY 1, 2
"""
COLUMNS = """
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum
"""


class PostgresDriver:
    """A connection of one login."""

    def __init__(self, source: Source) -> None:
        self._role = source.settings.role
        self._stop: Stop | None = None
        url = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", source.url.get_secret_value())
        try:
            self._connection = psycopg.connect(url, connect_timeout=CONNECT_S, application_name="threadbook")
        except psycopg.ProgrammingError:
            raise Misconfigured(f"The URL of {source.name} is no URL of Postgres.") from None
        except psycopg.Error as error:
            raise SourceAway(f"{source.name} cannot be reached: {_why(error)}.") from None
        self._connection.read_only = True
        for known in psycopg.adapters.types:
            if known.name not in PLAIN:
                self._connection.adapters.register_loader(known.oid, TextLoader)
            if known.array_oid and known.name not in PLAIN:
                self._connection.adapters.register_loader(known.array_oid, TextLoader)

    def access(self) -> Access:
        """The rights of the login, and of every role that it could take, beyond reading."""
        with self._transaction(CATALOG_S) as cursor:
            found = cursor.execute(WRITES).fetchall()
            login = cursor.execute("SELECT session_user, pg_catalog.current_database()").fetchone() or ("", "")
        writes = tuple(str(row[0]) for row in found)
        return Access(writes, MEND.format(database=_quoted(login[1])) if writes else "")

    def visible(self) -> Visible:
        """What the role can read, and its search path."""
        with self._transaction(CATALOG_S) as cursor:
            tables = tuple(TableName(schema, name) for schema, name in cursor.execute(VISIBLE).fetchall())
            path = cursor.execute("SELECT pg_catalog.current_schemas(false)::text[]").fetchone()
        return Visible(tables, tuple(path[0]) if path else ())

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns that the role can read."""
        with self._transaction(CATALOG_S) as cursor:
            found = cursor.execute(COLUMNS, (table.schema, table.name)).fetchall()
        return tuple(ColumnInfo(name, kind) for name, kind in found)

    def catalogue(self) -> Catalogue:
        """What the catalogue of Postgres tells, with `reltuples` as the estimate of rows."""
        visible = self.visible()
        with self._transaction(CATALOG_S) as cursor:
            statements = (postgres_catalogue.TABLES, postgres_catalogue.COLUMNS, postgres_catalogue.KEYS)
            return postgres_catalogue.catalogue(visible, *(cursor.execute(each).fetchall() for each in statements))

    @contextmanager
    def run(self, sql: str, limits: Limits) -> Iterator[Result]:
        """Run one SELECT through a cursor in a read-only transaction."""
        with Stop(limits.seconds, self._connection.cancel_safe) as stop:
            self._stop = stop
            try:
                with (
                    _errors(stop, limits.seconds),
                    self._transaction(limits.seconds),
                    closing(self._connection.cursor(name="threadbook")) as cursor,
                ):
                    cursor.execute(sql)
                    schema = rows.named(*_columns(cursor, self._connection))
                    yield Result(schema, capped(_reading(cursor, schema, stop, limits.seconds), limits))
            finally:
                self._stop = None

    def cancel(self) -> None:
        """End the statement at the server."""
        if (stop := self._stop) is not None:
            stop.cancel()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def _transaction(self, seconds: float) -> Iterator[psycopg.Cursor[Any]]:
        """A read-only transaction with the role taken. It is always rolled back, whatever READ ONLY lets through."""
        try:
            with _errors(None, seconds):
                cursor = self._connection.cursor()
                cursor.execute(
                    "SELECT pg_catalog.set_config('statement_timeout', %s, true), "
                    "pg_catalog.set_config('standard_conforming_strings', 'on', true), "
                    "pg_catalog.set_config('lock_timeout', '5s', true)",
                    (str(max(1, int(seconds * 1000))),),
                )
                if self._role:
                    cursor.execute(composed.SQL("SET LOCAL ROLE {}").format(composed.Identifier(self._role)))
                yield cursor
        finally:
            for _ in range(2):  # an end of the statement that comes late ends the first rollback
                with suppress(psycopg.Error):  # a lost connection is said by whatever was asked of it
                    self._connection.rollback()


def _reading(
    cursor: psycopg.ServerCursor[Any], schema: pa.Schema, stop: Stop, seconds: float
) -> Iterator[pa.RecordBatch]:
    def fetch(count: int) -> rows.Rows:
        stop.check()
        return cursor.fetchmany(count)

    with _errors(stop, seconds):
        yield from rows.batches(fetch, schema)


def _columns(
    cursor: psycopg.ServerCursor[Any], connection: psycopg.Connection[Any]
) -> tuple[list[str], list[pa.DataType]]:
    types: list[pa.DataType] = []
    for column in cursor.description or ():
        known = connection.adapters.types.get(column.type_code)
        kind = PLAIN.get(known.name, pa.string()) if known else pa.string()
        if (
            known
            and known.name == "numeric"
            and column.precision
            and column.precision <= 38
            and column.scale is not None
        ):
            kind = pa.decimal128(column.precision, column.scale)
        types.append(pa.list_(kind) if known and known.name in PLAIN and known.array_oid == column.type_code else kind)
    return [column.name for column in cursor.description or ()], types


@contextmanager
def _errors(stop: Stop | None, seconds: float) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.QueryCanceled:
        if stop is not None:
            stop.check()
        raise too_slow(seconds) from None
    except psycopg.errors.LockNotAvailable:
        raise LimitReached("A table is locked by somebody who changes it. Try again in a moment.") from None
    except (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown, psycopg.errors.CannotConnectNow):
        raise SourceAway("The connection to the source was lost. Try again in a moment.") from None
    except psycopg.Error as error:
        if stop is not None:
            stop.check()
        said = error.diag.message_primary
        if said is None and "out of memory" in str(error):  # this process has none, not the server
            raise MemoryError from None
        if said is None and isinstance(error, psycopg.OperationalError):
            raise SourceAway("The connection to the source was lost. Try again in a moment.") from None
        text = said or str(error).partition("\n")[0]
        hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
        unknown = re.findall(r'column "?([^" ]+)"? does not exist', text)
        raise StatementFailed(f"Postgres: {text}.{hint}", unknown=unknown[0] if unknown else "") from None


def _why(error: psycopg.Error) -> str:
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
