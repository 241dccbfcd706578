"""Figures of a table's row that contradict two others of it, where the other rows show how the three go together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from workers.agent.provenance.claims.reading import Claim, Reading
from workers.agent.provenance.consistency.amounts import (
    PERCENT,
    Amount,
    Contradiction,
    Table,
    as_number,
    options,
    text_of,
    where,
)
from workers.agent.provenance.consistency.words import NO_ADDEND

_MOST_COLUMNS, _MOST_ROWS = 10, 80
_FEWEST = 3
"""Rows that must follow a formula before another row can contradict it."""
_PER_EXCEPTION = 4
_SHARP = 0.02
"""A result says something about a figure if rounding moves it by no more than this part of it."""
_CLEARLY = 0.05
"""A rate may rest on a few rows less than the count beside it: only one that is farther off contradicts."""
_DIFFERENCE = re.compile(
    r"\b(?:diff\w*|change|delta|gap|variance|lead|"
    r"veränderung|differenz|abweichung|unterschied|änderung|écart|différence|variation|évolution|"
    r"diferencia|cambio|variaci[oó]n|desviaci[oó]n)\b|[ΔΔ±]|\+/-|差|変化|増減|变化|增减",
    re.IGNORECASE,
)


class _Formula(NamedTuple):
    """What a third column is of two others. `is_rate`: of a part and its whole."""

    gives: Callable[[float, float], float]
    by: str
    is_rate: bool = False


def _difference(a: float, b: float) -> float:
    return a - b


def _growth(a: float, b: float) -> float:
    return (a - b) / b * 100


def _rate(a: float, b: float) -> float:
    return a / b * 100


_POINTS = _Formula(_difference, "{0} − {1}")
_GROWTH = _Formula(_growth, "({0} − {1}) / {1}")
_RATE = _Formula(_rate, "{0} / {1}", is_rate=True)
_Row = tuple[Claim, Claim, Claim]


class _Explained(NamedTuple):
    """A formula, how many rows follow it, and those that do not."""

    formula: _Formula
    follow: int
    exceptions: Sequence[_Row]


def in_rows(table: Table, reading: Reading) -> Iterator[Contradiction]:
    """The figures that follow from two others of their row in all rows but a few, and not in these."""
    rows = [r for r in sorted(table.rows)[:_MOST_ROWS] if table.rows[r].strip() and not NO_ADDEND.search(table.rows[r])]
    usable = {
        c: {r: claim for r, claim in table.column(c).items() if r in rows and (r, c) not in table.unusable}
        for c in sorted(table.headings)[:_MOST_COLUMNS]
    }
    for c, column in usable.items():
        if len(column) <= _FEWEST:
            continue
        best: _Explained | None = None
        for a, b in permutations((each for each in usable if each != c), 2):
            common = [(usable[a][r], usable[b][r], column[r]) for r in rows if _in_all(r, usable, (a, b, c))]
            for formula in _formulas(table.headings[c], usable[a], usable[b], column):
                one = _explained(common, formula)
                if one is not None and (best is None or _is_better(one, best)):
                    best = one
        if best is not None:
            for row in best.exceptions:
                yield _contradiction(row, best.formula, reading)


def _is_better(one: _Explained, other: _Explained) -> bool:
    """Whether a formula explains a column better: two columns in the wrong order nearly do for small changes."""
    return (len(one.exceptions), -one.follow) < (len(other.exceptions), -other.follow)


def _in_all(r: int, usable: Mapping[int, Mapping[int, Claim]], columns: Sequence[int]) -> bool:
    return all(r in usable[c] for c in columns)


def _formulas(
    heading: str, first: Mapping[int, Claim], second: Mapping[int, Claim], third: Mapping[int, Claim]
) -> Iterator[_Formula]:
    """The formulas that the third column may follow, by the units and its heading."""
    units = [{claim.numeral.unit for claim in column.values()} for column in (first, second, third)]
    if any(len(each) != 1 for each in units):
        return
    a, b, c = (next(iter(each)) for each in units)
    if a != b:
        return
    if (c == a or (c in PERCENT and a == "%")) and _DIFFERENCE.search(heading):
        yield _POINTS
    if c == "%" and a not in PERCENT:
        yield _GROWTH
        yield _RATE


def _explained(rows: Sequence[_Row], formula: _Formula) -> _Explained | None:
    """What a formula says of these rows; None unless nearly all of them follow it."""
    best: _Explained | None = None
    columns = list(zip(*rows, strict=True))
    for ways in zip(*(list(options(column)) for column in columns), strict=False):
        fits = [_fits(sizes, formula) for sizes in zip(*ways, strict=True)]
        found = [row for row, fit in zip(rows, fits, strict=True) if fit is False]
        follow = [sizes for sizes, fit in zip(zip(*ways, strict=True), fits, strict=True) if fit]
        few = len({sizes[2].value for sizes in follow}) < _FEWEST
        if few or len(found) * _PER_EXCEPTION > len(follow) + 1:
            continue
        one = _Explained(formula, len(follow), found)
        best = one if best is None or _is_better(one, best) else best
    return best


def _fits(sizes: Sequence[Amount], formula: _Formula) -> bool | None:
    """Whether a row follows a formula. None where its figures are too coarse to tell."""
    first, second, third = sizes
    if formula is not _POINTS and second.value - second.slack <= 0:
        return None
    corners = [
        formula.gives(first.value + x * first.slack, second.value + y * second.slack) for x in (-1, 1) for y in (-1, 1)
    ]
    given = formula.gives(first.value, second.value)
    reach = max(abs(each - given) for each in corners)
    far = min(abs(abs(third.value) - abs(given)), abs(third.value - given))
    if far <= third.slack * (1 + 1e-6):
        return True
    is_sharp = reach <= max(abs(given) * _SHARP, third.slack * 2)
    room = reach + third.slack * (1 + 1e-6)
    if far <= room:
        return True if is_sharp else None
    unclear = far <= room + 2 * third.slack or (formula.is_rate and far <= abs(given) * _CLEARLY)
    return None if unclear else False


def _contradiction(row: _Row, formula: _Formula, reading: Reading) -> Contradiction:
    first, second, third = row
    sizes = [next(iter(options([claim])))[0].value for claim in row]
    by = formula.by.format(text_of(first), text_of(second))
    gives = as_number(formula.gives(sizes[0], sizes[1]), third)
    return Contradiction("row", text_of(third), where(third, reading), gives, by)
