"""Views over Parquet and CSV files, in which no value is rounded.

DuckDB takes the types of the first Parquet file, and of the first rows of CSV, for those of all. It would make 2 of a
later 1.5 without a word.
"""

from __future__ import annotations

import re
from contextlib import suppress

import duckdb

from workers.sources.drivers.duck import quoted, text

CSV, PARQUET = "read_csv", "read_parquet"
_SIGN = "threadbook-unlike:"
_UNLIKE: set[str] = set()
"""Paths of CSV files with other values below their first rows. All rows of them are looked at for the types."""


def create_view(connection: duckdb.DuckDBPyConnection, name: str, reader: str, path: str, *, by_name: bool) -> None:
    """Create the view of a table. `by_name`: look into all of its Parquet files for columns and types.

    A column of whole numbers in CSV is read as text, and a value that is no whole number is an error with a sign.
    Raises what DuckDB raises.
    """
    options = ", union_by_name = true" if by_name and reader == PARQUET else ""
    if reader == CSV and path in _UNLIKE:
        options = ", sample_size = -1, files_to_sniff = -1"
    _create(connection, name, "*", f"{reader}({text(path)}{options})")
    if reader != CSV:
        return
    whole = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? AND data_type IN ?",
        [name, ["BIGINT", "HUGEINT"]],
    ).fetchall()
    if whole:
        columns = f"* REPLACE ({', '.join(_checked(column, kind, path) for column, kind in whole)})"
        types = ", ".join(f"{text(column)}: 'VARCHAR'" for column, _ in whole)
        with suppress(duckdb.Error):  # files that do not fit together: a statement on the first view says so
            _create(connection, name, columns, f"{reader}({text(path)}{options}, types = {{{types}}})")


def found_unlike(error: Exception) -> bool:
    """Whether an error has the sign of a view. The next view of this file then looks at all of its rows."""
    found = re.search(rf"{_SIGN}((?:[0-9a-f]{{2}})+)", str(error))
    if found:
        _UNLIKE.add(bytes.fromhex(found[1]).decode())
    return bool(found)


def _create(connection: duckdb.DuckDBPyConnection, name: str, columns: str, rows: str) -> None:
    connection.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS SELECT {columns} FROM {rows}")  # noqa: S608  quoted


def _checked(column: str, kind: str, path: str) -> str:
    """The column as the whole numbers that its text has."""
    name = quoted(column)
    value = f"TRY_CAST({name} AS {kind})"
    return (
        f"CASE WHEN {name} IS NULL OR {value} = TRY_CAST({name} AS DOUBLE) THEN {value} "
        f"ELSE error('{_SIGN}{path.encode().hex()}') END AS {name}"
    )
