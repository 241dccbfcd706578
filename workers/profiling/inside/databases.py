"""Database files: SQLite and DuckDB. Opened read-only, each table with the line of Python that reads it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from .bounds import Bounds
from .frames import cut, describe_frame, is_inexact
from .kinds import Unusable
from .lines import note

_STEPS = 100_000
"""Instructions of SQLite's machine between two looks at the count of them."""
_LOOKS = 2_000
"""Looks until a view or a generated column has taken too long: 200 million instructions, a few seconds. On a machine
that is busy it is stopped earlier, after a third of the time for the file: the tables beside it are still read."""


def sqlite(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The tables and views of a SQLite file. It loads no extension, writes nothing, attaches nothing."""
    try:
        # immutable: neither a journal beside the file nor a lock is looked at
        connection = sqlite3.connect(f"file:{_uri(path)}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    looks, until = iter(range(_LOOKS)), time.monotonic() + bounds.seconds / 3
    connection.set_progress_handler(lambda: next(looks, None) is None or time.monotonic() > until, _STEPS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 50_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        found = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY type, rootpage LIMIT 1000"
        ).fetchall()
        opened = f"sqlite3.connect({f'file:{_uri(path)}?mode=ro'!r}, uri=True)"
        return _described(
            "sqlite",
            [str(name) for (name,) in found],
            bounds,
            lambda query: _frame_of(connection, query),
            lambda name, frame: (
                f"pd.read_sql_query({_all_of(_identifier(name))!r}, {opened}"
                + (", dtype_backend='numpy_nullable')" if frame.attrs.get("exact") else ")")
            ),
        )
    except sqlite3.Error as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    finally:
        connection.close()


def duckdb(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The tables and views of a DuckDB file. Views that would read other files are refused by DuckDB itself."""
    import duckdb as engine  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{bounds.memory // 4_000_000}MB",
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_unsigned_extensions": False,
    }
    try:
        connection = engine.connect(path, read_only=True, config=config)
    except engine.Error as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    try:
        connection.execute("SET lock_configuration = true")
        found = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2 LIMIT 1000"
        ).fetchall()
        names = [name if schema == "main" else f"{schema}.{name}" for schema, name in found]
        places = {
            name: ".".join(map(_identifier, pair)) if pair[0] != "main" else _identifier(pair[1])
            for name, pair in zip(names, found, strict=True)
        }
        opened = f"duckdb.connect({path!r}, read_only=True)"
        return _described(
            "duckdb",
            names,
            bounds,
            lambda query: connection.execute(query).fetch_df(),
            lambda name, _: f"{opened}.sql({_all_of(places[name])!r}).df()",
            place_of=places.__getitem__,
        )
    except engine.Error as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    finally:
        connection.close()


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _all_of(place: str) -> str:
    return f"SELECT * FROM {place}"  # noqa: S608 - quoted


def _described(
    kind: str,
    names: list[str],
    bounds: Bounds,
    frame_of: Callable[[str], Any],
    line_of: Callable[[str, Any], str],
    *,
    place_of: Callable[[str], str] = _identifier,
) -> dict[str, Any]:
    """A note per table. If a table cannot be read, the first line says why; the others are still described."""
    tables = []
    for name in names[: bounds.sheets]:
        try:
            rows = int(frame_of(f"SELECT count(*) AS n FROM {place_of(name)}").iloc[0, 0])  # noqa: S608 - quoted
            frame = frame_of(f"{_all_of(place_of(name))} LIMIT {bounds.rows}")
        except MemoryError:
            raise
        except Exception as error:
            # a broken view, a virtual table of an extension: the engines raise whatever they like
            tables.append(_unread(name, bounds, error))
            continue
        table = describe_frame(frame, name, bounds, rows=rows, sampled=rows > len(frame))
        tables.append(table | {"read": line_of(name, frame)})
    if not tables:
        raise Unusable("no_tables")
    notes = [note("tables")] if len(names) > 1 else []
    if len(names) > len(tables):
        notes.append(note("more_tables", count=len(names) - len(tables)))
    sampled = max((len(table["head"]) and bounds.rows for table in tables if table["sampled"]), default=0)
    if sampled:
        notes.append(note("first_rows", rows=sampled))
    first = next((table["read"] for table in tables if table.get("read")), "")
    return {"format": kind, "tables": tables, "read_hint": first, "notes": notes}


def _frame_of(connection: sqlite3.Connection, query: str) -> Any:
    """The rows of a query. Text that is no UTF-8 is shown as far as it can be.

    Whole numbers beside gaps keep their last digits; where pandas must be told so, the frame's `attrs` have "exact".
    """
    import pandas as pd  # noqa: PLC0415 - as above

    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    frame = pd.DataFrame(rows, columns=names)
    inexact = [place for place in range(len(names)) if is_inexact(frame.iloc[:, place])]
    if any(isinstance(row[place], int) for row in rows for place in inexact):
        frame = pd.DataFrame(rows, columns=names, dtype=object).convert_dtypes()
        frame.attrs["exact"] = True
    return frame


def _unread(name: str, bounds: Bounds, error: Exception) -> dict[str, Any]:
    import pandas as pd  # noqa: PLC0415 - as above

    return describe_frame(pd.DataFrame(), name, bounds) | {"head": [cut(error, 160)]}


def _uri(path: str) -> str:
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "/._-") else quote(letter, safe="")
        for letter in path
    )
