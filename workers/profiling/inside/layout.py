"""How a text table is laid out: separator, quotation marks, lines before the header, and the arguments that read it."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .columns import (
    NUMBER,
    Column,
    dtype_of,
    gap_words_of,
    is_text,
    mostly,
    number_style,
    of_two_meanings,
    with_lost_words,
    with_signs,
)
from .headers import is_data, is_units, is_upper_row, named_units

_SEPARATORS = (",", ";", "\t", "|")
_RECORDS = 500
_LONGEST_NAMES = 1_000
_SEEN = 300_000
"""Records and characters by which the separator and the header are found."""
csv.field_size_limit(10_000_000)


@dataclass(frozen=True)
class Layout:
    """What `pandas.read_csv` must be told. `header` is None when the first line is data already.

    `skip` counts the physical lines above the header; `ragged` is how many records have too many fields, `too_long`
    are the lines of those right below the header; `quoted_lines` is true when cells contain line ends.
    """

    separator: str
    skip: int
    header: tuple[str, ...] | None
    columns: int
    ragged: int = 0
    short: int = 0
    first_short: str = ""
    """How many records have too few fields, which pandas fills with missing values; and the first of them."""
    too_long: tuple[int, ...] = ()
    units: tuple[tuple[int, str], ...] = ()
    """The line of units right below the header, and its cells with their names."""
    trailing: bool = False
    names_rows: bool = False
    """Whether the header names one column less, so that pandas makes names of rows of the first one."""
    names: tuple[str, ...] = ()
    """All names, where pandas must be told of them to keep the first column as it is written."""
    quoted_lines: bool = False
    quotes: tuple[tuple[str, str | int], ...] = ()
    """What pandas and `csv` must both be told of quotation marks that are used otherwise than usual."""
    open_quote: int = 0
    """The row, counted from 1, whose quotation mark is not closed, so that it holds further lines. 0 for none."""
    decimal: str = "."
    thousands: str | None = None
    text_columns: tuple[str | int, ...] = ()
    """Columns that numbers would spoil, by name; by place where there is no header."""
    gap_words: tuple[tuple[str | int, list[str]], ...] = ()
    """Words among the numbers of a column that stand for a missing one."""
    signs: tuple[str, ...] = ()
    """Columns of numbers that stay text because of signs, with examples."""
    maybe_thousands: tuple[str, ...] = ()
    """Columns of numbers such as 12.345 or 12,345. Nothing tells whether these are twelve or twelve thousand."""
    maybe_words: tuple[str, ...] = ()
    """Columns with a word that pandas reads as missing and that may be a value, the word behind each name."""

    def arguments(self) -> dict[str, Any]:
        """The arguments that differ from pandas' own defaults, in a readable order."""
        found: dict[str, Any] = {}
        if self.separator != ",":
            found["sep"] = self.separator
        skip = self.skip + bool(self.names)
        if self.left_out:
            found["skiprows"] = [*range(skip), *self.left_out]
        elif skip:
            found["skiprows"] = skip
        found |= self.quotes
        if self.header is None or self.names:
            found["header"] = None
        if self.names:
            found["names"] = list(self.names)
        if self.trailing:
            found["index_col"] = False
        if self.decimal != ".":
            found["decimal"] = self.decimal
        if self.thousands:
            found["thousands"] = self.thousands
        if self.text_columns:
            found["dtype"] = dtype_of(self.text_columns)
        if self.gap_words:
            found["na_values"] = dict(self.gap_words)
        if self.ragged:
            found["on_bad_lines"] = "skip"
        return found

    @property
    def left_out(self) -> tuple[int, ...]:
        """The lines right below the header that are no rows."""
        return (*(line for line, _ in self.units), *self.too_long)

    @property
    def duplicates(self) -> tuple[str, ...]:
        """Column names that stand more than once in the header."""
        return tuple(name for name, count in Counter(self.header or ()).items() if count > 1 and name)


_OTHER_COMMA = re.compile(r"(?<!\d),|,(?!\d)")


def find_layout(text: str) -> Layout | None:
    """The layout of a table in `text`, or None when its first lines have no columns in common.

    The first lines tell the separator and the header. All lines tell what the columns hold.
    """
    text = _SEPARATOR_LINE.sub(r"\1", text, count=1)
    first = text[:_SEEN]
    lines = _lines(first)
    found = [(_consistency(records), records, separator) for separator, records in _read_all(lines)]
    found = [one for one in found if not _is_decimal_mark(one, found, first)] or found
    (share, columns), records, separator = max(found, key=lambda one: (round(one[0][0], 1), one[0][1]))
    if columns >= 2 and share >= 0.5:
        return _layout(text, lines, records, separator)
    return _spaced(_lines(text))


def single_column(text: str) -> Layout | None:
    """A layout for a list of values, one per line."""
    lines = _lines(text[:_SEEN])
    records = [record for record in _records(lines, ",") if any(record.cells)]
    if not records or any(len(record.cells) != 1 for record in records):
        return None
    return _layout(text, lines, records, ",")


_SEPARATOR_LINE = re.compile(r'\A"?sep=.?"?(\r?\n|\r)', re.IGNORECASE)
"""The line by which a file tells Excel its separator."""


def _lines(text: str) -> list[str]:
    """Lines as pandas and `csv` end them: `splitlines` also ends them at marks that stand inside cells."""
    return list(io.StringIO(text, newline=""))


@dataclass(frozen=True)
class _Record:
    cells: tuple[str, ...]
    line: int
    """The physical lines above it."""
    lines: int


def _read_all(lines: Sequence[str]) -> Iterable[tuple[str, list[_Record]]]:
    for separator in _SEPARATORS:
        yield separator, _records(lines, separator)


def _records(lines: Sequence[str], separator: str, **quotes: Any) -> list[_Record]:
    reader = csv.reader(iter(lines), delimiter=separator, **quotes)
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


def _layout(text: str, lines: Sequence[str], records: Sequence[_Record], separator: str) -> Layout:
    quotes = _quotes(text, lines, records, separator)
    if quotes:
        records = _records(lines, separator, **quotes)
    columns = max(_consistency(records)[1], 1)
    head = next(
        (n for n, r in enumerate(records) if _may_be_header(r, columns) and not _is_comment(records[n : n + 52])), 0
    )
    lower = records[head + 1] if head + 1 < len(records) else None
    if lower and len(lower.cells) == len(records[head].cells):
        head += is_upper_row(records[head].cells, lower.cells, [record.cells for record in records[head + 2 :]])
    body = [record for record in records[head + 1 :] if any(record.cells)]
    names = records[head].cells
    trailing = len(names) == columns - 1 and all(
        not record.cells[-1].strip() for record in body if len(record.cells) == columns
    )
    width = len(names) if trailing else columns
    has_header = not is_data(names, [record.cells for record in body])
    last = records[head]
    units: tuple[tuple[int, str], ...] = ()
    may_be_units = has_header and body and len(body[0].cells) == len(names) == columns and body[0].lines == 1
    if may_be_units and is_units(body[0].cells, [record.cells for record in body[1:]]):
        last = body.pop(0)
        units = ((last.line, named_units(names, last.cells)),)
    above = last.line + (last.lines if has_header else 0)
    reader = csv.reader(itertools.islice(_stream(text), above, None), delimiter=separator, **quotes)
    found = _look_through(reader, columns, width, separator)
    names_rows = has_header and len(names) == columns - 1 and not trailing
    if names_rows:
        names = ("index", *names)
    places: Sequence[str | int] = range(columns)
    if has_header:
        places = _labels(names)
    held = [Column(place, cells) for place, cells in zip(places, found.cells, strict=False)]
    numbers = number_style(held, separator)
    long = itertools.takewhile(lambda record: len(record.cells) > columns, body if has_header else ())
    return Layout(
        separator=separator,
        skip=records[head].line,
        header=tuple(name.strip() for name in names) if has_header else None,
        columns=width,
        ragged=found.ragged,
        short=found.short,
        first_short=found.first_short,
        too_long=tuple(record.line for record in long if record.lines == 1),
        units=units,
        trailing=trailing,
        names_rows=names_rows,
        names=names if names_rows and records[head].lines == 1 and _are_plain(names) else (),
        quoted_lines=found.has_lines or any(record.lines > 1 for record in records),
        quotes=tuple(quotes.items()),
        open_quote=found.open_quote,
        decimal=numbers[0],
        thousands=numbers[1],
        text_columns=tuple(column.name for column in held if is_text(column, numbers)),
        gap_words=tuple(gap_words_of(held).items()),
        signs=with_signs(held),
        maybe_thousands=of_two_meanings(held, separator, numbers) if has_header else (),
        maybe_words=with_lost_words(held) if has_header else (),
    )


def _labels(names: Sequence[str]) -> list[str | int]:
    """The names of columns as pandas gives them: each once."""
    labels: dict[str | int, None] = {}
    counts: Counter[str] = Counter()
    for place, name in enumerate(names):
        label = name or f"Unnamed: {place}"
        while label in labels:
            counts[name] += 1
            label = f"{name}.{counts[name]}"
        labels[label] = None
    return list(labels)


def _are_plain(names: Sequence[str]) -> bool:
    """Whether a line of code can give these names to pandas."""
    return all(names) and len(set(names)) == len(names) and len(repr(names)) < _LONGEST_NAMES


def _stream(text: str) -> Iterator[str]:
    """The lines of a text, one after the other."""
    return io.StringIO(text, newline="")


@dataclass
class _Found:
    """What all records hold: the different cells of each column, and what is odd about records."""

    cells: list[set[str]]
    ragged: int = 0
    short: int = 0
    first_short: str = ""
    has_lines: bool = False
    open_quote: int = 0


def _look_through(reader: Any, columns: int, width: int, separator: str) -> _Found:
    found = _Found([set() for _ in range(columns)])
    line = reader.line_num
    alike: list[list[str]] = []
    shortest = columns
    with contextlib.suppress(csv.Error):
        for row, cells in enumerate(reader, 1):
            if len(cells) == columns:
                alike.append(cells)
                if len(alike) >= _BATCH:
                    _add(found.cells, alike)
            elif any(cells):
                found.ragged += len(cells) > columns
                if len(cells) < width:
                    found.short += 1
                    found.first_short = found.first_short or separator.join(cells)
                shortest = min(shortest, len(cells))
                _add(found.cells, [cells])
            if reader.line_num - line > 1:
                found.has_lines = True
                if not found.open_quote and any(_holds_records(cell, columns, separator) for cell in cells):
                    found.open_quote = row
            line = reader.line_num
    _add(found.cells, alike)
    _add(found.cells[shortest:], [[""] * (columns - shortest)])
    return found


_BATCH = 1_000


def _add(found: Sequence[set[str]], rows: list[list[str]]) -> None:
    """Add the cells of rows to those of their columns, and empty the list of rows: many at once is far quicker."""
    for held, cells in zip(found, zip(*rows, strict=True), strict=False):
        held.update(cells)
    rows.clear()


_FEWEST_COLUMNS, _FEWEST_LINES = 3, 2


def _holds_records(cell: str, columns: int, separator: str) -> bool:
    """Whether the lines within a cell look like the table's own."""
    inner = cell.splitlines()[1:-1]
    return (
        columns >= _FEWEST_COLUMNS
        and len(inner) >= _FEWEST_LINES
        and all(line.count(separator) == columns - 1 for line in inner)
    )


def _quotes(text: str, lines: Sequence[str], records: Sequence[_Record], separator: str) -> dict[str, Any]:
    """How quotation marks are used where it is otherwise than usual: the arguments of `csv` that read all lines alike.

    A backslash before them, single ones, or none that count: in a column of inches, each would swallow lines.
    """
    share, columns = _consistency(records)
    between = re.escape(separator)
    if re.search(rf'\\"[^{between}"\r\n]', text):
        escaped = {"escapechar": "\\"}
        if _consistency(_records(lines, separator, **escaped))[0] >= share:
            return escaped
    if share < 1 and re.search(rf"(?:^|{between})'[^'\r\n]*{between}", text[:_SEEN], re.MULTILINE):
        single = {"quotechar": "'"}
        if _consistency(_records(lines, separator, **single))[0] > share:
            return single
    if '"' in text and columns > 1 and not _closes_quotes(text, separator):
        counts = Counter(line.count(separator) for line in _stream(text) if line.strip())
        if counts[columns - 1] >= 0.99 * counts.total():
            return {"quoting": csv.QUOTE_NONE}
    return {}


def _closes_quotes(text: str, separator: str) -> bool:
    """Whether no cell has line ends, or each quotation mark that opens a cell is closed at the end of one."""
    reader = csv.reader(_stream(text), delimiter=separator)
    with contextlib.suppress(csv.Error):
        if all(reader.line_num == number for number, _ in enumerate(reader, 1)):
            return True
    try:
        for _ in csv.reader(_stream(text), delimiter=separator, strict=True):
            pass
    except csv.Error:
        return False
    return True


def _is_comment(records: Sequence[_Record]) -> bool:
    """Whether the first one begins with # and is no header: below it is another such line, or the names."""
    marked, body = (list(each) for each in _apart(records))
    if not marked or len(body) < _FEWEST_LINES:
        return False
    below = [record.cells for record in body]
    has_numbers = any(mostly(NUMBER, list(cells), 0.9) for cells in zip(*below[1:], strict=False))
    return len(marked) > 1 or (has_numbers and not is_data(below[0], below[1:]))


def _apart(records: Sequence[_Record]) -> tuple[Iterator[_Record], Iterator[_Record]]:
    """The first lines that begin with #, and those below them."""

    def is_marked(record: _Record) -> bool:
        return bool(record.cells) and record.cells[0].startswith("#")

    filled = [record for record in records if any(record.cells)]
    return itertools.takewhile(is_marked, filled), itertools.dropwhile(is_marked, filled)


def _may_be_header(record: _Record, columns: int) -> bool:
    filled = sum(bool(cell.strip()) for cell in record.cells)
    return len(record.cells) in (columns, max(columns - 1, 2)) and 2 * filled >= len(record.cells) > 0


def _spaced(lines: Sequence[str]) -> Layout | None:
    """A table with blanks between its columns: all lines have the same number of words, some are numbers."""
    rows = [words for line in lines if (words := line.split())]
    if len(rows) < 3:
        return None
    columns = Counter(map(len, rows[:_RECORDS])).most_common(1)[0][0]
    numbers = sum(bool(NUMBER.fullmatch(cell)) for row in rows[1:_RECORDS] for cell in row)
    named = len(rows[0]) in (columns, columns - 1) and len(rows[0]) > 1  # else blanks are inside the values of a column
    if columns < 2 or not named or numbers < len(rows[:_RECORDS]) - 1:
        return None
    if any(len(words) != columns for words in rows[1:]):
        return None  # a cell is blank, so the words behind it would move to the left
    header = None if is_data(rows[0], rows[1:]) else tuple(rows[0])
    if header is None:
        names: Sequence[str | int] = range(columns)
    else:
        names = header if len(header) == columns else ("index", *header)
    body = rows[header is not None :]
    held = [Column(name, cells) for name, cells in zip(names, zip(*body, strict=False), strict=False)]
    text = tuple(column.name for column in held if is_text(column, (".", None)))
    names_rows = header is not None and len(header) < columns
    return Layout(separator=r"\s+", skip=0, header=header, columns=columns, names_rows=names_rows, text_columns=text)
