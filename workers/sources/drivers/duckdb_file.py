"""DuckDB files."""

from __future__ import annotations

import duckdb

from workers.sources.drivers.duck import CONFIG, LockedDuckDB, lock
from workers.sources.drivers.sqlite import file_of
from workers.sources.errors import Misconfigured
from workers.sources.values import Source


def open_duckdb(source: Source) -> LockedDuckDB:
    """Open a file for reading. Raises Misconfigured when it is none, or when another process writes to it."""
    path = file_of(source, "duckdb")
    try:
        connection = duckdb.connect(str(path), read_only=True, config=CONFIG)
    except duckdb.Error as error:
        why = "another process has it open for writing" if "lock" in str(error).lower() else "it is no DuckDB file"
        raise Misconfigured(f"The file of {source.name} cannot be opened: {why}.") from None
    lock(connection)
    return LockedDuckDB(connection, [str(path.resolve()), str(path)])
