"""How a text table is laid out: separator, lines before the header, number style, and the arguments that read it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

_SEPARATORS = (",", ";", "\t", "|")
_RECORDS = 500
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)*|\d{1,3}([ '.,]\d{3})+([.,]\d+)?)%?")
_COMMA_DECIMAL = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_DOTTED_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(\d{2}|\d{4})")
_COMMA_WHOLE = re.compile(r"[-+]?\d{1,3}(\.\d{3})+|[-+]?\d+")
_COMMA_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_DOTTED_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_UP_TO_999 = re.compile(r"[-+]?\d{1,3}")
_POINT_DECIMAL = re.compile(r"[-+]?(\d*\.\d{1,2}|\d*\.\d{4,}|0\.\d+|\d{4,}\.\d+)")
_SHORT_CODE = re.compile(r"[A-Z]{2,3}")
_LEADING_ZERO = re.compile(r"0\d+")
_MOST_TEXT_COLUMNS = 8
csv.field_size_limit(10_000_000)


@dataclass(frozen=True)
class Layout:
    """What `pandas.read_csv` must be told. `header` is None when the first line is data already.

    `skip` counts the physical lines above the header; `ragged` is how many records of the sample have too many fields;
    `quoted_lines` is true when cells contain line ends.
    """

    separator: str
    skip: int
    header: tuple[str, ...] | None
    columns: int
    ragged: int = 0
    trailing: bool = False
    quoted_lines: bool = False
    decimal: str = "."
    thousands: str | None = None
    text_columns: tuple[str, ...] = field(default=())
    maybe_thousands: tuple[str, ...] = ()
    """Columns of numbers such as 12.345 or 12,345. Nothing tells whether these are twelve or twelve thousand."""
    maybe_words: tuple[str, ...] = ()
    """Columns with a word that pandas reads as missing and that may be a value, the word behind each name."""

    def arguments(self) -> dict[str, Any]:
        """The arguments that differ from pandas' own defaults, in a readable order."""
        found: dict[str, Any] = {}
        if self.separator != ",":
            found["sep"] = self.separator
        if self.skip:
            found["skiprows"] = self.skip
        if self.header is None:
            found["header"] = None
        if self.trailing:
            found["index_col"] = False
        if self.decimal != ".":
            found["decimal"] = self.decimal
        if self.thousands:
            found["thousands"] = self.thousands
        if self.text_columns:
            found["dtype"] = dict.fromkeys(self.text_columns, str)
        if self.ragged:
            found["on_bad_lines"] = "skip"
        return found

    @property
    def duplicates(self) -> tuple[str, ...]:
        """Column names that stand more than once in the header."""
        return tuple(name for name, count in Counter(self.header or ()).items() if count > 1 and name)


_OTHER_COMMA = re.compile(r"(?<!\d),|,(?!\d)")


def find_layout(text: str) -> Layout | None:
    """The layout of a table whose first lines are `text`, or None when the lines have no columns in common."""
    lines = text.splitlines(keepends=True)
    found = [(_consistency(records), records, separator) for separator, records in _read_all(lines)]
    found = [one for one in found if not _is_decimal_mark(one, found, text)] or found
    (share, columns), records, separator = max(found, key=lambda one: (round(one[0][0], 1), one[0][1]))
    if columns >= 2 and share >= 0.5:
        return _layout(records, separator, columns)
    if spaced := _spaced(lines):
        return spaced
    return None


def single_column(text: str) -> Layout | None:
    """A layout for a list of values, one per line."""
    records = [record for record in _records(text.splitlines(keepends=True), ",") if any(record.cells)]
    if not records or any(len(record.cells) != 1 for record in records):
        return None
    return _layout(records, ",", 1)


@dataclass(frozen=True)
class _Record:
    cells: tuple[str, ...]
    line: int
    """The physical lines above it."""
    lines: int


def _read_all(lines: Sequence[str]) -> Iterable[tuple[str, list[_Record]]]:
    for separator in _SEPARATORS:
        yield separator, _records(lines, separator)


def _records(lines: Sequence[str], separator: str) -> list[_Record]:
    reader = csv.reader(iter(lines), delimiter=separator)
    records: list[_Record] = []
    line = 0
    try:
        for cells in reader:
            records.append(_Record(tuple(cells), line, reader.line_num - line))
            line = reader.line_num
            if len(records) >= _RECORDS:
                break
    except csv.Error:
        pass
    return records


def _consistency(records: Sequence[_Record]) -> tuple[float, int]:
    """The share of filled records with the commonest number of fields, and that number. One field is no table."""
    counts = Counter(len(record.cells) for record in records if any(cell.strip() for cell in record.cells))
    if not counts:
        return 0.0, 0
    columns, times = max(counts.items(), key=lambda item: (item[1], item[0]))
    return times / counts.total() if columns > 1 else 0.0, columns


_Candidate = tuple[tuple[float, int], Sequence[_Record], str]
"""A separator with the lines that it makes, how alike they are, and how many fields they have."""


def _is_decimal_mark(one: _Candidate, found: Sequence[_Candidate], text: str) -> bool:
    """Whether a comma is part of the numbers or of the words, because another separator makes the columns.

    Either the other one splits every line alike and the comma does not split the first; or all commas stand between
    digits and the other one splits most lines alike.
    """
    _, records, separator = one
    if separator != ",":
        return False
    others = [share for (share, columns), _, other in found if other != "," and columns >= 2]
    first = next((record for record in records if any(cell.strip() for cell in record.cells)), None)
    if first is not None and len(first.cells) == 1 and any(share == 1.0 for share in others):
        return True
    return not _OTHER_COMMA.search(text) and any(share >= 0.9 for share in others)


def _layout(records: Sequence[_Record], separator: str, columns: int) -> Layout:
    head = next((n for n, record in enumerate(records) if _may_be_header(record, columns)), 0)
    lower = records[head + 1] if head + 1 < len(records) else None
    if lower and len(lower.cells) == len(records[head].cells):
        head += is_upper_row(records[head].cells, lower.cells, [record.cells for record in records[head + 2 :]])
    body = [record.cells for record in records[head + 1 :] if any(record.cells)]
    names = records[head].cells
    trailing = len(names) == columns - 1 and all(not cells[-1].strip() for cells in body if len(cells) == columns)
    width = len(names) if trailing else columns
    has_header = not _is_data(names, body)
    rows = body if has_header else [names, *body]
    numbers = _number_style(rows, separator)
    header = tuple(name.strip() for name in names) if has_header else None
    return Layout(
        separator=separator,
        skip=records[head].line,
        header=header,
        columns=width,
        ragged=sum(len(cells) > columns for cells in body),
        trailing=trailing,
        quoted_lines=any(record.lines > 1 for record in records),
        decimal=numbers[0],
        thousands=numbers[1],
        text_columns=_with_leading_zeros(names, rows) if has_header else (),
        maybe_thousands=_of_two_meanings(names, rows, separator, numbers) if has_header else (),
        maybe_words=_with_lost_words(names, rows) if has_header else (),
    )


def _may_be_header(record: _Record, columns: int) -> bool:
    filled = sum(bool(cell.strip()) for cell in record.cells)
    return len(record.cells) in (columns, max(columns - 1, 2)) and 2 * filled >= len(record.cells) > 0


_NO_NAMES = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?"})
_YEAR = re.compile(r"(19|20)\d\d")


def is_upper_row(upper: Sequence[str], lower: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the upper one of two rows only groups names, and the lower one is the header.

    Over columns of numbers the lower row has names, and the upper one is blank or repeats itself over some of them.
    Both together tell the columns apart: a row of units below repeated names does not.
    """
    named: list[tuple[str, str]] = []
    group, groups = "", Counter(cell.strip() for cell in upper)
    is_grouped = False
    for column, name in enumerate(map(str.strip, lower)):
        above = upper[column].strip() if column < len(upper) else ""
        group = above or group
        below = [cells[column].strip() for cells in body[:50] if column < len(cells) and cells[column].strip()]
        if name and len(below) > 1 and _mostly(_NUMBER, below, 0.9):
            if not _is_name(name, below):
                return False
            named.append((group, name))
            is_grouped = is_grouped or groups[above] > 1 or not above
    return is_grouped and len(named) > 1 and len(set(named)) == len(named)


def _is_name(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell above numbers names their column: a word that is none of the values, or a year."""
    if _YEAR.fullmatch(cell):
        return not _mostly(_YEAR, below, 0.5)
    return not _NUMBER.fullmatch(cell) and cell.casefold() not in _NO_NAMES and cell not in below


def _mostly(pattern: re.Pattern[str], cells: Sequence[str], share: float) -> bool:
    return sum(bool(pattern.fullmatch(cell)) for cell in cells) >= share * len(cells)


def _is_data(names: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds values: it has numbers wherever the lines below have them, and not years."""
    if not body:
        return False
    numeric = []
    for column in range(len(names)):
        below = [cells[column].strip() for cells in body[:50] if column < len(cells) and cells[column].strip()]
        if below and sum(bool(_NUMBER.fullmatch(cell)) for cell in below) >= 0.9 * len(below):
            numeric.append(names[column].strip())
    years = all(re.fullmatch(r"(19|20)\d\d", name) for name in numeric)
    return bool(numeric) and all(_NUMBER.fullmatch(name) for name in numeric) and not years


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[list[str]]:
    for column in range(max(map(len, rows), default=0)):
        yield [row[column].strip() for row in rows if column < len(row) and row[column].strip()]


def _number_style(rows: Sequence[Sequence[str]], separator: str) -> tuple[str, str | None]:
    """The decimal mark and the thousands mark that some column needs and no column contradicts.

    Dates such as 01.03.2022 contradict points for thousands: they would be read as numbers.
    """
    decimal, thousands = ".", None
    if separator != "," and _has_points_for_thousands(rows):
        return ",", "."
    dotted_dates = any(sum(map(bool, map(_DOTTED_DATE.fullmatch, cells))) > len(cells) / 2 for cells in _columns(rows))
    for cells in _columns(rows):
        with_comma = [cell for cell in cells if "," in cell]
        if not with_comma:
            continue
        if separator != "," and all(_COMMA_DECIMAL.fullmatch(c) or _COMMA_WHOLE.fullmatch(c) for c in cells):
            if all(re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+", cell) for cell in with_comma):
                thousands = thousands or ","
                continue
            decimal = ","
            if any("." in cell for cell in cells) and not dotted_dates:
                thousands = "."
        elif all(_COMMA_THOUSANDS.fullmatch(cell) or re.fullmatch(r"[-+]?\d+(\.\d+)?", cell) for cell in cells):
            thousands = thousands or ","
    return decimal, "." if decimal == "," and thousands == "." else thousands if decimal == "." else None


def _has_points_for_thousands(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has numbers with two points, such as 1.234.567, and no column reads a point otherwise."""
    columns = list(_columns(rows))
    sure = any(_is_dotted(cells) and any(cell.count(".") > 1 for cell in cells) for cells in columns)
    return sure and not _uses_points_otherwise(columns)


def _is_dotted(cells: Sequence[str]) -> bool:
    """Whether the points of a column can stand between thousands, and some are there."""
    dotted = [cell for cell in cells if "." in cell]
    plain = (cell for cell in cells if "." not in cell)
    return (
        len(dotted) > 1
        and all(map(_DOTTED_THOUSANDS.fullmatch, dotted))
        and all(_UP_TO_999.fullmatch(cell) for cell in plain)
    )


def _uses_points_otherwise(columns: Sequence[Sequence[str]]) -> bool:
    """Whether some column has decimal points, or dates with points."""
    return any(
        _mostly(_DOTTED_DATE, cells, 0.5) or any(map(_POINT_DECIMAL.fullmatch, cells)) for cells in columns if cells
    )


def _of_two_meanings(
    names: Sequence[str], rows: Sequence[Sequence[str]], separator: str, style: tuple[str, str | None]
) -> tuple[str, ...]:
    """Columns of numbers with three digits behind each point (or comma), where nothing in the table tells its meaning.

    Where commas separate the columns, a point is a decimal one.
    """
    if separator == "," or style not in ((".", None), (".", ",")):
        return ()
    mark = "," if style[1] else "."
    columns = [[row[place].strip().replace(mark, ".") for row in rows if place < len(row) and row[place].strip()]
               for place in range(len(names))]  # fmt: skip
    if _uses_points_otherwise(columns) or any(cell.count(".") > 1 for cells in columns for cell in cells):
        return ()
    return tuple(name.strip() for name, cells in zip(names, columns, strict=True) if _is_dotted(cells))


def _with_lost_words(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Columns in which NA stands among short codes (Namibia's), or None among words (an answer)."""
    found = []
    for place, name in enumerate(names):
        cells = Counter(row[place].strip() for row in rows if place < len(row) and row[place].strip())
        others = [cell for cell in cells if cell not in ("NA", "None")]
        if len(others) < 2:
            continue
        if "NA" in cells and all(map(_SHORT_CODE.fullmatch, others)):
            found.append(f"{name.strip()} (NA)")
        elif "None" in cells and not any(cell.casefold() in _NO_NAMES or _NUMBER.fullmatch(cell) for cell in others):
            found.append(f"{name.strip()} (None)")
    return tuple(found)


def _with_leading_zeros(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Columns of codes like 00123, which a number would spoil."""
    found = []
    for name, cells in zip(names, _columns(rows), strict=False):
        if (
            any(map(_LEADING_ZERO.fullmatch, cells))
            and all(cell.isdigit() for cell in cells)
            and names.count(name) == 1
        ):
            found.append(name)
    return tuple(found[:_MOST_TEXT_COLUMNS])


def _spaced(lines: Sequence[str]) -> Layout | None:
    """A table with blanks between its columns: (nearly) all lines have the same number of words, some are numbers."""
    rows = [line.split() for line in lines[:_RECORDS] if line.strip()]
    if len(rows) < 3:
        return None
    columns, times = Counter(map(len, rows)).most_common(1)[0]
    numbers = sum(bool(_NUMBER.fullmatch(cell)) for row in rows[1:] for cell in row)
    named = len(rows[0]) >= columns - 1 and len(rows[0]) > 1  # else the blanks are inside the values of one column
    if columns < 2 or not named or times < 0.95 * len(rows) or numbers < len(rows) - 1:
        return None
    header = None if _is_data(rows[0], rows[1:]) else tuple(rows[0])
    return Layout(separator=r"\s+", skip=0, header=header, columns=columns, ragged=sum(len(r) > columns for r in rows))
