"""SQLite files. The walls: opened with `mode=ro`, `query_only`, and an authorizer that knows five actions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table, catalogue_from
from workers.sources.drivers import rows
from workers.sources.drivers.base import Stop, capped
from workers.sources.errors import Misconfigured, SourceAway, StatementFailed
from workers.sources.values import Access, ColumnInfo, Limits, Result, Source, TableName, Visible

LONGEST_VALUE = 64 * 1024 * 1024
STEPS = 10_000
"""Instructions of SQLite's machine between two looks at the clock."""

READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
FILES = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


def _authorize(action: int, first: str | None, second: str | None, _base: str | None, _by: str | None) -> int:
    if action in READING or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in FILES):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


class SqliteDriver:
    """A file that is opened for reading alone."""

    def __init__(self, source: Source) -> None:
        self._stop: Stop | None = None
        path = file_of(source, "sqlite")
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False, isolation_level=None
            )
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("SELECT count(*) FROM sqlite_master")
            # Their first use declares a table, which the authorizer would refuse.
            self._connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
        except sqlite3.Error as error:
            raise Misconfigured(f"The file of {source.name} cannot be read as SQLite: {_plain(error)}.") from None
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)

    def access(self) -> Access:
        """A file that is opened for reading cannot be written."""
        return Access()

    def visible(self) -> Visible:
        """The tables and views of the file."""
        found = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        return Visible(tuple(sorted(TableName("main", name) for (name,) in found)), ("main",))

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns as they were declared."""
        found = self._connection.execute("SELECT name, type FROM pragma_table_info(?)", (table.name,))
        return tuple(ColumnInfo(name, kind) for name, kind in found)

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """SQLite's plans tell no rows."""
        return None

    def catalogue(self) -> Catalogue:
        """The tables as they were declared. The estimate of rows is the highest row number; a view has none."""
        ask = self._connection.execute
        visible = self.visible()
        views = {name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'view'")}
        columns = [
            (table, Column(name, kind, key=bool(key)))
            for table in visible.tables
            for name, kind, key in ask("SELECT name, type, pk FROM pragma_table_info(?)", (table.name,))
        ]
        found: dict[tuple[TableName, str, int], list[tuple[str, str | None]]] = {}
        for table in visible.tables:
            for number, to, own, theirs in ask(
                'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (table.name,)
            ):
                found.setdefault((table, to, number), []).append((own, theirs))
        keys = [
            (
                table,
                ForeignKey(
                    tuple(own for own, _ in pairs),
                    TableName("main", to),
                    tuple(theirs for _, theirs in pairs if theirs),  # without one, it is the other table's key
                ),
            )
            for (table, to, _), pairs in found.items()
        ]
        tables = {
            table: Table(
                table, (), rows=None if table.name in views else self._estimate(table), is_view=table.name in views
            )
            for table in visible.tables
        }
        return catalogue_from(tables, columns, keys, visible.path)

    def _estimate(self, table: TableName) -> int | None:
        """The highest row number: SQLite finds it without reading the table. None if rows have no numbers."""
        quoted = '"' + table.name.replace('"', '""') + '"'
        try:
            highest = self._connection.execute(f"SELECT max(rowid) FROM {quoted}").fetchone()[0]  # noqa: S608  quoted
        except sqlite3.Error:
            return None
        return max(0, int(highest)) if isinstance(highest, int) else 0

    @contextmanager
    def run(self, sql: str, limits: Limits) -> Iterator[Result]:
        """Run one statement behind the authorizer."""
        connection = self._connection
        with Stop(limits.seconds, connection.interrupt) as stop:
            self._stop = stop
            connection.set_authorizer(_authorize)
            # interrupt() between two statements is forgotten; this ends a statement that began just after it.
            connection.set_progress_handler(lambda: int(_ended(stop)), STEPS)
            cursor = connection.cursor()
            try:
                with _errors(stop):
                    cursor.execute(sql)
                    schema, first = _typed(cursor, limits)
                yield Result(schema, capped(_reading(cursor, schema, first, stop), limits))
            finally:
                cursor.close()
                connection.set_progress_handler(None, 0)
                connection.set_authorizer(None)
                self._stop = None

    def cancel(self) -> None:
        """Interrupt the statement that runs now."""
        if (stop := self._stop) is not None:
            stop.cancel()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def file_of(source: Source, scheme: str) -> Path:
    """The path in a URL such as `sqlite:///data/shop.db` (four slashes: an absolute one). Raises Misconfigured."""
    _, _, rest = source.url.get_secret_value().partition("://")
    path = Path(rest.partition("?")[0].removeprefix("/"))
    if not rest.startswith("/") or not path.is_file():
        raise Misconfigured(
            f"The URL of {source.name} names no file that can be read. Write {scheme}:///relative/path or "
            f"{scheme}:////absolute/path."
        )
    return path


def _typed(cursor: sqlite3.Cursor, limits: Limits) -> tuple[pa.Schema, list[tuple[object, ...]]]:
    """The schema, and the rows that had to be read to know it: SQLite declares no types for results."""
    if cursor.description is None:
        raise StatementFailed("The statement gives no rows. A source takes a SELECT.")
    names = [column[0] for column in cursor.description]
    first: list[tuple[object, ...]] = []
    only_nulls, size = set(range(len(names))), 0
    # A column that begins with nulls is read on, so that its later values are not taken for a fault.
    while (only_nulls or len(first) < rows.FIRST_ROWS) and len(first) <= limits.rows and size <= limits.bytes:
        if not (more := cursor.fetchmany(rows.WIDE_ROWS)):
            break
        first += more
        only_nulls -= {at for row in more for at in only_nulls if row[at] is not None}
        size += sum(len(value) for row in more for value in row if isinstance(value, str | bytes))
    types = [rows.guessed(values) for values in zip(*first, strict=True)] or [None] * len(names)
    return rows.named(names, [kind or pa.null() for kind in types]), first


def _reading(
    cursor: sqlite3.Cursor, schema: pa.Schema, first: list[tuple[object, ...]], stop: Stop
) -> Iterator[pa.RecordBatch]:
    def fetch(count: int) -> rows.Rows:
        stop.check()
        taken = first[:count]
        del first[:count]
        return taken or cursor.fetchmany(count)

    with _errors(stop):
        yield from rows.batches(fetch, schema)


def _ended(stop: Stop) -> bool:
    try:
        stop.check()
    except Exception:
        return True
    return False


@contextmanager
def _errors(stop: Stop) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        stop.check()
        if "unable to open" in str(error) or "disk I/O" in str(error):
            raise SourceAway(f"The file cannot be read now: {_plain(error)}.") from None
        text = _plain(error)
        unknown = text.partition("no such column: ")[2]
        raise StatementFailed(f"SQLite: {text}.", unknown=unknown) from None


def _plain(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
