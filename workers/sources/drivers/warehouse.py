"""Databases that SQLAlchemy knows and that have no driver of their own here. Their driver is an extra.

The rights of the login protect the database. There is no common way to check them, so a team has to write that it
accepts the login. On this side the guard protects it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table, catalogue_from
from workers.sources.drivers import rows
from workers.sources.drivers.base import Stop, capped
from workers.sources.errors import Misconfigured, SourceAway, StatementFailed
from workers.sources.values import Access, ColumnInfo, Kind, Limits, Result, Source, TableName, Visible


@dataclass(frozen=True)
class Warehouse:
    """How SQLAlchemy calls a database, the module of its driver, and the extra that installs it."""

    dialect: str
    module: str
    extra: str


WAREHOUSES = {
    Kind.CLICKHOUSE: Warehouse("clickhousedb", "clickhouse_connect", "clickhouse"),
    Kind.SNOWFLAKE: Warehouse("snowflake", "snowflake.sqlalchemy", "snowflake"),
    Kind.BIGQUERY: Warehouse("bigquery", "sqlalchemy_bigquery", "bigquery"),
    Kind.TRINO: Warehouse("trino", "trino", "trino"),
    Kind.MSSQL: Warehouse("mssql+pymssql", "pymssql", "mssql"),
}
SYSTEM = {"information_schema", "system", "sys", "guest"}
MEND = "Grant this login SELECT on the tables that may be asked, and no other right.\n"


def require_driver(source: Source) -> None:
    """Raise Misconfigured with the extra to install when the driver is not there."""
    wanted = WAREHOUSES[source.kind]
    with suppress(ModuleNotFoundError):
        if find_spec(wanted.module) is not None:
            return
    raise Misconfigured(
        f"The driver of {source.name} is not installed. Run pip install 'threadbook[{wanted.extra}]', "
        "and start the worker again."
    )


class WarehouseDriver:
    """A connection of one login."""

    def __init__(self, source: Source) -> None:
        require_driver(source)
        self._stop: Stop | None = None
        self._cursor: Any = None
        self._name = source.name
        self._is_doubtful = False
        """Whether something failed on the connection: few of these drivers tell a lost one from a wrong statement."""
        try:
            url = make_url(source.url.get_secret_value()).set(drivername=WAREHOUSES[source.kind].dialect)
            self._engine = sa.create_engine(url, poolclass=NullPool)
        except (ArgumentError, ValueError, TypeError, sa.exc.NoSuchModuleError):
            raise Misconfigured(f"The URL of {source.name} cannot be used by its driver.") from None
        self._connection = self._connect()

    def access(self) -> Access:
        """What nobody can look up here counts as a right to write."""
        return Access(("its rights cannot be looked up in a database of this kind",), MEND)

    def visible(self) -> Visible:
        """The tables and views of all schemas but the system's."""
        with self._looking() as inspector:
            default = inspector.default_schema_name or ""
            schemas = [each for each in inspector.get_schema_names() if each.casefold() not in SYSTEM]
            found = {
                TableName(self._own(schema), self._own(name))
                for schema in schemas
                for name in (*inspector.get_table_names(schema), *inspector.get_view_names(schema))
            }
        return Visible(tuple(sorted(found)), (self._own(default),) if default else tuple(sorted(schemas)))

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns as SQLAlchemy tells them."""
        with self._looking() as inspector:
            try:
                found = inspector.get_columns(self._shown(table.name), self._shown(table.schema))
            except sa.exc.NoSuchTableError:
                return ()
            return tuple(ColumnInfo(self._own(each["name"]), str(each["type"])) for each in found)

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """Each of these databases would tell it in another way; none is asked."""
        return None

    def catalogue(self) -> Catalogue:
        """Columns, comments and keys; there is no estimate of rows."""
        visible = self.visible()
        columns: list[tuple[TableName, Column]] = []
        keys: list[tuple[TableName, ForeignKey]] = []
        with self._looking() as inspector:
            for table in visible.tables:
                place = self._shown(table.name), self._shown(table.schema)
                columns += [
                    (table, Column(self._own(each["name"]), str(each["type"]), str(each.get("comment") or "")))
                    for each in inspector.get_columns(*place)
                ]
                with suppress(NotImplementedError):  # a database without keys
                    keys += [(table, self._key(each, place[1])) for each in inspector.get_foreign_keys(*place)]
        return catalogue_from({table: Table(table, ()) for table in visible.tables}, columns, keys, visible.path)

    @contextmanager
    def run(self, sql: str, limits: Limits) -> Iterator[Result]:
        """Run one statement; its rows are read as they come, and whatever it began is rolled back."""
        raw = self._open().connection
        with Stop(limits.seconds, self._end) as stop:
            self._stop = stop
            try:
                with self._errors(stop):
                    self._cursor = raw.cursor()
                    self._cursor.execute(sql)
                    schema, first = _typed(self._cursor, limits)
                yield Result(schema, capped(self._reading(schema, first, stop), limits))
            finally:
                with suppress(Exception):  # it was ended
                    self._cursor.close()
                with suppress(Exception):  # it was ended, or the database has no transactions
                    raw.rollback()
                self._stop, self._cursor = None, None

    def cancel(self) -> None:
        """End the statement, as far as its driver can."""
        if (stop := self._stop) is not None:
            stop.cancel()

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):  # it is lost
            self._connection.close()
        self._engine.dispose()

    def _connect(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except Exception:  # each driver has errors of its own, and they name hosts and logins
            raise SourceAway(f"{self._name} cannot be reached: its driver gives no connection.") from None

    def _open(self) -> sa.Connection:
        """The connection, or a new one after something failed on it."""
        if self._is_doubtful:
            with suppress(Exception):  # it is lost
                self._connection.close()
            self._connection, self._is_doubtful = self._connect(), False
        return self._connection

    @contextmanager
    def _looking(self) -> Iterator[sa.Inspector]:
        try:
            yield sa.inspect(self._open())
        except sa.exc.SQLAlchemyError as error:
            self._is_doubtful = True
            raise StatementFailed(f"The database did not tell of its tables ({type(error).__name__}).") from None

    def _reading(self, schema: pa.Schema, first: list[Sequence[Any]], stop: Stop) -> Iterator[pa.RecordBatch]:
        def fetch(count: int) -> rows.Rows:
            stop.check()
            taken = first[:count]
            del first[:count]
            return taken or list(self._cursor.fetchmany(count))

        with self._errors(stop):
            yield from rows.batches(fetch, schema)

    @contextmanager
    def _errors(self, stop: Stop) -> Iterator[None]:
        try:
            yield
        except (StatementFailed, MemoryError, pa.ArrowMemoryError):
            raise
        except Exception as error:  # each driver has errors of its own; the caller takes hosts and passwords out
            self._is_doubtful = True
            stop.check()
            if self._is_lost(error):
                raise SourceAway("The connection to the source was lost. Try again in a moment.") from None
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise StatementFailed(f"The database says: {said}") from None

    def _is_lost(self, error: Any) -> bool:
        """Whether the connection is lost, as far as SQLAlchemy knows the driver's errors."""
        with suppress(Exception):
            raw = self._connection.connection.driver_connection
            return bool(self._engine.dialect.is_disconnect(error, raw, self._cursor))
        return False

    def _key(self, told: Mapping[str, Any], schema: str) -> ForeignKey:
        to = TableName(self._own(told.get("referred_schema") or schema), self._own(told["referred_table"]))
        own, theirs = (tuple(map(self._own, told[key])) for key in ("constrained_columns", "referred_columns"))
        return ForeignKey(own, to, theirs)

    def _end(self) -> None:
        """By the driver's own `cancel`; a driver without one loses its connection, and the server its reader."""
        for each in (self._cursor, self._connection.connection.driver_connection):
            if callable(cancel := getattr(each, "cancel", None)):
                with suppress(Exception):
                    cancel()
                return
        with suppress(Exception):
            self._connection.invalidate()

    def _own(self, name: str) -> str:
        """The name as the database holds it: SQLAlchemy writes the ordinary ones of some databases in small letters."""
        dialect = self._engine.dialect
        return str(dialect.denormalize_name(name)) if dialect.requires_name_normalize else str(name)

    def _shown(self, name: str) -> str:
        dialect = self._engine.dialect
        return str(dialect.normalize_name(name)) if dialect.requires_name_normalize else name


def _typed(cursor: Any, limits: Limits) -> tuple[pa.Schema, list[Sequence[Any]]]:
    """The schema by the first values of each column: drivers name types in words of their own."""
    if cursor.description is None:
        raise StatementFailed("The statement gives no rows. A source takes a SELECT.")
    first: list[Sequence[Any]] = []
    while len(first) < min(rows.FIRST_ROWS, limits.rows + 1) and (more := cursor.fetchmany(rows.WIDE_ROWS)):
        first += more
    names = [str(column[0]) for column in cursor.description]
    kinds = [_guessed(values) for values in zip(*first, strict=True)] or [pa.string()] * len(names)
    return rows.named(names, kinds), first


def _guessed(values: Sequence[Any]) -> pa.DataType:
    """The type of these values. Text when they are of several kinds, or all missing: later ones may be anything."""
    seen = [value for value in values if value is not None]
    kinds = {type(value) for value in seen}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {Decimal}:
        scale = max([0, *(-int(value.as_tuple().exponent) for value in seen if value.is_finite())])
        return pa.decimal128(38, scale) if scale <= 38 else pa.float64()
    if kinds == {datetime.date}:
        return pa.date32()
    if kinds == {datetime.datetime}:
        return pa.timestamp("us", "UTC" if any(value.tzinfo for value in seen) else None)
    return rows.guessed(values) or pa.string()
