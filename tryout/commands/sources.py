"""`threadbook query` and `threadbook sources`: query or check a named source from the command line."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pydantic import ValidationError
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.errors import OursToFix, SettingsError, ThreadbookError
from core.settings import Settings, environment_with, source_url
from core.store import Store, StoreUnreachable
from tryout.commands.operator import operator
from tryout.commands.show import printable
from tryout.commands.whole_files import whole_file
from workers.agent.text import clip
from workers.sources.broker.broker import Broker
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Answered, Ask, Request, State
from workers.sources.broker.server import Server
from workers.sources.drivers.base import MB
from workers.sources.errors import SourceError
from workers.sources.opening import named_source
from workers.sources.values import Result

RUNS_S = 2.0
"""A broker that runs says within this time which sources it has."""
AUDIT_CHARS = 1_000
"""Characters of a statement that the audit keeps."""
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
    """Ask one source; 0 when all rows arrived. A result that was cut off leaves no file and prints no row.

    The audit says what was asked. Rows that it cannot be written for are not shown.
    """
    try:
        with asked_by_broker(settings, name) as ask:
            if explain:
                answer, _ = ask(Ask(ask="rows", source=name, sql=sql), "explain")
                print(answer.sql)
                print(f"-- would be sent to {name}; reads {', '.join(answer.value) or 'no table'}", file=sys.stderr)
                return 0
            try:
                answer, descriptor = ask(Ask(ask="rows", source=name, sql=sql), "")
            except SourceError as error:
                _audit(settings, name, "refused", {"sql": sql, "why": type(error).__name__})
                raise
            with os.fdopen(descriptor if descriptor is not None else os.open(os.devnull, os.O_RDONLY), "rb") as file:
                _audit(settings, name, "done", {"sql": answer.sql, "rows": answer.rows or 0})
                with pa.ipc.open_stream(file) as rows:
                    _put(Result(rows.schema, iter(rows)), output, answer.rows or 0)
    except (SourceError, SettingsError, NotAudited) as error:
        print(f"threadbook: {_lines(str(error))}", file=sys.stderr)
        return 1
    except ValidationError:
        print("threadbook: the statement is longer than a source takes.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("threadbook: the query was stopped at the server.", file=sys.stderr)
        return 130
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
    about, kind = settings.sources[name].description, ""
    try:
        with suppress(SourceError, SettingsError):
            kind = named_source(name, settings.sources[name], source_url(settings, name)).kind.value
        with asked_by_broker(settings, name) as ask:
            answer, _ = ask(Ask(ask="tables", source=name), "state")
        state = State.model_validate(answer.value)
    except (SourceError, SettingsError) as error:
        return Looked(name, kind, about, problem=str(error))
    problem = f"its login could change data: {'; '.join(state.writes)}" if state.writes else ""
    if settings.sources[name].accept_writable_login:
        problem = ""
    if not state.tables and not problem:
        problem = "it shows no table; look at the login's rights and at tables_allowed"
    return Looked(name, state.kind, about, state.tables, state.latency_ms, not state.writes, problem, state.mend)


Asking = Callable[[Ask, Literal["", "explain", "state"]], tuple[Answered, int | None]]
"""Asks the broker, with a line of progress on stderr; the caller closes the open file of rows."""


@contextmanager
def asked_by_broker(settings: Settings, name: str) -> Iterator[Asking]:
    """The broker that runs on this node; without one that knows the source, one of our own while the context is open.

    So the limits, the guard and the scrubbing are those of cells. A statement ends at the server with Ctrl-C. Raises
    SettingsError for a name that is not known, and for a source without a URL where the broker is our own.
    """
    with ExitStack() as stack:
        client = BrokerClient(settings.broker_socket, back_s=0.0)
        if name not in _known(client):
            source_url(settings, name)  # what is wrong with its place is said in full here
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="threadbook-")))
            server = Server(Broker(settings, environment_with()), folder / "broker.sock")
            thread = threading.Thread(target=server.serve, name="broker", daemon=True)
            thread.start()
            stack.callback(server.close)
            client = BrokerClient(folder / "broker.sock")
        source = settings.sources[name]

        def ask(what: Ask, only: Literal["", "explain", "state"]) -> tuple[Answered, int | None]:
            request = Request(ask=what, seconds=source.timeout_s, bytes=source.max_mb * MB, only=only)
            with _progress(f"asking {name}"):
                return client.ask(request, threading.Event())

        yield ask


def _known(client: BrokerClient) -> Collection[str]:
    try:
        return client.kinds(RUNS_S)
    except SourceError:
        return ()


class NotAudited(ThreadbookError):
    """The audit could not be written."""


def _audit(settings: Settings, name: str, outcome: str, details: dict[str, int | str]) -> None:
    """Record who asked what. If the installation was never started, its Store is created. Raises NotAudited."""
    told = {key: clip(value, AUDIT_CHARS) if isinstance(value, str) else value for key, value in details.items()}
    with closing(Store(settings.database_url)) as store:
        try:
            try:
                store.audit(operator(settings), Action.QUERY.value, name, outcome, details=told)
            except (SQLAlchemyError, StoreUnreachable):
                store.migrate()
                store.audit(operator(settings), Action.QUERY.value, name, outcome, details=told)
        except (SQLAlchemyError, StoreUnreachable, OursToFix):
            raise NotAudited(
                "The Store cannot be written, so nobody would know that this was asked: no row is shown. "
                "Check DATABASE_URL."
            ) from None


@contextmanager
def _progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A line on stderr, gone at the end; none where stderr is no terminal. Called with what is done so far."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)

        def done(rows: int) -> None:
            of = f" of {total:,}" if total is not None else ""
            shown.update(task, completed=rows, description=f"{what}: {rows:,}{of} rows")

        yield done


def _put(result: Result, output: Output, total: int) -> None:
    if output.parquet is not None:
        with whole_file(output.parquet) as path, pa.parquet.ParquetWriter(path, result.schema) as writer:
            count = _each(result, writer.write_batch, total)
        print(f"{count:,} rows in {output.parquet}", file=sys.stderr)
    elif output.csv is not None:
        with whole_file(output.csv) as path, pa.csv.CSVWriter(path, _flat(result.schema)) as writer:
            flat = _flat(result.schema)
            count = _each(result, lambda batch: writer.write_batch(_as_flat(batch, flat)), total)
        print(f"{count:,} rows in {output.csv}", file=sys.stderr)
    else:
        rows = [row for batch in result.batches for row in _rows(batch)]
        if output.as_json:
            names = _distinct(result.schema.names)
            print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False, default=str))
        else:
            _print(result.schema, rows)


def _each(result: Result, write: Callable[[pa.RecordBatch], object], total: int) -> int:
    count = 0
    with _progress("writing", total) as done:
        for batch in result.batches:
            write(batch)
            count += batch.num_rows
            done(count)
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
    """What can be printed of each line: SQL that corrects a login has several."""
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
