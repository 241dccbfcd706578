"""What the columns of a text hold: how numbers are written, words that may be values, and what numbers would spoil."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .frames import LARGEST

NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)*|\d{1,3}([ '.,]\d{3})+([.,]\d+)?)%?")
_COMMA_DECIMAL = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_COMMA_WHOLE = re.compile(r"[-+]?\d{1,3}(\.\d{3})+|[-+]?\d+")
_COMMA_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})( .*)?|\d{1,2}:\d\d(:\d\d)?"
)
_DOTTED_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_POINTED = re.compile(rf"[-+]?\d*\.?\d*|{_DOTTED_THOUSANDS.pattern}")
_UP_TO_999 = re.compile(r"[-+]?\d{1,3}")
_POINT_DECIMAL = re.compile(r"[-+]?(\d*\.\d{1,2}|\d*\.\d{4,}|0\.\d+|\d{4,}\.\d+)")
_SHORT_CODE = re.compile(r"[A-Z]{2,5}")


NO_NAMES = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?"})


class Column:
    """What a column of a text holds: the different values, without those that pandas reads as missing."""

    def __init__(self, name: str | int, cells: Iterable[str]) -> None:
        self.name = name
        all_cells = set(map(str.strip, cells))
        self.missing = all_cells & MISSING
        self.has_gaps = bool(self.missing) or "" in all_cells
        self.cells = tuple(all_cells.difference(MISSING, {""}))
        self.gap_words: tuple[str, ...] = ()
        """Words and signs among numbers that stand for a value that is missing: the columns of numbers lack them."""
        if words := [cell for cell in self.cells if cell.casefold() in GAP_WORDS]:
            numbers = tuple(all_cells.difference(MISSING, {""}, words))
            if len(numbers) > 1 and all(map(NUMBER.fullmatch, numbers)):
                self.cells, self.gap_words, self.has_gaps = numbers, tuple(sorted(words)), True


MISSING = frozenset(
    {"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null"}
)  # fmt: skip
"""The words that pandas reads as missing."""
GAP_WORDS = frozenset(
    {"-", "--", "---", "–", "—", ".", "..", "...", ":", "/", "?", "na", "n.a.", "n/a.", "n.d.", "nd", "k.a.", "k. a.",
     "none", "nil", "missing", "unknown", "#div/0!", "#ref!", "#value!", "#name?", "#num!", "#null!"}
)  # fmt: skip
"""What programs and offices of statistics write in place of a number, and pandas keeps as text."""


def gap_words_of(columns: Iterable[Column]) -> dict[str | int, list[str]]:
    """What a reader of pandas is told so that such words leave their columns numbers."""
    return {column.name: list(column.gap_words) for column in columns if column.gap_words}


def named_gap_words(gap_words: dict[str | int, list[str]]) -> str:
    """The same in words: each column with its own."""
    return ", ".join(f"{str(name).strip()} ({' '.join(words)})" for name, words in gap_words.items())


def mostly(pattern: re.Pattern[str], cells: Sequence[str], share: float) -> bool:
    return sum(bool(pattern.fullmatch(cell)) for cell in cells) >= share * len(cells)


def number_style(columns: Sequence[Column], separator: str) -> tuple[str, str | None]:
    """The decimal mark and the thousands mark that some column needs. A column that they would spoil is text."""
    grouped = next((mark for mark in _GROUPED if any(_is_grouped(column.cells, mark) for column in columns)), None)
    if grouped:
        without = [Column(c.name, (x.replace(grouped, "") for x in c.cells)) for c in columns]
        decimal, thousands = _style_of_points(without, separator)
        return decimal, thousands or grouped
    return _style_of_points(columns, separator)


_GROUPED = {mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}({mark}\d{{3}})+([.,]\d+)?") for mark in (" ", "'")}
"""Numbers with a blank or an apostrophe between thousands, as French, Swedish, Polish and Swiss programs write them."""
_UNGROUPED = re.compile(r"[-+]?\d{1,3}([.,]\d+)?")


def _is_grouped(cells: Sequence[str], mark: str) -> bool:
    """Whether a column holds amounts with this mark between thousands.

    Phone numbers and company numbers are written so as well, but all of theirs have the same digits and no decimals.
    """
    marked = [cell for cell in cells if mark in cell]
    if not all(map(_GROUPED[mark].fullmatch, marked)):
        return False
    others = (cell for cell in cells if mark not in cell)
    lengths = {len(cell.lstrip("+-")) for cell in cells}
    return bool(marked) and len(lengths) > 1 and all(map(_UNGROUPED.fullmatch, others))


def _style_of_points(columns: Sequence[Column], separator: str) -> tuple[str, str | None]:
    """The same for numbers with points and commas only."""
    decimal, thousands = ".", None
    if separator != "," and _has_points_for_thousands(columns):
        return ",", "."
    for cells in (column.cells for column in columns):
        with_comma = [cell for cell in cells if "," in cell]
        if not with_comma:
            continue
        if separator != "," and all(_COMMA_DECIMAL.fullmatch(c) or _COMMA_WHOLE.fullmatch(c) for c in cells):
            if all(re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+", cell) for cell in with_comma):
                thousands = thousands or ","
                continue
            decimal = ","
            if any("." in cell for cell in cells):
                thousands = "."
        elif all(_COMMA_THOUSANDS.fullmatch(cell) or re.fullmatch(r"[-+]?\d+(\.\d+)?", cell) for cell in cells):
            thousands = thousands or ","
    if decimal == ",":  # beside commas before decimals, points stand between thousands
        return decimal, "." if thousands == "." or any(_has_dotted(column.cells) for column in columns) else None
    return decimal, thousands


def _has_points_for_thousands(columns: Sequence[Column]) -> bool:
    """Whether a column has numbers with two points, such as 1.234.567, and no column reads a point otherwise."""
    numbers = [column.cells for column in columns if all(map(_POINTED.fullmatch, column.cells))]
    sure = any(_is_dotted(cells) and any(cell.count(".") > 1 for cell in cells) for cells in numbers)
    return sure and not any(_POINT_DECIMAL.fullmatch(cell) for cells in numbers for cell in cells)


def _is_dotted(cells: Sequence[str]) -> bool:
    """Whether the points of a column can stand between thousands, and several are there."""
    return _has_dotted(cells) and sum("." in cell for cell in cells) > 1


def _has_dotted(cells: Sequence[str]) -> bool:
    """The same for one or more."""
    dotted = [cell for cell in cells if "." in cell]
    plain = (cell for cell in cells if "." not in cell)
    return (
        bool(dotted)
        and all(map(_DOTTED_THOUSANDS.fullmatch, dotted))
        and all(_UP_TO_999.fullmatch(cell) for cell in plain)
    )


def of_two_meanings(columns: Sequence[Column], separator: str, style: tuple[str, str | None]) -> tuple[str, ...]:
    """Columns of numbers with three digits behind each point (or comma), where nothing in the table tells its meaning.

    Where commas separate the columns, a point is a decimal one.
    """
    if separator == "," or style not in ((".", None), (".", ",")):
        return ()
    mark = "," if style[1] else "."
    written = {column.name: [cell.replace(mark, ".") for cell in column.cells] for column in columns}
    # what is no number, such as a date or an address, tells nothing of the marks in numbers
    numbers = {name: cells for name, cells in written.items() if all(map(_POINTED.fullmatch, cells))}
    for cells in numbers.values():
        if any(map(_POINT_DECIMAL.fullmatch, cells)) or any(cell.count(".") > 1 for cell in cells):
            return ()
    return tuple(str(name).strip() for name, cells in numbers.items() if _is_dotted(cells))


def with_lost_words(columns: Sequence[Column]) -> tuple[str, ...]:
    """Columns in which NA stands among short codes (Namibia's, a region's), or None among words (an answer).

    Where NA stands among numbers, it is the file's word for what is missing.
    """
    is_missing = any("NA" in column.missing and column.cells and _is_numeric(column) for column in columns)
    found = []
    for column in columns:
        name, cells = str(column.name).strip(), column.cells
        others = [*cells, *(column.missing - {"NA", "None"})]
        if len(others) < 2:
            continue
        if "NA" in column.missing and not is_missing and all(map(_SHORT_CODE.fullmatch, others)):
            found.append(f"{name} (NA)")
        elif "None" in column.missing and not any(
            cell.casefold() in NO_NAMES or NUMBER.fullmatch(cell) for cell in others
        ):
            found.append(f"{name} (None)")
    return tuple(found)


def _is_numeric(column: Column) -> bool:
    return all(map(NUMBER.fullmatch, column.cells))


_CURRENCY = (
    r"(?:[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|RMB|SEK|NOK|DKK|PLN|CZK|HUF|INR|AUD|CAD|BRL|MXN|KRW|TRY|RUB|ZAR|kr\.?|zł|Kč)"
)
_WITH_SIGNS = re.compile(
    rf"\(?\s*[-+−]?\s*{_CURRENCY}?\s*[-+−]?\d+([.,'’ \u00a0\u202f]\d+)*\s*%?\s*{_CURRENCY}?\s*\)?[-−]?", re.ASCII
)
_SIGN = re.compile(rf"[()%−’\u00a0\u202f]|{_CURRENCY}|-$")
_MOST_EXAMPLES = 3


def with_signs(columns: Sequence[Column]) -> tuple[str, ...]:
    """Columns of numbers that stay text because of signs: (12.50), 12.50-, 5 %, $ 3; each with an example of a kind."""
    found = []
    for column in columns:
        if not all(_WITH_SIGNS.fullmatch(cell) or cell.casefold() in GAP_WORDS for cell in column.cells):
            continue
        kinds: dict[frozenset[str], str] = {}
        for cell in sorted(cell for cell in column.cells if cell not in GAP_WORDS):
            if signs := frozenset(_SIGN.findall(cell)):
                kinds.setdefault(signs, cell)
        if kinds:
            found.append(f"{str(column.name).strip()} ({' / '.join([*kinds.values()][:_MOST_EXAMPLES])})")
    return tuple(found)


# --- columns that numbers would spoil

_MOST_TEXT_COLUMNS, _LONGEST_NAMES = 40, 2_000
"""Columns that are named as text, and the characters of their names. Of more of them, all columns are text."""


def dtype_of(text_columns: Sequence[str | int]) -> Any:
    """What a reader of pandas is told so that these columns stay text."""
    if len(text_columns) > _MOST_TEXT_COLUMNS or len(repr(text_columns)) > _LONGEST_NAMES:
        return str
    return dict.fromkeys(text_columns, str)


_DIGITS = re.compile(r"\d+")
_CODE = re.compile(r"\d+[eE]\d+")
_PHONE = re.compile(r"\+[1-9]\d{6,14}")
_WHOLE = re.compile(r"[-+]?\d+")
_EXACT = 15
"""Digits of whole numbers that numbers with decimals hold exactly. A column with gaps is of these."""
_LONGEST = 4_000
"""Digits that Python reads as a number."""
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_STYLES = {
    (decimal, thousands): re.compile(
        rf"[-+]?([1-9]\d{{0,2}}({re.escape(thousands)}\d{{3}})+|\d*)({re.escape(decimal)}\d*)?([eE][-+]?\d+)?"
    )
    for decimal, thousands in ((".", ","), (",", "."), *itertools.product(".,", _GROUPED))
}
"""How numbers are written with a decimal mark and one for thousands."""
_VERSION = re.compile(r"version", re.IGNORECASE)
_VERSION_NUMBER = re.compile(r"\d+\.\d+")


def is_text(column: Column, style: tuple[str, str | None]) -> bool:
    """Whether pandas would make numbers of values that are none, or other numbers than are written there.

    Codes such as 00123 and 1E5, phone numbers, long ids beside gaps, versions, and what a mark for thousands would
    join: addresses, lists such as 1,2.
    """
    cells = column.cells
    if not cells:
        return False
    if all(map(_DIGITS.fullmatch, cells)):
        return any(cell[0] == "0" and len(cell) > 1 for cell in cells) or _has_long_numbers(column)
    if any(map(_CODE.fullmatch, cells)) and all(_CODE.fullmatch(cell) or _DIGITS.fullmatch(cell) for cell in cells):
        return True
    if any(map(_PHONE.fullmatch, cells)) and all(_PHONE.fullmatch(cell) or _DIGITS.fullmatch(cell) for cell in cells):
        return True
    if _VERSION.search(str(column.name)) and all(map(_VERSION_NUMBER.fullmatch, cells)):
        return True
    return _has_long_numbers(column) or is_spoilt_by(cells, style)


def _has_long_numbers(column: Column) -> bool:
    """Whether whole numbers would lose their last digits: beside gaps and decimals, or as no number of the machine."""
    long = [
        cell
        for cell in column.cells
        if len(cell) > _EXACT and _WHOLE.fullmatch(cell) and (len(cell) > _LONGEST or abs(int(cell)) > LARGEST)
    ]
    if not long or not all(map(_FLOAT.fullmatch, column.cells)):
        return False
    return column.has_gaps or not all(map(_WHOLE.fullmatch, column.cells))


def is_spoilt_by(cells: Sequence[str], style: tuple[str, str | None]) -> bool:
    """Whether all cells become numbers when the marks for thousands go, and some were none as they are written."""
    decimal, thousands = style
    written = _STYLES.get((decimal, thousands or ""))
    if thousands is None or written is None:
        return False
    if not all(_FLOAT.fullmatch(cell.replace(thousands, "").replace(decimal, ".")) for cell in cells):
        return False
    has_marks = thousands in _GROUPED and any(thousands in cell for cell in cells)
    return not all(map(written.fullmatch, cells)) or (has_marks and not _is_grouped(cells, thousands))
