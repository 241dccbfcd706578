"""What the broker does for one request: find the source, check the statement, run it, put its rows into a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import sqlglot.expressions as exp

from core.errors import SettingsError
from core.settings import Settings, dictionary_folder, source_url
from core.telemetry import get_logger
from workers.sources.broker import rows_file
from workers.sources.broker.knowledge import Knowledge
from workers.sources.broker.memory import Memory
from workers.sources.broker.pool import Connection, Pool
from workers.sources.broker.requests import Answered, Ask, Request, State
from workers.sources.drivers.base import Driver
from workers.sources.errors import (
    Cancelled,
    LookAgain,
    Misconfigured,
    Refused,
    SourceAway,
    SourceError,
    StatementFailed,
)
from workers.sources.guard.dialects import FOLDS, dialect_of
from workers.sources.guard.tables import find, shown_name, suggestion
from workers.sources.opening import named_source, open_source
from workers.sources.query import checked, hinted, limits_of, require_read_only, result_of, scrubbed, tables_of
from workers.sources.values import ColumnInfo, Kind, Limits, Source, TableName

log = get_logger(__name__)

_CHECKED_BEFORE_A_YES = frozenset({Kind.POSTGRES, Kind.DUCKDB, Kind.FOLDER, Kind.S3})
"""A strict source of these kinds looks at a statement before people do. Their EXPLAIN computes no row. MySQL's may
compute a part of the statement, and its error may tell of it, before anybody said yes."""

Answer = tuple[Answered, int | None]
"""What is told, and the open file with the rows where there are some."""
Grows = Callable[[int], None]
"""Called with the bytes that a result grows by; see `Memory.result`."""
MOST_TABLES = 5_000
CANCEL_AGAIN_S = 0.2
AT_ONCE_S = 2.0


class Job:
    """A request at work. `leave` may be called by any thread: the statement is then ended at the server."""

    def __init__(self) -> None:
        self.had_kept_connection = False
        """Whether it worked on a connection that was used before."""
        self._left = threading.Event()
        self._lock = threading.Lock()
        """Held while a statement is being stopped, so that its connection is not given to another request."""
        self._driver: Connection | None = None

    def is_wanted(self) -> bool:
        """Whether somebody still waits for the answer."""
        return not self._left.is_set()

    def uses(self, driver: Connection | None) -> None:
        """This connection is at work for it from here on. Raises Cancelled when nobody waits any more."""
        with self._lock:
            self._driver = driver
        if driver is not None and not self.is_wanted():
            raise Cancelled("The query was stopped before it began.")

    def leave(self) -> None:
        """Nobody waits any more. Called again until it is over: a statement may be about to begin."""
        self._left.set()
        with self._lock:
            if self._driver is not None:
                with suppress(Exception):  # it ended meanwhile, or the next call ends it
                    self._driver.cancel()


class Broker:
    """The sources by name. `urls` are those of environment variables; files and `.env` are read when needed."""

    def __init__(
        self,
        settings: Settings,
        urls: Mapping[str, str],
        connect: Callable[[Source], Driver] = open_source,
        folder: Path | None = None,
    ) -> None:
        self.memory = Memory(settings.workers.broker_mb)
        self._settings = settings
        self._urls = urls
        self._connect = connect
        self._folder = folder
        self._lock = threading.Lock()
        self._pools: dict[str, Pool] = {}
        self._known: dict[str, Knowledge] = {}

    def kinds(self) -> dict[str, str]:
        """The kind of each source; "" for one that is not set up right."""
        found = {}
        for name in self._settings.sources:
            try:
                found[name] = self._pool(name).source.kind.value
            except SourceError:
                found[name] = ""
        return found

    def answer(self, request: Request, job: Job) -> Answer:
        """The answer, and the open file of its rows if it has some; the caller closes it. Raises SourceError."""
        pool = self._pool(request.ask.source)
        source = pool.source
        limits = limits_of(source)
        limits = Limits(limits.rows, min(limits.bytes, request.bytes), min(limits.seconds, request.seconds))
        began = time.monotonic()
        with self.memory.result() as grows, scrubbed(source):
            try:
                return self._once(pool, request, limits, job, grows)
            except LookAgain:
                return self._once(pool, request, limits, job, grows, fresh=True)
            except SourceAway:
                # A kept connection may be one that the server has closed: that shows at once, and nothing was given
                # out. A source that cannot be reached, or is lost in the middle of long work, is not asked twice.
                if not job.had_kept_connection or time.monotonic() - began > AT_ONCE_S:
                    raise
                return self._once(pool, request, limits, job, grows, fresh=True)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for pool in self._pools.values():
            pool.close()

    def _once(
        self, pool: Pool, request: Request, limits: Limits, job: Job, grows: Grows, *, fresh: bool = False
    ) -> Answer:
        with pool.connection(limits.seconds, job.is_wanted, fresh=fresh) as connection:
            job.had_kept_connection = connection.was_kept
            job.uses(connection)
            try:
                return self._looked_at_anew(pool.source, connection, request, limits, grows)
            except StatementFailed as error:
                if error.unknown:  # a column may have another name now
                    self._knowledge(pool.source).doubt()
                raise
            finally:
                job.uses(None)

    def _looked_at_anew(
        self, source: Source, connection: Connection, request: Request, limits: Limits, grows: Grows
    ) -> Answer:
        try:
            return self._answer(source, connection, request, limits, grows)
        except Refused:
            if not connection.forget():
                raise
            answer = self._answer(source, connection, request, limits, grows)  # a table may be new
            self._knowledge(source).doubt()
            return answer

    def _answer(self, source: Source, connection: Connection, request: Request, limits: Limits, grows: Grows) -> Answer:
        if request.only == "explain":
            require_read_only(source, connection.access())
            return _of_statement(
                source, connection, request.ask, lambda ask: _explained(source, connection, ask, limits)
            )
        if request.only == "state":
            connection.forget()
            return Answered(value=_state(source, connection).model_dump(mode="json")), None
        known = self._knowledge(source)
        if request.ask.ask != "schema":
            answered, descriptor = _answer(source, connection, request.ask, limits, grows)
            if answered.sql:
                found = known.computed_otherwise(answered.sql, tables_of(source, connection), request.names)
                answered = answered.model_copy(update={"otherwise": found})
            return answered, descriptor
        words, tokens = request.ask.words, request.tokens
        text = known.for_question(connection, words, tokens) if tokens else known.search(connection, words)
        return Answered(value=text), None

    def _knowledge(self, source: Source) -> Knowledge:
        with self._lock:
            folder = dictionary_folder(self._settings, source.name)
            return self._known.setdefault(source.name, Knowledge(source, folder))

    def _pool(self, name: str) -> Pool:
        with self._lock:
            if name not in self._pools:
                try:
                    url = source_url(self._settings, name, self._urls, self._folder)
                except SettingsError:
                    raise Misconfigured(f"The source {name} has no URL. `threadbook doctor` says what to do.") from None
                self._pools[name] = Pool(named_source(name, self._settings.sources[name], url), self._connect)
            return self._pools[name]


def _answer(source: Source, driver: Driver, ask: Ask, limits: Limits, grows: Grows) -> Answer:
    match ask.ask:
        case "tables":
            visible = tables_of(source, driver)
            return Answered(value=[shown_name(table, visible) for table in visible.tables[:MOST_TABLES]]), None
        case "columns":
            columns = driver.columns(_table(source, driver, ask.table))
            return Answered(value=[[column.name, column.type] for column in columns]), None
        case _:
            return _of_statement(source, driver, ask, lambda ask: _rows(source, driver, ask, limits, grows))


def _of_statement(source: Source, driver: Driver, ask: Ask, made: Callable[[Ask], Answer]) -> Answer:
    """What is made of the statement of what is asked; a sample is one too.

    Where a login may read only some columns of a table, a server refuses all of them. Then a sample has those columns.
    A FLOAT of MySQL is refused where it is rounded, and is then asked for with all its digits.
    """
    if ask.ask != "sample":
        return made(ask)
    table = _table(source, driver, ask.table)

    def of_columns(*columns: exp.Expr) -> Answer:
        named = exp.table_(table.name, db=table.schema or None, quoted=True)
        sql = exp.select(*columns).from_(named).limit(ask.rows).sql(dialect_of(source.kind.dialect))
        return made(ask.model_copy(update={"sql": sql, "params": {}}))

    try:
        return of_columns(exp.Star())
    except StatementFailed:
        readable = driver.columns(table)
        if not readable:
            raise
        return of_columns(*(_sampled(column, source.kind) for column in readable))


def _sampled(column: ColumnInfo, kind: Kind) -> exp.Expr:
    named = exp.column(column.name, quoted=True)
    if kind is Kind.MYSQL and column.type.lower().startswith("float"):
        return exp.alias_(exp.cast(named, "double"), column.name, quoted=True)
    return named


def _explained(source: Source, driver: Driver, ask: Ask, limits: Limits) -> Answer:
    statement = checked(source, driver, ask.sql, ask.params)
    given = source.settings
    is_checked = source.kind in _CHECKED_BEFORE_A_YES if given.strict else given.ask_above_rows
    with hinted(driver, statement):
        expected = driver.expected_rows(statement.sql, limits) if is_checked else None
    return Answered(value=[str(table) for table in statement.tables], sql=statement.sql, expected=expected), None


def _rows(source: Source, driver: Driver, ask: Ask, limits: Limits, grows: Grows) -> Answer:
    began = time.monotonic()
    with result_of(source, driver, ask.sql, ask.params, limits) as result:
        descriptor, rows, size = rows_file.write(result, grows)
        sql = result.sql
    seconds = round(time.monotonic() - began, 3)
    log.info("source_asked", source=source.name, rows=rows, bytes=size, seconds=seconds)
    return Answered(rows=rows, bytes=size, seconds=seconds, sql=sql), descriptor


def _state(source: Source, driver: Driver) -> State:
    access = driver.access()
    began = time.perf_counter()
    tables = tuple(str(table) for table in tables_of(source, driver).tables[:MOST_TABLES])
    latency = round((time.perf_counter() - began) * 1000, 1)
    return State(
        kind=source.kind.value, tables=tables, latency_ms=latency, writes=tuple(access.writes), mend=access.mend
    )


def _table(source: Source, driver: Driver, written: str) -> TableName:
    """The table that a name means, with or without a schema. Raises Refused with the nearest one."""
    visible = tables_of(source, driver)
    schema, _, name = written.rpartition(".")
    folds = FOLDS[source.kind.dialect]
    table = find(visible, schema, name, folds=folds) or find(visible, "", written, folds=folds)
    if table is None:
        raise Refused(f"The source has no table {written} that may be read. {suggestion(visible, written)}")
    return table
