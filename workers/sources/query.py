"""Guard and driver together: what the broker and `threadbook query` call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from core.telemetry import redactor
from workers.sources.catalogue import Catalogue, only
from workers.sources.drivers.base import MB, Driver
from workers.sources.errors import LoginCanWrite, SourceError, StatementFailed
from workers.sources.guard.check import Checked, check
from workers.sources.guard.params import Param
from workers.sources.guard.tables import nearest, permitted
from workers.sources.scrub import secrets_of
from workers.sources.values import Access, Limits, Result, Source, Visible

MOST_NAMES = 30
"""Columns of a table that a hint lists."""


def tables_of(source: Source, driver: Driver) -> Visible:
    """The tables that may be read: what the login sees, less what the team's patterns leave out."""
    return permitted(driver.visible(), source.settings.tables_allowed, source.settings.tables_denied)


def catalogue_of(source: Source, driver: Driver) -> Catalogue:
    """What the database tells about the tables that may be read. No table is read for it."""
    return only(driver.catalogue(), tables_of(source, driver).tables)


def limits_of(source: Source) -> Limits:
    """What one statement of this source may take."""
    return Limits(source.settings.max_rows, source.settings.max_mb * MB, source.settings.timeout_s)


def checked(source: Source, driver: Driver, sql: str, params: Mapping[str, Param] | None = None) -> Checked:
    """The statement as it would be sent. Raises Refused, with the nearest known name where one was not known."""
    return check(sql, source.kind.dialect, tables_of(source, driver), params)


@contextmanager
def result_of(
    source: Source,
    driver: Driver,
    sql: str,
    params: Mapping[str, Param] | None = None,
    limits: Limits | None = None,
) -> Iterator[Result]:
    """Check a statement, send it, and read its rows while the context is open.

    `limits` are those of the source unless given. Raises a SourceError: Refused and LoginCanWrite before anything is
    sent; the others also while rows are read.
    """
    with scrubbed(source):
        require_read_only(source, driver.access())
        statement = checked(source, driver, sql, params)
        with hinted(driver, statement), driver.run(statement.sql, limits or limits_of(source)) as result:
            yield replace(result, sql=statement.sql)


@contextmanager
def hinted(driver: Driver, statement: Checked) -> Iterator[None]:
    """Add what helps to write a statement better to what the database says of it."""
    try:
        yield
    except StatementFailed as error:
        raise StatementFailed(f"{error}{_hint(driver, statement, error)}", error.unknown) from None


def require_read_only(source: Source, access: Access) -> None:
    """Raise LoginCanWrite when the login could write and the team has not accepted that."""
    if access.read_only or source.settings.accept_writable_login:
        return
    raise LoginCanWrite(
        f"The login of {source.name} could change data: {'; '.join(access.writes)}. Make one that can only read:\n"
        f"{access.mend}Or accept it: write accept_writable_login = true under [sources.{source.name}]."
    )


@contextmanager
def scrubbed(source: Source) -> Iterator[None]:
    """Take the secrets of the source out of every SourceError that passes."""
    try:
        yield
    except SourceError as error:
        redact = scrubber(source)
        error.args = tuple(redact(each) if isinstance(each, str) else each for each in error.args)
        raise


def scrubber(source: Source) -> Callable[[str], str]:
    """A function that hides the URL of a source, and what stands in it, in a text."""
    parts = sorted(secrets_of(source.url), key=len, reverse=True)
    general = redactor()

    def scrub(text: str) -> str:
        for part in parts:
            text = text.replace(part, "…")
        return general(text)

    return scrub


def _hint(driver: Driver, statement: Checked, error: StatementFailed) -> str:
    """What helps to write the statement better; empty where the database's own words have to do."""
    if not error.unknown and not error.is_denied:
        return ""
    columns = {table.name: [column.name for column in driver.columns(table)] for table in statement.tables}
    if error.unknown:
        return _did_you_mean(error.unknown, columns)
    readable = [f"{table}: {', '.join(names[:MOST_NAMES])}" for table, names in columns.items() if names]
    return f" The login may read {'; '.join(readable)}." if readable else ""


def _did_you_mean(unknown: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Where a column is that was not known, by the tables of the statement. Before its name may be an alias."""
    wanted = unknown.rpartition(".")[2].strip('`"')
    has_it = [name for name, names in columns.items() if wanted.casefold() in map(str.casefold, names)]
    if has_it:
        before = unknown.rpartition(".")[0]
        return f" {' and '.join(has_it)} has {wanted}, but {before or 'the place'} does not name that table there."
    near = nearest(wanted, [name for names in columns.values() for name in names])
    if near:
        of = f" of {next(table for table, names in columns.items() if near in names)}" if len(columns) > 1 else ""
        return f" Did you mean {near}{of}?"
    listed = [f"{table}: {', '.join(names[:MOST_NAMES])}" for table, names in columns.items()]
    return f" Columns there: {'; '.join(listed)}." if listed else ""
