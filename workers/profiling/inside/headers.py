"""Which of the first rows of a table names its columns: rows of groups, of names, of units and of values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .columns import DATE, GAP_WORDS, MISSING, NO_NAMES, NUMBER, mostly

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
        if name and len(below) > 1 and mostly(NUMBER, below, 0.9):
            if not _is_name(name, below):
                return False
            named.append((group, name))
            is_grouped = is_grouped or groups[above] > 1 or not above
    return is_grouped and len(named) > 1 and len(set(named)) == len(named)


_UNIT_LENGTH = 30


def is_units(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a row right below the names holds units, such as "s" and "°C": words over columns of numbers and dates.

    Over columns of words it is blank: a first row of values has words there.
    """
    units = 0
    for column, cell in enumerate(map(str.strip, row)):
        below = [cells[column].strip() for cells in body[:50] if column < len(cells) and cells[column].strip()]
        is_blank = not cell or cell in ("-", "[-]", "(-)")
        if len(below) > 1 and (mostly(NUMBER, below, 0.9) or mostly(DATE, below, 0.9)):
            if is_blank:
                continue
            is_word = _is_name(cell, below) and cell.casefold() not in GAP_WORDS and cell not in MISSING
            if not is_word or DATE.fullmatch(cell) or len(cell) > _UNIT_LENGTH:
                return False
            units += 1
        elif not is_blank:
            return False
    return units > 0


def named_units(names: Sequence[object], row: Sequence[str]) -> str:
    """The units in words: each with the name of its column."""
    named = zip(map(str, names), map(str.strip, row), strict=False)
    return ", ".join(f"{name.strip()}: {unit}" for name, unit in named if unit)


def _is_name(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell above numbers names their column: a word that is none of the values, or a year."""
    if _YEAR.fullmatch(cell):
        return not mostly(_YEAR, below, 0.5)
    return not NUMBER.fullmatch(cell) and cell.casefold() not in NO_NAMES and cell not in below


def is_data(names: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line holds values: numbers and dates wherever the lines below have them, and not years."""
    alike, years = [], []
    for column, name in enumerate(map(str.strip, names)):
        below = [cells[column].strip() for cells in body[:50] if column < len(cells) and cells[column].strip()]
        if not below or name in MISSING:
            continue
        if mostly(DATE, below, 0.9):
            alike.append(bool(DATE.fullmatch(name)))
        elif mostly(NUMBER, below, 0.9):
            alike.append(bool(NUMBER.fullmatch(name)) and not DATE.fullmatch(name))
            years.append(bool(_YEAR.fullmatch(name)))
    return bool(alike) and all(alike) and not (years and all(years))
