"""What a reader of a workbook sees and pandas does not: merged cells, notes, errors, hidden rows, tables apart."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from itertools import pairwise
from typing import Any

from .frames import cut
from .lines import note
from .spreadsheets import signs_of

MOST_BOOK_NOTES = 18


def is_hidden(sheet: Any) -> bool:
    """Is this sheet of openpyxl hidden?"""
    return getattr(sheet, "sheet_state", "visible") != "visible"  # a sheet of charts need not say


def book_notes(path: str, sheets: list[str]) -> list[dict[str, Any]] | None:
    """The notes of these sheets, at most a few for each. None for a file that openpyxl cannot open this way."""
    import openpyxl  # noqa: PLC0415 - inside the sandbox

    try:
        with open(path, "rb") as file:  # given a path, openpyxl refuses a name that ends in .xls
            written, computed = (openpyxl.load_workbook(file, data_only=values) for values in (False, True))
    except Exception:
        return None  # openpyxl raises whatever its XML reader raises; the sheets were read already
    notes = []
    for name in sheets:
        if name not in written.sheetnames or not hasattr(written[name], "iter_rows"):
            continue  # a sheet of charts
        sheet, values = written[name], computed[name]
        cells = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None]
        empty = [c for c in cells if c.data_type == "f" and values.cell(row=c.row, column=c.column).value is None]
        errors = [c for row in values.iter_rows() for c in row if c.data_type == "e"]
        remarks = [f"{cell.coordinate}: {cut(cell.comment.text, 80)}" for cell in cells if cell.comment]
        merged = [str(area) for area in sheet.merged_cells.ranges]
        shown = cut(name, 60)
        if merged:
            notes.append(note("merged", sheet=shown, count=len(merged), names=cut(", ".join(sorted(merged)), 120)))
        if len(areas := _areas({(cell.row, cell.column) for cell in cells})) > 1:
            notes.append(note("areas", sheet=shown, count=len(areas), names=cut(", ".join(areas[:_MOST_AREAS]), 120)))
        if empty:
            places = ", ".join(cell.coordinate for cell in empty[:10])
            notes.append(note("no_value", sheet=shown, count=len(empty), names=places))
        if errors:
            places = ", ".join(f"{cell.coordinate}: {cell.value}" for cell in errors[:10])
            notes.append(note("errors", sheet=shown, count=len(errors), names=cut(places, 200)))
        if signs := ", ".join(signs_of(values)):
            notes.append(note("signs", sheet=shown, names=cut(signs, 200)))
        if remarks:
            notes.append(note("remarks", sheet=shown, count=len(remarks), names=cut("; ".join(remarks), 200)))
        notes += _hidden_parts(sheet, shown, {cell.row for cell in cells})
        notes += _shown_otherwise(cells, shown)
    return notes


def _hidden_parts(sheet: Any, shown: str, filled: Set[int]) -> Iterator[dict[str, Any]]:
    """Rows with values that are hidden, by a filter perhaps, and hidden columns: pandas loads them all the same."""
    rows = sum(dimension.hidden and row in filled for row, dimension in sheet.row_dimensions.items())
    if rows:
        yield note("hidden_rows", sheet=shown, count=rows)
    letters = [
        _columns_named(dimension.min or 0, min(dimension.max or 0, sheet.max_column))
        for dimension in sheet.column_dimensions.values()
        if dimension.hidden and (dimension.min or 0) <= sheet.max_column
    ]
    if letters:
        yield note("hidden_columns", sheet=shown, names=cut(", ".join(letters), 120))


_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
"""Parts of a number format that are shown as they are, colours and conditions."""
_SCALED = re.compile(r"[0#?],+(?![0#?,])")
"""Commas behind the last digit of a format: each divides what is shown by a thousand (ECMA-376, part 1, 18.8.31)."""


def _shown_otherwise(cells: Sequence[Any], shown: str) -> Iterator[dict[str, Any]]:
    """Columns of numbers that people see as percents, or in thousands and millions: the values are other numbers."""
    numbers = [cell for cell in cells if cell.data_type in ("n", "f") and not cell.is_date]
    for code, is_so in (("percents", lambda text: "%" in text), ("scaled", _SCALED.search)):
        if letters := _columns_formatted(numbers, is_so):
            yield note(code, sheet=shown, names=cut(", ".join(letters), 120))


def _columns_formatted(numbers: Sequence[Any], is_so: Callable[[str], object]) -> list[str]:
    """The letters of the columns in which most numbers have a format of this kind."""
    formats = {str(cell.number_format) for cell in numbers}
    wanted = {text for text in formats if is_so(_QUOTED.sub("", text))}
    every = Counter(cell.column for cell in numbers)
    found = Counter(cell.column for cell in numbers if cell.number_format in wanted)
    return [_columns_named(at, at) for at in sorted(found) if 2 * found[at] > every[at]]


def _columns_named(first: int, last: int) -> str:
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 - inside the sandbox

    names = [get_column_letter(max(place, 1)) for place in (first, last)]
    return names[0] if last <= first else f"{names[0]}:{names[1]}"


_MOST_AREAS = 8
_DEEPEST = 8
_Place = tuple[int, int]
"""The row and the column of a cell, counted from 1."""


def _areas(filled: Collection[_Place]) -> list[str]:
    """The areas of a sheet that empty rows or columns keep apart, such as "A1:C10", in the order in which people read.

    An area of one row or one column is none: a title, a remark or a sum.
    """
    boxes = [_box(area) for area in _apart(filled, _DEEPEST)]
    return [
        f"{_columns_named(left, left)}{top}:{_columns_named(right, right)}{bottom}"
        for top, left, bottom, right in sorted(boxes)
        if bottom > top and right > left
    ]


def _box(area: Collection[_Place]) -> tuple[int, int, int, int]:
    rows, columns = [row for row, _ in area], [column for _, column in area]
    return min(rows), min(columns), max(rows), max(columns)


def _apart(filled: Collection[_Place], deepest: int) -> list[Collection[_Place]]:
    """The cells cut at empty rows, then each part at empty columns, and so on."""
    for axis in (0, 1):
        used = sorted({place[axis] for place in filled})
        starts = [later for earlier, later in pairwise(used) if later > earlier + 1]
        if starts and deepest:
            parts: list[list[_Place]] = [[] for _ in range(len(starts) + 1)]
            for place in filled:
                parts[bisect_right(starts, place[axis])].append(place)
            return [area for part in parts for area in _apart(part, deepest - 1)]
    return [filled] if filled else []
