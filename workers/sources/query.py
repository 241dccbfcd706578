"""Guard and driver together: what the broker and `threadbook query` call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
        try:
            with driver.run(statement.sql, limits or limits_of(source)) as result:
                yield replace(result, sql=statement.sql)
        except StatementFailed as error:
            raise StatementFailed(f"{error}{_did_you_mean(driver, statement, error.unknown)}", error.unknown) from None


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


def _did_you_mean(driver: Driver, statement: Checked, unknown: str) -> str:
    if not unknown:
        return ""
    names = [column.name for table in statement.tables for column in driver.columns(table)]
    near = nearest(unknown.rpartition(".")[2].strip('`"'), names)
    return f" Did you mean {near}?" if near else f" Columns there: {', '.join(names[:30])}."
