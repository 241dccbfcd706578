"""The tables behind a report with values of their kinds: numbers as numbers, dates as dates, everything else as text.

They come from the report's Markdown, from the last values of its cells, and from the data of its charts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from core.phrases import number, say
from core.steps import CellRan, ChartData, FigureSource, Scalar, TableData
from core.values import Language
from workers.agent.report.sourcing import SIGN
from workers.delivery.reports.formats.prose import Grid, parts_of
from workers.delivery.reports.tables import are_keys
from workers.delivery.reports.values import ReportInput

Mark = Literal["point", "comma"]
"""What stands before decimals."""
Item = bool | int | float | str | date | datetime | None

TEXT: Final = "@"
GENERAL: Final = "General"
DAY: Final = "yyyy-mm-dd"
MOMENT: Final = "yyyy-mm-dd hh:mm"
_BLANKS: Final = frozenset({"", "-", "–", "—", "n/a", "NaN", "nan", "None", "<NA>", "NaT"})
_EXACT_DIGITS: Final = 15
"""A spreadsheet keeps so many digits of a number; a longer one is a key and stays text."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its values, and their format in the words of spreadsheets.

    `currency` is what stood beside each number of a text, and stands in the format now. `unsourced` are the places of
    the numbers that nothing backs.
    """

    name: str
    values: tuple[Item, ...]
    format: str = GENERAL
    currency: str = ""
    unsourced: frozenset[int] = frozenset()

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        filled = [value for value in self.values if value is not None]
        return bool(filled) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in filled)


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table with its title, where it comes from, and what of it is missing here ("" for nothing)."""

    title: str
    columns: tuple[Column, ...]
    source: str = ""
    missing: str = ""

    @property
    def rows(self) -> list[tuple[Item, ...]]:
        """The values by rows."""
        return list(zip(*(column.values for column in self.columns), strict=True))


def tables_of(given: ReportInput) -> list[DataTable]:
    """All tables behind this report: those that it shows, then those of its cells, then the data of its charts."""
    return _each_once([*_written(given), *_computed(given), *_charted(given)])


def answer_tables(given: ReportInput) -> list[DataTable]:
    """The tables that the report shows. If it shows none: the tables of its cells and the data of its charts."""
    return _each_once(_written(given)) or tables_of(given)


def _each_once(found: Iterable[DataTable]) -> list[DataTable]:
    known: dict[tuple[tuple[Item, ...], ...], DataTable] = {}
    for table in found:
        known.setdefault(tuple(column.values for column in table.columns), table)
    return [table for table in known.values() if table.columns and table.rows]


def typed_grid(title: str, grid: Grid, mark: Mark, source: str = "") -> DataTable:
    """A table of texts with the values that they say. `mark` stands before their decimals."""
    head, *rows = grid.rows or ((),)
    texts = [[row[place] if place < len(row) else "" for row in rows] for place in range(len(head))]
    return DataTable(title, tuple(_said(name, each, mark) for name, each in zip(head, texts, strict=True)), source)


def with_numbers(rows: Sequence[Sequence[str]], mark: Mark) -> list[list[str | tuple[float, str]]]:
    """The same rows, header first; in columns of numbers each cell with its number and the text that shows it."""
    typed = typed_grid("", Grid(tuple(map(tuple, rows))), mark).columns
    found: list[list[str | tuple[float, str]]] = [list(rows[0])]
    for place, row in enumerate(rows[1:]):
        values = [column.values[place] if column.is_number else None for column in typed]
        pairs = zip(values, row, strict=False)
        found.append([(value, text) if isinstance(value, int | float) else text for value, text in pairs])
    return found


def _written(given: ReportInput) -> Iterator[DataTable]:
    mark = mark_of(given.report, given.language, given.sources)
    for part in parts_of(given.safe_report):
        for item in part.items:
            if isinstance(item, Grid):
                title = part.title or say("format_answer", given.language)
                yield typed_grid(title, item, mark, say("format_from_report", given.language))


def _computed(given: ReportInput) -> Iterator[DataTable]:
    for cell in _own_cells(given):
        for table in cell.tables:
            yield table_of_cell(cell.title, table, _from_cell(cell, given), given.language)


def _charted(given: ReportInput) -> Iterator[DataTable]:
    for cell in _own_cells(given):
        for chart in cell.charts:
            yield chart_table(chart, chart.title or cell.title, _from_cell(cell, given), given.language)


def _own_cells(given: ReportInput) -> list[CellRan]:
    return [cell for cell in given.cells if cell.status == "ok"]


def _from_cell(cell: CellRan, given: ReportInput) -> str:
    known = given.numbered.get(cell.cell_id)
    return say("format_from_cell", given.language, number=known.number if known else "–", title=cell.title)


def table_of_cell(title: str, table: TableData, source: str, language: Language) -> DataTable:
    """The table that a cell's last value is."""
    columns = tuple(
        column_of(name, tuple(row[place] if place < len(row) else None for row in table.rows))
        for place, name in enumerate(table.columns)
    )
    return DataTable(title, columns, source, what_is_missing(table, language))


def what_is_missing(table: TableData, language: Language) -> str:
    """How much of a cell's table was kept; "" for all of it."""
    shown, columns = len(table.rows), len(table.columns)
    if table.total_rows <= shown and table.total_columns <= columns:
        return ""
    counts = {"rows": number(table.total_rows, language), "of": table.total_columns}
    return say("format_table_cut", language, shown=number(shown, language), columns=columns, **counts)


def chart_table(chart: ChartData, title: str, source: str, language: Language) -> DataTable:
    """The data of a chart: a column for each series where all have the same points, else one row for each point."""
    along = chart.x or say("page_x", language)
    xs = [tuple(x for x, _ in series.points) for series in chart.series]
    columns: list[tuple[str, tuple[Scalar, ...]]]
    if xs and all(each == xs[0] for each in xs):
        ys = [(one.name or chart.y or say("page_y", language), tuple(y for _, y in one.points)) for one in chart.series]
        columns = [(along, xs[0]), *ys]
    else:
        points = [(one.name or chart.y, x, y) for one in chart.series for x, y in one.points]
        names = (say("page_series", language), along, chart.y or say("page_y", language))
        columns = [(name, tuple(point[place] for point in points)) for place, name in enumerate(names)]
    shown, total = (
        sum(len(one.points) for one in chart.series),
        sum(one.total_points for one in chart.series),
    )
    missing = say("format_points_cut", language, shown=shown, points=total) if total > shown else ""
    return DataTable(title, tuple(column_of(name, values) for name, values in columns), source, missing)


# --- values of cells


def column_of(name: str, values: Sequence[Scalar]) -> Column:
    """A column of values as a cell gave them. Dates come as ISO texts."""
    filled = [value for value in values if value is not None]
    if filled and all(isinstance(value, str) for value in filled) and (days := _dates([str(v or "") for v in values])):
        return Column(name, *days)
    numbers = [value for value in filled if isinstance(value, int | float) and not isinstance(value, bool)]
    if not numbers or len(numbers) < len(filled):
        return Column(name, tuple(_plain(value) for value in values), TEXT if _all_text(filled) else GENERAL)
    if any(isinstance(value, int) and abs(value) >= 10**_EXACT_DIGITS for value in numbers) or not all(
        map(math.isfinite, numbers)
    ):
        return Column(name, tuple(value if value is None else str(value) for value in values), TEXT)
    return Column(name, tuple(values), _format_of(name, numbers))


def _all_text(values: Sequence[Scalar]) -> bool:
    return all(isinstance(value, str) for value in values)


def _plain(value: Scalar) -> Item:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


_SMALLEST_SHOWN = 0.00005
"""A smaller number, such as a p-value, would be shown as zero with four decimals."""


def _format_of(name: str, numbers: Sequence[int | float]) -> str:
    if all(float(value).is_integer() for value in numbers):
        return "0" if are_keys(name, numbers) else "#,##0"
    sizes = [abs(value) for value in numbers if value]
    if max(sizes) >= 10:
        return "#,##0.00"
    return "0.0000" if min(sizes) >= _SMALLEST_SHOWN else GENERAL


def _dates(texts: Sequence[str]) -> tuple[tuple[Item, ...], str] | None:
    """The days or moments that these texts say, with their format; None when one of them says none."""
    filled = [text for text in texts if text not in _BLANKS]
    if not filled or not all(_DATE.fullmatch(text) for text in filled):
        return None
    try:
        moments = [None if text in _BLANKS else datetime.fromisoformat(text).replace(tzinfo=None) for text in texts]
    except ValueError:
        return None
    # A spreadsheet counts days from 1900.
    if any(moment is not None and moment.year < 1901 for moment in moments):
        return None
    if all(moment is None or moment.time() == datetime.min.time() for moment in moments):
        return tuple(moment and moment.date() for moment in moments), DAY
    return tuple(moments), MOMENT


_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?")


# --- texts of a report


class _Said(NamedTuple):
    """A number as a text says it: `scale` 100 for a percent sign, `before` and `after` its currency or unit."""

    value: Decimal
    decimals: int
    before: str
    after: str
    grouped: bool
    plus: bool


_SIGN, _CURRENCY = r"(?P<sign>[-+−]?)", r"(?:[$€£¥₩₹]|US\$|EUR|USD|GBP|CHF|CNY|JPY)"
_AFTER = rf"(?P<after>%|‰|[kKMB]|{_CURRENCY}|元)?"
_DIGITS: Final[dict[Mark, str]] = {
    "point": r"(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<part>\d+))?",
    "comma": r"(?P<whole>\d{1,3}(?:[.\u00a0\u202f ]\d{3})+|\d+)(?:,(?P<part>\d+))?",
}
_NUMBERS = {
    marks: re.compile(rf"{_SIGN}(?P<before>{_CURRENCY})?\s?{digits}[\s\u00a0\u202f]?{_AFTER}")
    for marks, digits in _DIGITS.items()
}
_COMMA_LANGUAGES: Final = frozenset({"de", "es", "fr"})


def _sure(point: str, group: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\d.,])(?:\d{{1,3}}(?:{group}\d{{3}})+{point}\d+|\d{{1,3}}(?:{group}\d{{3}}){{2,}}(?![.,]?\d)"
        rf"|\d+{point}\d{{1,2}}[\s\u00a0\u202f]?%)"
    )


_MARK = re.compile(f"{SIGN}\ufe0f?")
_SURELY: Final[dict[Mark, re.Pattern[str]]] = {"point": _sure(r"\.", ","), "comma": _sure(",", r"\.")}
"""Numbers that can be read in one way only: 1,234.5 or 1,234,567 or 12.5 %."""
_SCALES: Final = {"k": 1_000, "K": 1_000, "M": 1_000_000, "B": 1_000_000_000}
_COMMAS: Final = {"k": ",", "K": ",", "M": ",,", "B": ",,,"}
_OF_BYTES = re.compile(r"byte|octet|oktett|size|größe|taille|tamaño|memory|storage|大小|字节|サイズ|バイト", re.I)


def mark_of(report: str, language: Language, sources: Iterable[FigureSource] = ()) -> Mark:
    """What stands before the decimals of a report: what its language sets, unless its numbers say otherwise.

    People are answered in more languages than ours, and in some countries of a language it is the other one. A figure
    such as 1.234 says it by the number that an output shows for it.
    """
    usual: Mark = "comma" if language in _COMMA_LANGUAGES else "point"
    other: Mark = "point" if usual == "comma" else "comma"
    shown = [mark for one in sources if one.state == "sourced" for mark in _marks_shown(one)]
    counts = {mark: len(_SURELY[mark].findall(report)) + shown.count(mark) for mark in (usual, other)}
    return other if counts[other] > counts[usual] else usual


def _marks_shown(one: FigureSource) -> Iterator[Mark]:
    """The mark by which a figure that can be read in two ways is the number of its source."""
    text = _MARK.sub("", one.figure).strip()
    said: dict[Mark, _Said | None] = {"point": _number(text, "point"), "comma": _number(text, "comma")}
    values = {mark: float(each.value) for mark, each in said.items() if each is not None}
    for mark, value in values.items():
        if len(set(values.values())) == 2 and any(place.number == value for place in one.places):
            yield mark


def _said(name: str, texts: Sequence[str], mark: Mark) -> Column:
    """A column of texts as numbers or dates where every filled one says one, in the same unit; else as text."""
    if days := _dates(texts):
        return Column(name, *days)
    bare = [_MARK.sub("", text).strip() for text in texts]
    said = [None if text in _BLANKS else _number(text, mark) for text in bare]
    filled = [text for text in bare if text not in _BLANKS]
    numbers = [one for one in said if one is not None]
    is_mixed = len({(one.before, one.after) for one in numbers}) > 1
    if not filled or len(numbers) < len(filled) or is_mixed or _in_bytes(name, filled, numbers[0]):
        return Column(name, tuple(text or None for text in texts), TEXT)
    values = tuple(None if one is None else _value(one) for one in said)
    unsourced = frozenset(place for place, text in enumerate(texts) if SIGN in text)
    return Column(name, values, _format_said(name, numbers), _currency(numbers[0]), unsourced)


def _currency(one: _Said) -> str:
    return one.before or ("" if one.after in _SCALES or one.after in "%‰" else one.after)


def _in_bytes(name: str, filled: Sequence[str], first: _Said) -> bool:
    """Whether the B behind these numbers may stand for bytes: "512 B", or "512B" in a column of sizes."""
    if first.after != "B" or first.before:
        return False
    return bool(_OF_BYTES.search(name)) or any(text.strip()[-2].isspace() for text in filled)


def _number(text: str, mark: Mark) -> _Said | None:
    match = _NUMBERS[mark].fullmatch(text)
    if match is None:
        return None
    written, part = match["whole"], match["part"] or ""
    whole = re.sub(r"\D", "", written)
    if len(whole + part) > _EXACT_DIGITS or (len(whole) > 1 and whole.startswith("0")):
        return None
    value = Decimal(f"{'-' if match['sign'] in '-−' and match['sign'] else ''}{whole}.{part or '0'}")
    grouped = written != whole
    return _Said(value, len(part), match["before"] or "", match["after"] or "", grouped, match["sign"] == "+")


def _value(one: _Said) -> int | float:
    value = one.value * _SCALES.get(one.after, 1)
    value = value / 100 if one.after == "%" else value
    return int(value) if value == value.to_integral_value() else float(value)


def _format_said(name: str, numbers: Sequence[_Said]) -> str:
    first = numbers[0]
    decimals = max(one.decimals for one in numbers)
    grouped = any(one.grouped for one in numbers) or (bool(first.before or first.after) and first.after not in "%‰")
    digits = ("#,##0" if grouped else "0") + (f".{'0' * decimals}" if decimals else "") + _COMMAS.get(first.after, "")
    after = "%" if first.after == "%" else f'" {first.after}"' if len(first.after) > 1 else f'"{first.after}"'
    shown = (f'"{first.before}"' if first.before else "") + digits + (after if first.after and after else "")
    return f"+{shown};-{shown};{shown}" if any(one.plus for one in numbers) else shown
