"""DuckDB's engine behind locked settings, for the drivers of DuckDB files and of folders.

The walls: the file is opened read-only, nothing outside the allowed folder can be reached, no extension is fetched, the
settings are locked, and DuckDB's own parser must call the statement a single SELECT.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.sqltypes import DuckDBPyType

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table, catalogue_from
from workers.sources.drivers.base import Stop, capped
from workers.sources.drivers.plans import duckdb_rows
from workers.sources.errors import LookAgain, SourceAway, StatementFailed
from workers.sources.values import Access, ColumnInfo, Limits, Result, TableName, Visible

BATCH_ROWS = 10_000
MEMORY = "1GB"
THREADS = 2
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": MEMORY,
    "threads": str(THREADS),
    "temp_directory": "",
}
"""`python_enable_replacements`: else a name in SQL could be a variable of this process."""

AS_TEXT = {"uhugeint", "time with time zone", "bit", "bignum", "variant", "union"}
"""Types without a counterpart. They come as DuckDB writes them, also inside lists and structs."""
DAY_S = 24 * 60 * 60

_LOCKING = threading.Lock()


def lock(connection: duckdb.DuckDBPyConnection, folders: Sequence[str] = ()) -> None:
    """Close the engine: only these folders stay within reach, and no setting can be changed any more.

    Connections of this process to one file share an engine, so it may have been closed already.
    """
    with _LOCKING:
        if connection.execute("SELECT current_setting('lock_configuration')").fetchall() == [(True,)]:
            return
        if folders:
            listed = ", ".join(map(text, folders))
            connection.execute(f"SET allowed_directories = [{listed}]")
        connection.execute("SET GLOBAL TimeZone = 'UTC'")  # else a day would begin at this machine's midnight
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")


class LockedDuckDB:
    """A connection that was locked."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        hidden: Sequence[str] = (),
        found_unlike: Callable[[Exception], bool] = lambda error: False,
    ) -> None:
        """`hidden` is in no message. `found_unlike` says of an error whether a file has to be looked at again."""
        self._connection = connection
        self._found_unlike = found_unlike
        self._stop: Stop | None = None
        self._hidden = tuple(hidden)

    def access(self) -> Access:
        """The engine is opened for reading: there is nothing that the login could write."""
        return Access()

    def visible(self) -> Visible:
        """The tables and views of the source itself, not those of the engine."""
        found = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            "AND table_schema NOT IN ('information_schema', 'pg_catalog')"
        ).fetchall()
        return Visible(tuple(sorted(TableName(schema, name) for schema, name in found)), ("main",))

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns with DuckDB's types."""
        found = self._connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_catalog = current_database() "
            "AND table_schema = ? AND table_name = ? ORDER BY ordinal_position",
            [table.schema, table.name],
        ).fetchall()
        return tuple(ColumnInfo(name, kind) for name, kind in found)

    def catalogue(self) -> Catalogue:
        """What DuckDB's own catalogue tells. The views of a folder have no estimate of rows."""
        visible = self.visible()
        ask = self._connection.execute
        tables = {name: Table(name, (), is_view=True) for name in visible.tables}
        for schema, table, rows, comment in ask(
            "SELECT schema_name, table_name, estimated_size, comment FROM duckdb_tables() "
            "WHERE database_name = current_database()"
        ).fetchall():
            name = TableName(schema, table)
            tables[name] = Table(name, (), comment or "", rows)
        primary: dict[TableName, set[str]] = {}
        keys = []
        for schema, table, kind, columns, to, theirs in ask(
            "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
            "referenced_column_names FROM duckdb_constraints() WHERE database_name = current_database() "
            "AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')"
        ).fetchall():
            if kind == "PRIMARY KEY":
                primary.setdefault(TableName(schema, table), set()).update(columns)
            else:
                keys.append(
                    (TableName(schema, table), ForeignKey(tuple(columns), TableName(schema, to), tuple(theirs)))
                )
        columns = [
            (name, Column(column, kind, comment or "", column in primary.get(name, ())))
            for schema, table, column, kind, comment in ask(
                "SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns() "
                "WHERE database_name = current_database() ORDER BY table_name, column_index"
            ).fetchall()
            if (name := TableName(schema, table))
        ]
        return catalogue_from(tables, columns, keys, visible.path)

    @contextmanager
    def run(self, sql: str, limits: Limits) -> Iterator[Result]:
        """Run one statement that DuckDB itself calls a SELECT."""
        connection = self._connection
        with Stop(limits.seconds, connection.interrupt) as stop:
            self._stop = stop
            try:
                with self._errors(stop):
                    _one_select(connection, sql)
                    asked = connection.sql(sql)
                    names = asked.columns
                    if as_text := {at for at, kind in enumerate(asked.types) if _has_no_counterpart(kind)}:
                        asked = connection.sql(_with_texts(sql, len(names), as_text))
                    reader: pa.RecordBatchReader = asked.to_arrow_reader(BATCH_ROWS)
                    schema = pa.schema([each.with_name(name) for each, name in zip(reader.schema, names, strict=True)])
                yield Result(schema, capped(self._reading(reader, schema, stop), limits))
            finally:
                self._stop = None

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """What DuckDB's own plan says."""
        connection = self._connection
        with Stop(limits.seconds, connection.interrupt) as stop, self._errors(stop):
            _one_select(connection, sql)
            ((_, plan),) = connection.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()
            return duckdb_rows(json.loads(plan)[0])

    def cancel(self) -> None:
        """Interrupt the statement that runs now."""
        if (stop := self._stop) is not None:
            stop.cancel()

    def close(self) -> None:
        """Close the engine."""
        self._connection.close()

    def _reading(self, reader: pa.RecordBatchReader, schema: pa.Schema, stop: Stop) -> Iterator[pa.RecordBatch]:
        with self._errors(stop):
            for found in reader:
                stop.check()
                batch = pa.RecordBatch.from_arrays(found.columns, schema=schema)
                _require_finite(batch)
                yield batch
            stop.check()

    @contextmanager
    def _errors(self, stop: Stop) -> Iterator[None]:
        try:
            yield
        except (duckdb.OutOfMemoryException, MemoryError):
            raise MemoryError from None
        except (duckdb.Error, pa.ArrowException, RuntimeError, OSError) as error:
            stop.check()
            if self._found_unlike(error):
                raise LookAgain(
                    "A file has other values below its first rows, where only whole numbers are. Its columns have new "
                    "types now: send the statement again."
                ) from None
            said = " ".join(str(error).split())
            for secret in self._hidden:
                said = said.replace(secret, "…")
            if isinstance(error, duckdb.IOException | OSError):
                raise SourceAway(f"DuckDB cannot read its files now: {said[:300]}") from None
            unknown = said.partition('Referenced column "')[2].partition('"')[0]
            raise StatementFailed(f"DuckDB: {said[:500]}", unknown=unknown) from None


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def _has_no_counterpart(kind: DuckDBPyType) -> bool:
    """Whether Arrow gets values of this type cut, changed, or in DuckDB's own bytes."""
    if kind.id in AS_TEXT:
        return True
    if kind.id not in ("list", "array", "struct", "map"):
        return False
    return any(isinstance(inner, DuckDBPyType) and _has_no_counterpart(inner) for _, inner in kind.children)


def _with_texts(sql: str, columns: int, as_text: set[int]) -> str:
    """The statement inside one that casts these columns to text. The order of the rows stays."""
    wanted = ", ".join(f"CAST(c{at} AS VARCHAR)" if at in as_text else f"c{at}" for at in range(columns))
    names = ", ".join(f"c{at}" for at in range(columns))
    return f"SELECT {wanted} FROM ({sql}) AS q ({names})"  # noqa: S608  the checked statement itself


def _require_finite(batch: pa.RecordBatch) -> None:
    """Raise StatementFailed, naming the column, for what would arrive as another value: an infinite date, 24:00."""
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if what := "infinity" if _is_infinite(values) else "24:00" if _is_end_of_day(values) else "":
            raise StatementFailed(
                f"The column {name} holds {what}. Write CAST({name} AS text) in the query, or leave it out."
            )


def _is_end_of_day(values: pa.Array) -> bool:
    """Whether one of these times is 24:00, which would arrive as the first moment of the day."""
    kind = values.type
    if not pa.types.is_time64(kind):
        return False
    latest = pc.max(values.view(pa.int64())).as_py() or 0
    return bool(latest >= DAY_S * (1_000_000 if kind.unit == "us" else 1_000_000_000))


def _is_infinite(values: pa.Array) -> bool:
    """Whether one of these dates or moments, also inside of lists and structs, is the largest number of its kind."""
    kind = values.type
    if pa.types.is_list(kind):
        return _is_infinite(values.flatten())
    if pa.types.is_struct(kind):
        return any(map(_is_infinite, values.flatten()))
    if not pa.types.is_date32(kind) and not pa.types.is_timestamp(kind):
        return False
    largest = (1 << (kind.bit_width - 1)) - 1
    found = pc.min_max(values.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()))
    return bool(found["max"].as_py() == largest or found["min"].as_py() == -largest)


def _one_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise StatementFailed("DuckDB: only a single SELECT is run.")
