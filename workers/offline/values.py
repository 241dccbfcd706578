"""The values that the modules of the offline analyst exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from core.steps import CellRan

Kind = Literal["number", "date", "category", "flag", "id", "text", "empty"]
Aggregate = Literal["sum", "mean", "median", "count", "max", "min"]
Frequency = Literal["D", "W", "M", "Q", "Y"]
AnalysisKind = Literal[
    "profile",
    "rows",
    "trend",
    "change",
    "breakdown",
    "compare",
    "correlate",
    "distribution",
    "predict",
    "forecast",
    "total",
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `raw` is True when its dtype is text although it holds numbers or dates."""

    name: str
    kind: Kind
    dtype: str = "str"
    raw: bool = False
    missing: float = 0.0
    unique: int | None = None
    samples: tuple[str, ...] = ()


def of_kind(columns: Iterable[Column], *kinds: Kind) -> list[Column]:
    """The columns that hold one of these kinds."""
    return [column for column in columns if column.kind in kinds]


_OWN_LINES = frozenset(
    {"sqlite", "duckdb", "xlsb", "xls", "ods", "docx", "pptx", "stata", "spss", "sas", "pdf", "xml", "zip"}
)
"""Each table of these formats is loaded by a fixed line of its own, with nothing in it to change."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a file. `sheet` is set for one of several in a workbook; `rows` is None when unknown. `content` is the
    text of a table that stood in a message: its file is written when it is loaded. `has_blanks`: the file has blanks
    around names of columns, or several within one, that the columns here have not."""

    name: str
    path: str
    format: str
    columns: tuple[Column, ...]
    rows: int | None = None
    sheet: str | None = None
    encoding: str | None = None
    read: str = ""
    content: str = ""
    has_blanks: bool = False

    @property
    def has_own_line(self) -> bool:
        """Whether the line that loads the table is used unchanged, because no other line loads this table."""
        nested = self.format == "json" and "json.loads(" in self.read
        return self.format == "source" or (bool(self.read) and (nested or self.format in _OWN_LINES))

    def column(self, name: str) -> Column | None:
        """The column of this name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True)
class Join:
    """How tables become one frame: `base` first, `others` added by `key`, or stacked when key is None.

    `derived` columns are computed when the data is cleaned. `repeats`: rows of the others stand several times in the
    frame. Their numbers would count several times, so these columns are not used to compute with.
    """

    base: Table
    others: tuple[Table, ...] = ()
    key: str | None = None
    unused: tuple[Table, ...] = ()
    derived: tuple[Column, ...] = ()
    repeats: bool = False

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that are used, base first."""
        return (self.base, *self.others)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the joined frame; the first table that has a name wins."""
        seen: dict[str, Column] = {}
        for table in self.tables:
            for column in table.columns:
                if not (self.repeats and table is not self.base and column.kind == "number"):
                    seen.setdefault(column.name, column)
        return (*seen.values(), *self.derived)

    def column(self, name: str | None) -> Column | None:
        """The column of this name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)

    def names(self, *kinds: Kind) -> list[str]:
        """The names of the columns that hold one of these kinds."""
        return [column.name for column in of_kind(self.columns, *kinds)]

    def kind(self, name: str | None) -> Kind | None:
        """What the column of this name holds, if there is one."""
        column = self.column(name)
        return column.kind if column else None


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep (or with `keep` False leave out) the rows whose column holds one of the values. The values of a date column
    are those of dates.py, of a number bounds such as ">1000" or "<=5"."""

    column: str
    values: tuple[str, ...]
    keep: bool = True


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Words of a question that mean nothing known so far. `named` words may be a value: they are looked up in the data.

    `demanded` says that only the rows with them (or all but those) are asked for: without them there is no answer.
    """

    text: str
    named: bool = False
    demanded: bool = False


@dataclass(frozen=True, slots=True)
class Analysis:
    """One thing to compute and draw; `by` are the columns that it groups by, `other` a second measure."""

    kind: AnalysisKind
    by: tuple[str, ...] = ()
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """What a part of a question asks for, in terms of the columns at hand; `text` are its words.

    `top` and `ascending` order groups; `listed` asks for the rows themselves, one by one; `ahead` counts a
    forecast's periods; `by_drivers` asks for a breakdown by the columns that a model turns out to rely on; `lacks`
    names the kind of column that is needed and not there; `tested` asks whether differences are more than chance;
    `peak` asks which step of time stands out; `focus` is the group whose share is asked for; `period` is the time
    (a value of dates.py) whose change is asked about; `assumed` says that the question named no measure;
    `saved` asks for the tables as a workbook; `widened` are filters of before that no longer hold.
    """

    analyses: tuple[Analysis, ...]
    text: str = ""
    measure: str | None = None
    aggregate: Aggregate = "sum"
    date: str | None = None
    frequency: Frequency | None = None
    filters: tuple[Filter, ...] = ()
    top: int | None = None
    listed: bool = False
    ascending: bool = False
    chart: str | None = None
    no_refunds: bool = False
    target: str | None = None
    ahead: int | None = None
    by_drivers: bool = False
    lacks: Literal["", "date", "number"] = ""
    anomalies: bool = False
    beyond: bool = False
    tested: bool = False
    peak: bool = False
    focus: str = ""
    assumed: bool = False
    saved: bool = False
    widened: tuple[Filter, ...] = ()
    period: str = ""
    unplaced: tuple[Unplaced, ...] = ()

    @property
    def kinds(self) -> set[AnalysisKind]:
        """The kinds of its analyses."""
        return {each.kind for each in self.analyses}

    @property
    def groups(self) -> list[str]:
        """What its analyses group by."""
        return [by for each in self.analyses for by in each.by]


@dataclass(frozen=True, slots=True)
class Unclear:
    """The question can mean several columns, or names none that exist: ask, with these options."""

    word: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnContent:
    """What the analyst reads of one turn of the thread.

    `documents` are paths of files without a table, `problems` lines about files that could not be used, `cells` those
    of Python; `calls` counts the tool calls of the analyst and `questions` those that people were asked.
    """

    texts: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    documents: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    cells: tuple[CellRan, ...] = ()
    calls: int = 0
    questions: int = 0


Facts = dict[str, list[dict[str, Any]]]
"""What cells printed, by name of the fact, in order of printing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Code to run for a stage, with a title for people."""

    stage: str
    title: str
    code: str


Fixes = Mapping[tuple[str, str], Sequence[str]]
"""Changes to the code that follow from errors: by what kind and of which column or file, to what, in order.

The kinds are number, date, encoding, separator, bad_lines, merge and reader; only an encoding has a value.
"""
