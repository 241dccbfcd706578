"""The tables of a report: as table blocks where Slack takes them, else as a preview and a CSV file with all of it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from core.slack.blocks import Align, Limit, fits_table
from core.slack.text import clip

_NUMBER = re.compile(r"[-+−(]?+\s*+[$€£¥₩₹]?+\s*+[-+−]?+(?:[.,'  ]*+\d)++[.,]*+\s*+[%‰)]?+\s*+[kKmMbB万亿]?+")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula, in both widths."""
_PREVIEW_ROWS = 10
_PREVIEW_CELLS = (200, 60, 30)
"""Characters of a cell, the widest that lets the preview fit; 20 columns of 30 always do."""


def is_number(text: str) -> bool:
    """Whether a cell shows a number: with separators, a sign, a currency or a percent sign at most."""
    return _NUMBER.fullmatch(text.strip()) is not None


def alignments(rows: Sequence[Sequence[str]], written: Sequence[Align | None]) -> list[Align | None]:
    """The alignment of each column: as written, else right where every filled cell below the header is a number."""

    def align(column: int) -> Align | None:
        if column < len(written) and written[column]:
            return written[column]
        cells = [row[column].strip() for row in rows[1:] if column < len(row) and row[column].strip() not in _BLANKS]
        return "right" if cells and all(map(is_number, cells)) else None

    return [align(column) for column in range(max(map(len, rows), default=0))]


_BLANKS = ("", "-", "–", "—", "n/a", "NaN", "nan", "None", "<NA>")
_KEY = re.compile(r"(?:^|[\W_])(?:id|key|code|zip|plz|year|jahr|année|annee|año|ano)(?:$|[\W_])|年", re.IGNORECASE)
_YEARS = (1900, 2100)


def are_keys(name: str, values: Iterable[object]) -> bool:
    """Whether the numbers of a column or an axis are years, keys or codes: nobody writes "2,024" for a year.

    Its name may say so; without such a name all of them are whole and could be years.
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not all(float(value).is_integer() for value in numbers):
        return False
    return _KEY.search(name) is not None or (
        bool(numbers) and all(_YEARS[0] <= value <= _YEARS[1] for value in numbers)
    )


def widths(wanted: Sequence[float], room: float) -> list[float]:
    """The widths of columns that want so much each. Where room is short the widest share what the others leave: a
    narrow column is not squeezed, and its numbers are not broken, because another one has a long text."""
    found = [0.0] * len(wanted)
    for done, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        found[place] = min(wanted[place], room / (len(wanted) - done))
        room -= found[place]
    return found


def preview(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The first rows and columns of a table that is too large for a table block."""
    first = [row[: Limit.TABLE_COLUMNS] for row in rows[: _PREVIEW_ROWS + 1]]
    for width in _PREVIEW_CELLS:
        shown = [[clip(cell, width) for cell in row] for row in first]
        if fits_table(shown):
            break
    return shown


def to_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """CSV that spreadsheets open as it is meant: UTF-8 with a mark, and no cell that would run as a formula."""
    text = io.StringIO()
    csv.writer(text).writerows([inert(cell) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


_INNER = re.compile(r"(?<=[,;|\t\r\n])(?=[\"']*(?:[=@＝＠]|[+\-＋－][^,;\t\r\n|(!]*+[|(!]))")
"""Places inside a cell that another program's separator would make the beginning of one."""


_HARMLESS = re.compile(
    r"[-+]?(?:\d++\.?\d*+|\.\d+)[eE][-+]?\d+|[-+](?:inf(?:inity)?|nan)|-\d+ days(?: \+\d\d:\d\d:\d\d(?:\.\d+)?)?|[-+]+",
    re.IGNORECASE,
)
"""A number with an exponent, an infinite one, a negative time as pandas writes it; dashes, which stand for nothing."""


def inert(cell: str) -> str:
    """A cell of a text file that no spreadsheet runs as a formula. A number with a sign stays a number."""
    harmless = not cell.startswith(FORMULA) or is_number(cell) or _HARMLESS.fullmatch(cell)
    told = cell if harmless else "'" + cell
    return _INNER.sub("'", told)
