"""`threadbook query` and `threadbook sources`: a named source is asked or looked at from the command line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.errors import SettingsError
from core.settings import Settings, source_url
from tryout.show import printable
from workers.sources.errors import SourceError
from workers.sources.opening import named_source, open_source
from workers.sources.query import checked, require_read_only, result_of, scrubbed, tables_of
from workers.sources.values import Result, Source

SHOWN_ROWS = 50
"""Rows that a table on the terminal shows; files and JSON hold all."""


@dataclass(frozen=True)
class Looked:
    """What was found of one source. `problem` says why it cannot be asked; `mend` is SQL that a person may run."""

    name: str
    kind: str = ""
    description: str = ""
    tables: tuple[str, ...] = ()
    latency_ms: float | None = None
    read_only: bool | None = None
    problem: str = ""
    mend: str = ""


@dataclass(frozen=True)
class Output:
    """Where the rows of a query go: a file by its kind, JSON on stdout, or a table on the terminal."""

    as_json: bool = False
    csv: Path | None = None
    parquet: Path | None = None


def run_query(settings: Settings, name: str, sql: str, output: Output, *, explain: bool = False) -> int:
    """Ask one source; 0 when all rows arrived. A result that was cut off leaves no file and prints no row."""
    try:
        source = _source(settings, name)
        with scrubbed(source), closing(open_source(source)) as driver:
            if explain:
                require_read_only(source, driver.access())
                statement = checked(source, driver, sql)
                print(statement.sql)
                tables = ", ".join(map(str, statement.tables)) or "no table"
                print(f"-- would be sent to {name} ({source.kind}); reads {tables}", file=sys.stderr)
                return 0
            with result_of(source, driver, sql) as result:
                _put(result, output)
    except (SourceError, SettingsError) as error:
        print(f"threadbook: {_lines(str(error))}", file=sys.stderr)
        return 1
    return 0


def run_sources(settings: Settings, *, as_json: bool = False) -> int:
    """Look at every source; 1 when one of them cannot be asked."""
    found = [look(settings, name) for name in settings.sources]
    if as_json:
        print(json.dumps([asdict(each) for each in found], ensure_ascii=False))
    elif not found:
        print("There are no sources. Write [sources.NAME] in threadbook.toml: see docs/sources.md.")
    else:
        _show(found)
    return 1 if any(each.problem for each in found) else 0


def look(settings: Settings, name: str) -> Looked:
    """Connect to a source and see what its login may do and read."""
    about = settings.sources[name].description
    kind = ""
    try:
        source = _source(settings, name)
        kind = source.kind.value
        with scrubbed(source), closing(open_source(source)) as driver:
            access = driver.access()
            began = time.perf_counter()
            tables = tuple(map(str, tables_of(source, driver).tables))
            latency = round((time.perf_counter() - began) * 1000, 1)
            problem = "" if access.read_only else f"its login could change data: {'; '.join(access.writes)}"
            if source.settings.accept_writable_login:
                problem = ""
            if not tables and not problem:
                problem = "it shows no table; look at the login's rights and at tables_allowed"
            return Looked(name, kind, about, tables, latency, access.read_only, problem, access.mend)
    except (SourceError, SettingsError) as error:
        return Looked(name, kind, about, problem=str(error))


def _source(settings: Settings, name: str) -> Source:
    url = source_url(settings, name)
    return named_source(name, settings.sources[name], url)


def _put(result: Result, output: Output) -> None:
    if output.parquet is not None:
        with _whole(output.parquet) as path, pa.parquet.ParquetWriter(path, result.schema) as writer:
            count = _each(result, writer.write_batch)
        print(f"{count:,} rows in {output.parquet}", file=sys.stderr)
    elif output.csv is not None:
        with _whole(output.csv) as path, pa.csv.CSVWriter(path, _flat(result.schema)) as writer:
            flat = _flat(result.schema)
            count = _each(result, lambda batch: writer.write_batch(_as_flat(batch, flat)))
        print(f"{count:,} rows in {output.csv}", file=sys.stderr)
    else:
        batches = list(result.batches)  # whole before anything is printed: a cut result is none
        rows = [row for batch in batches for row in _rows(batch)]
        if output.as_json:
            names = _distinct(result.schema.names)
            print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False, default=str))
        else:
            _print(result.schema, rows)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when all of it is written, and is removed otherwise."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _each(result: Result, write: Any) -> int:
    count = 0
    for batch in result.batches:
        write(batch)
        count += batch.num_rows
        if sys.stderr.isatty():
            print(f"\r{count:,} rows", end="\r", file=sys.stderr)
    return count


def _flat(schema: pa.Schema) -> pa.Schema:
    """The schema with lists, structs and intervals as text: CSV has no form for them."""
    plain = (pa.types.is_nested, pa.types.is_duration, pa.types.is_interval)
    return pa.schema(
        [pa.field(each.name, pa.string() if any(is_(each.type) for is_ in plain) else each.type) for each in schema]
    )


def _as_flat(batch: pa.RecordBatch, flat: pa.Schema) -> pa.RecordBatch:
    columns = [
        column
        if column.type == field.type
        else pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
        for column, field in zip(batch.columns, flat, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=flat)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """The rows of a batch. A batch without columns has none; names may repeat, so no row is a dict."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _distinct(names: list[str]) -> list[str]:
    """The names with a number behind those that were there before: JSON would keep only the last."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return distinct


def _print(schema: pa.Schema, rows: list[tuple[object, ...]]) -> None:
    table = Table()
    for name in schema.names:
        table.add_column(Text(printable(name)))
    for row in rows[:SHOWN_ROWS]:
        table.add_row(*["" if value is None else Text(printable(str(value))) for value in row])
    Console(highlight=False).print(table)
    shown = f"; the first {SHOWN_ROWS} are shown, --csv or --json gives all" if len(rows) > SHOWN_ROWS else ""
    print(f"{len(rows):,} rows{shown}")


def _lines(text: str) -> str:
    """What can be printed of each line: SQL that mends a login has several."""
    return "\n".join(map(printable, text.splitlines()))


def _show(found: list[Looked]) -> None:
    table = Table("source", "kind", "state", "read-only", "tables", "latency", "about")
    for each in found:
        state = "[red]no[/]" if each.problem else "[green]ok[/]"
        only = {True: "yes", False: "no", None: ""}[each.read_only]
        latency = "" if each.latency_ms is None else f"{each.latency_ms:.0f} ms"
        table.add_row(each.name, each.kind, state, only, str(len(each.tables)), latency, Text(each.description))
    console = Console(highlight=False)
    console.print(table)
    for each in found:
        if each.problem:
            console.print(Text(f"{each.name}: {_lines(each.problem)}"))
        if each.mend:
            console.print(Text(each.mend), soft_wrap=True)  # a wrapped line of SQL could not be copied
