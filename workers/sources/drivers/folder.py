"""A folder of Parquet and CSV files: each file is a table, and so is each subfolder of files of one kind."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from workers.sources.drivers.duck import CONFIG, LockedDuckDB, lock
from workers.sources.drivers.file_views import CSV, PARQUET, create_view, found_unlike
from workers.sources.errors import Misconfigured
from workers.sources.values import Source

READERS = {".parquet": PARQUET, ".csv": CSV, ".tsv": CSV}
MOST_TABLES = 2_000


def open_folder(source: Source) -> LockedDuckDB:
    """Open a folder. Raises Misconfigured when it is none, or holds no file that can be read."""
    _, separator, rest = source.url.get_secret_value().partition("://")
    folder = Path(rest.removeprefix("/") if separator else source.url.get_secret_value()).resolve()
    if not folder.is_dir():
        raise Misconfigured(
            f"The URL of {source.name} names no folder. Write folder:///relative/path or folder:////absolute/path."
        )
    found = tables_in(folder)
    if not found:
        raise Misconfigured(f"The folder of {source.name} holds no .parquet, .csv or .tsv file.")
    connection = duckdb.connect(":memory:", config=CONFIG)
    for name, (reader, path) in found.items():
        try:
            create_view(connection, name, reader, path, by_name=True)
        except duckdb.Error:
            connection.close()
            raise Misconfigured(
                f"The table {name} of {source.name} cannot be read: a file of it is damaged or unlike the others."
            ) from None
    lock(connection, [str(folder)])
    return LockedDuckDB(connection, [str(folder)], found_unlike)


def tables_in(folder: Path) -> dict[str, tuple[str, str]]:
    """The tables of a folder by name, each with DuckDB's reader and the path or pattern of its files.

    Links that lead out of the folder are left out. Raises Misconfigured when two files would have one name.
    """
    found: dict[str, tuple[str, str]] = {}
    for each in sorted(folder.iterdir())[:MOST_TABLES]:
        if each.name.startswith((".", "_")) or not each.resolve().is_relative_to(folder):
            continue
        if each.is_dir():
            own = {path.suffix for path in each.rglob("*") if path.suffix in READERS}
            if len(own) != 1:
                continue
            suffix, path = own.pop(), f"{_escaped(each)}/**/*"
            entry = (READERS[suffix], path + suffix)
        elif each.suffix in READERS:
            entry = (READERS[each.suffix], _escaped(each))
        else:
            continue
        name = table_name(each.stem if each.is_file() else each.name)
        if name in found:
            raise Misconfigured(f"Two files of the folder would both be the table {name}. Rename one of them.")
        found[name] = entry
    return found


def table_name(file: str) -> str:
    """The table of a file or folder of this name, without its ending."""
    return re.sub(r"\W+", "_", file).lower()


def _escaped(path: Path) -> str:
    return re.sub(r"([*?\[\]])", r"[\1]", str(path))
