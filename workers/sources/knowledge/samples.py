"""What the rows of a table show, or a few of them. Cheap on purpose: a big table is never scanned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from workers.sources.catalogue import Catalogue, Table
from workers.sources.drivers.base import MB, Driver
from workers.sources.errors import LimitReached, Refused, StatementFailed
from workers.sources.guard.check import check
from workers.sources.knowledge.value_index import LONGEST_VALUE, MOST_VALUES
from workers.sources.query import require_read_only, scrubbed
from workers.sources.values import Kind, Limits, Source, TableName, Visible

SAMPLE_ROWS = 1_000
SAMPLE_LIMITS = Limits(SAMPLE_ROWS, 32 * MB, 5.0)
"""A view that takes longer than this to show some rows is left unsampled."""

BIG = 20_000
"""Up to this many rows a table is read completely. Of a bigger one Postgres is asked for a part of its pages."""

MOST_COLUMNS = 200
MOST_LISTED = 12
LONGEST_LISTED = 40
"""Values of a column, and characters of each, that a dictionary lists; the value index takes more."""

PRIVATE = ("password", "passwd", "pwd", "secret", "token", "ssn", "iban", "email", "e_mail", "phone", "salary", "salt")
"""Columns with such a part in their name are never sampled."""


@dataclass(frozen=True)
class ColumnSample:
    """What a sample shows of a column: `low` and `high` of numbers and times, or all of a few texts."""

    name: str
    low: str = ""
    high: str = ""
    values: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """As a dictionary writes it. A value with a comma or dots in it would be misread: then nothing is listed."""
        readable = not any("," in value or "…" in value or len(value) > LONGEST_LISTED for value in self.values)
        if 0 < len(self.values) <= MOST_LISTED and readable:
            return ", ".join(self.values)
        return f"{self.low} … {self.high}" if self.low else ""


def sampled(source: Source, driver: Driver, catalogue: Catalogue) -> Iterator[tuple[TableName, list[ColumnSample]]]:
    """Sample every table through the guard, one after the other.

    A table that cannot be sampled within the limits gives an empty list. Raises SourceAway and LoginCanWrite.
    """
    with scrubbed(source):
        require_read_only(source, driver.access())
        visible = Visible(tuple(table.name for table in catalogue.tables), catalogue.path)
        for table in catalogue.tables:
            columns = [column.name for column in table.columns if not _is_private(column.name)][:MOST_COLUMNS]
            found: list[ColumnSample] = []
            if columns:
                for most in dict.fromkeys((_most_rows(table), SAMPLE_ROWS)):
                    with suppress(LimitReached, Refused, StatementFailed):
                        statement = check(sample_sql(source.kind, table, columns, most), source.kind.dialect, visible)
                        with driver.run(statement.sql, replace(SAMPLE_LIMITS, rows=most)) as result:
                            rows = pa.Table.from_batches(result.batches, result.schema)
                        whole = not _is_big(table) and len(rows) < most
                        found = [column_sample(name, rows.column(at), whole=whole) for at, name in enumerate(columns)]
                        break
            yield table.name, found


def _is_big(table: Table) -> bool:
    return (table.rows or 0) > BIG


def _most_rows(table: Table) -> int:
    """How many rows to read: all of a table that is known to be small."""
    return SAMPLE_ROWS if table.is_view or table.rows is None or _is_big(table) else BIG


def sample_sql(kind: Kind, table: Table, columns: list[str], most: int = SAMPLE_ROWS) -> str:
    """A SELECT of at most so many rows: of a big table in Postgres from a random part of its pages, else the first.

    A FLOAT of MySQL is asked for with all its digits; rounded to six it is refused.
    """
    mark = "`" if kind is Kind.MYSQL else '"'

    def quoted(name: str) -> str:
        return mark + name.replace(mark, mark * 2) + mark

    rounded = {each.name for each in table.columns if kind is Kind.MYSQL and each.type.lower().startswith("float")}
    listed = ", ".join(f"CAST({quoted(each)} AS DOUBLE)" if each in rounded else quoted(each) for each in columns)
    part = ""
    if kind is Kind.POSTGRES and not table.is_view and _is_big(table):
        percent = max(0.001, min(100.0, 100 * 3 * SAMPLE_ROWS / (table.rows or 1)))
        part = f" TABLESAMPLE SYSTEM ({percent:.3f})"
    place = f"{quoted(table.name.schema)}.{quoted(table.name.name)}"
    return f"SELECT {listed} FROM {place}{part} LIMIT {most}"  # noqa: S608  quoted, and the guard reads it


def column_sample(name: str, column: pa.ChunkedArray, *, whole: bool = True) -> ColumnSample:
    """What the rows tell of one column. Texts are listed only when they repeat: then they are names for kinds.

    `whole`: these are all rows. Some of them say nothing of the first and the last time in the table: tables grow.
    """
    kind = column.type
    full = column.drop_null()
    if not len(full):
        return ColumnSample(name)
    if pa.types.is_boolean(kind):
        return ColumnSample(name, values=tuple(sorted({str(value).lower() for value in full.to_pylist()})))
    if pa.types.is_temporal(kind) and not whole:
        return ColumnSample(name)
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind)
    ):
        try:
            ends = pc.min_max(full)
        except pa.ArrowException:
            return ColumnSample(name)
        return ColumnSample(name, _shown(ends["min"].as_py()), _shown(ends["max"].as_py()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        distinct = pc.unique(full).to_pylist()
        few = len(distinct) <= MOST_VALUES and len(distinct) * 2 <= len(full)
        if few and all(0 < len(value) <= LONGEST_VALUE and value.isprintable() for value in distinct):
            return ColumnSample(name, values=tuple(sorted(distinct)))
    return ColumnSample(name)


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_private(name: str) -> bool:
    return any(part in name.lower() for part in PRIVATE)
