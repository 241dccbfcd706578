"""The values of a data dictionary: tables with their columns, metrics, and what is wrong with a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from workers.sources.catalogue import Catalogue
from workers.sources.values import TableName


class Trust(StrEnum):
    """How far a team relies on a table or metric. A draft is `unreviewed` until a person has read it."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    UNREVIEWED = "unreviewed"


@dataclass(frozen=True)
class ColumnEntry:
    """What a team says about a column. `range` is `low … high`, or the values with commas between them."""

    name: str
    type: str = ""
    meaning: str = ""
    range: str = ""
    unit: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        """The values that the range lists; empty for `low … high`."""
        if "…" in self.range or "..." in self.range:
            return ()
        return tuple(value for part in self.range.split(",") if (value := part.strip()))


@dataclass(frozen=True)
class TableEntry:
    """What a team says about a table. `table` is its name as written: `orders` or `sales.orders`."""

    table: str
    meaning: str = ""
    source: str = ""
    trust: Trust = Trust.UNREVIEWED
    synonyms: tuple[str, ...] = ()
    columns: tuple[ColumnEntry, ...] = ()
    notes: str = ""

    def column(self, name: str) -> ColumnEntry | None:
        """The entry of a column; letter case does not count."""
        return next((each for each in self.columns if each.name.casefold() == name.casefold()), None)


@dataclass(frozen=True)
class Metric:
    """A number that a team defines. `sql` is a whole SELECT, or an expression over the one `table`."""

    name: str
    sql: str
    meaning: str = ""
    table: str = ""
    grain: str = ""
    filters: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    unit: str = ""
    owner: str = ""
    trust: Trust = Trust.UNREVIEWED

    @property
    def statement(self) -> str:
        """The SELECT that gives the number."""
        return f"SELECT {self.sql} AS value FROM {self.table}" if self.table else self.sql  # noqa: S608  guarded


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file. `line` counts from 1; 0 is the file as a whole."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


@dataclass(frozen=True)
class Dictionary:
    """All that a team wrote about one source, and what could not be read of it. `files` are those of the tables."""

    tables: tuple[TableEntry, ...] = ()
    metrics: tuple[Metric, ...] = ()
    faults: tuple[Fault, ...] = ()
    files: dict[str, str] = field(default_factory=dict, compare=False)


def described(catalogue: Catalogue, dictionary: Dictionary) -> dict[TableName, TableEntry]:
    """The entry of each live table that has one."""
    lookup = catalogue.lookup()
    named = ((lookup(entry.table), entry) for entry in dictionary.tables)
    return {name: entry for name, entry in named if name is not None}
