"""Figures that follow directly from a table: the total of a column, or a ratio of two columns or of their totals.

Reports give them without a word for a total ("8,835 visits and 630 no-shows"), and for rows that they name ("€5.50 a
parcel with UPS"). So the table has to be small, and either the figure has enough digits or its column is named. An
invented number fits so few totals and pairs only rarely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.derivations.workbench import Workbench
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import CURRENCIES, RATIO, TOTAL, UNITS, says
from workers.agent.provenance.outputs.facts import Fact, Grid, Label, is_total

_MONEY = frozenset(CURRENCIES.values())
_MOST_ROWS, _MOST_COLUMNS, _MOST_GRIDS = 40, 8, 8
_FEW_COLUMNS = 3
"""With so few columns, any two may be compared. With more columns, the sentence has to name one of the two."""
_ENOUGH_DIGITS = 3
_OF = re.compile(
    r"(?:\b(?:of|von|aus|sur|de|sobre)\s+(?:the |its |their |all |den |allen |les )?|全部|共有?|总计?)\W*$",
    re.IGNORECASE,
)
_OF_PART = re.compile(
    r"\d[\s\u2060]+(?:of|der|des|de)[\s\u2060]+(?:the|all|our|los|las|les|nos)?[\s\u2060]*$", re.IGNORECASE
)
"""What stands between a part and its whole: "12 of the 30"."""
_HAS_PARTS = re.compile(r"[个個人名件台]?の?[\u3040-\u30ff\u4e00-\u9fff]{0,4}(?:のうち|中)")
"""What Chinese and Japanese write behind a whole, before its part: "30个客户中12个"."""
NO_SUM = frozenset("mean avg average median std min max rate share ratio pct percent p95 mittel schnitt p t z".split())  # noqa: SIM905 - a list of words reads best as one line


class Side(NamedTuple):
    """One side of a rate or a ratio: the facts that it adds up, its value, and whether the sentence names it."""

    facts: tuple[Fact, ...]
    value: float
    column: int
    named: bool
    period: frozenset[Label]
    unit: str


def totals(claim: Claim, bench: Workbench) -> Iterator[Side]:
    """The totals of columns that a claim may mean. The claim is about no single row. It has enough digits or names the
    column."""
    digits = significant(claim)
    base = _OF.search(bench.text, max(claim.span[0], claim.start - 16), claim.start) is not None
    is_whole = base or _OF_PART.search(bench.text, claim.span[0], claim.start) is not None
    is_whole = is_whole or _HAS_PARTS.match(bench.text, claim.end) is not None
    for grid in small_grids(bench):
        several = list(grid.named(bench.wanted))
        parts = [several] if len({fact.row for fact in several}) > 1 else []
        if base or not _names_row(claim, grid, bench.scene):
            parts.append([fact for fact in grid.facts if not _is_of_another_period(claim, fact, bench)])
        for part in parts:
            for side in _sums(part, bench):
                enough = digits > _ENOUGH_DIGITS or (digits == _ENOUGH_DIGITS and _is_whole(side.facts))
                if side.named or enough or (is_whole and any(one.fact in side.facts for one in bench.said)):
                    yield side


def pairs(claim: Claim, bench: Workbench) -> Iterator[tuple[Side, Side]]:
    """Two columns of a row that the claim names, or of all rows if it names none; or two figures of one record."""
    for grid in small_grids(bench):
        if grid.record:
            sides = [_side((fact,), bench, at) for at, fact in enumerate(grid.facts)]
            yield from _of(sides, few=False)
            continue
        if _is_of_periods(grid):
            yield from _of_rows(claim, grid, bench)
            continue
        if not _names_row(claim, grid, bench.scene):
            if not claim.in_table:
                yield from _of(list(_sums(grid.facts, bench)), few=False)
            continue
        rows: dict[int, list[Side]] = {}
        for fact in grid.facts:
            if bench.scene.agrees(claim, fact) and bench.scene.conflict(claim, fact) is None:
                rows.setdefault(fact.row, []).append(_side((fact,), bench, fact.column))
        if len(rows) <= 2:
            for sides in rows.values():
                yield from _of(sides, few=len(sides) <= _FEW_COLUMNS)


def row_totals(claim: Claim, bench: Workbench) -> Iterator[tuple[Fact, ...]]:
    """The figures of a row over all periods of a table whose columns are periods; of all rows if the claim names none
    and tells a total of counts. The claim names no period."""
    for grid in bench.grids:
        periods = {id(f): f for fact in grid.facts for f, label in fact.keys if f.columns and isinstance(label, Day)}
        if not grid.whole or not _is_of_periods(grid) or any(bench.scene.allowed(claim, f) for f in periods.values()):
            continue
        named = [fact for fact in grid.named(bench.wanted) if bench.scene.agrees(claim, fact)]
        row = tuple(fact for fact in named if bench.scene.conflict(claim, fact) is None)
        if not named and says(TOTAL, bench.sentence) and _is_whole(grid.facts):
            row = tuple(fact for fact in grid.facts if not is_total(fact))
        elif len({fact.row for fact in row}) != 1:
            continue
        if len(row) > 2 and not any(fact.percent for fact in row):
            yield row


def _is_of_periods(grid: Grid) -> bool:
    """Whether the columns of a table are dates, so that its rows are its measures."""
    return grid.rows <= _MOST_COLUMNS and all(
        any(family.columns and isinstance(label, Day) for family, label in fact.keys) for fact in grid.facts
    )


def _of_rows(claim: Claim, grid: Grid, bench: Workbench) -> Iterator[tuple[Side, Side]]:
    """Two rows of one period. The sentence names both, or it names one and the other is the first row."""
    said = bench.words
    for at in {fact.column for fact in grid.facts}:
        column = [fact for fact in grid.column(at) if not _is_of_another_period(claim, fact, bench)]
        named = [fact for fact in column if any(len(word) > 2 and word in said for word in _row_words(fact))]
        for a, b in permutations(column, 2):
            if (a in named and b in named) or (a in named and b.row == 0):
                yield _side((a,), bench, a.row), _side((b,), bench, b.row)


def _row_words(fact: Fact) -> set[str]:
    return {word for f, label in fact.keys if not f.columns and not isinstance(label, Day) for word in label}


def _is_of_another_period(claim: Claim, fact: Fact, bench: Workbench) -> bool:
    """Whether the words before a claim, or its clause, name another date than that of the fact's column."""
    dated = [(family, label) for family, label in fact.keys if family.columns and isinstance(label, Day)]
    text = [*bench.scene.within(claim.span[0], claim.start), *bench.scene.within(*claim.clause)]
    told = [one.label for one in text if isinstance(one.label, Day)]
    if claim.in_table:
        return any((found := bench.scene.allowed(claim, f)) is not None and label not in found for f, label in dated)
    return bool(told) and any(not told[-1].fits(label) and not label.fits(told[-1]) for _, label in dated)


def steps_before(fact: Fact | None) -> list[Fact]:
    """The stages before a figure of a table: the figure above it in its column, and the first one."""
    if fact is None or fact.grid is None or fact.row < 1 or fact.grid.rows > _MOST_ROWS:
        return []
    return [one for one in fact.grid.column(fact.column) if one.row in (0, fact.row - 1)]


def is_ratio(claim: Claim, bench: Workbench, over: Side, under: Side) -> bool:
    """Whether a sentence may give this ratio: it has a word for a ratio, or it gives an amount of money for each
    thing."""
    unit, known = claim.numeral.unit, bench.facts.currencies
    if unit in _MONEY and under.unit not in _MONEY and over.unit in (unit, "") and (over.unit or not known - {unit}):
        return True
    if significant(claim) < _ENOUGH_DIGITS and not (over.named and under.named):
        return False
    return says(RATIO, bench.sentence) and (over.named or under.named or over.unit in _MONEY)


def significant(claim: Claim) -> int:
    """The number of significant digits of a figure: 0.05 has one, 1,200 has four."""
    return len("".join(filter(str.isdigit, claim.numeral.text)).lstrip("0"))


def _of(sides: Sequence[Side], *, few: bool) -> Iterator[tuple[Side, Side]]:
    for a, b in permutations(sides, 2):
        if b.value and a.column != b.column and a.period == b.period and (few or a.named or b.named):
            yield a, b


def small_grids(bench: Workbench, *, touched: bool = True) -> list[Grid]:
    """The small tables of this turn that the sentence touches by a figure, a row or a column. All without `touched`."""
    small = [grid for grid in bench.facts.grids if grid.facts and grid.whole and grid.facts[0].turn == 0]
    small = [
        grid for grid in small if 1 < grid.rows <= _MOST_ROWS and len({f.column for f in grid.facts}) <= _MOST_COLUMNS
    ]
    near = {id(grid) for grid in bench.grids}
    return [
        grid
        for grid in small[-_MOST_GRIDS:]
        if not touched
        or id(grid) in near
        or len(small) == 1
        or any(is_named_measure(fact, bench) or (_row_words(fact) & bench.words) for fact in grid.facts)
    ]


def _sums(facts: Sequence[Fact], bench: Workbench) -> Iterator[Side]:
    for at in sorted({fact.column for fact in facts}):
        column = [fact for fact in facts if fact.column == at and not is_total(fact)]
        if len(column) > 1 and not any(fact.percent or fact.words & NO_SUM for fact in column):
            yield _side(tuple(column), bench, at)


def _side(facts: tuple[Fact, ...], bench: Workbench, column: int) -> Side:
    first = facts[0]
    period = frozenset(label for family, label in first.keys if family.columns and isinstance(label, Day))
    named = any(is_named_measure(fact, bench) for fact in facts[:1])
    return Side(facts, sum(fact.scaled for fact in facts), column, named, period, first.unit)


def is_named_measure(fact: Fact, bench: Workbench) -> bool:
    """Whether the sentence, or the heading of the claim's column, has the name of a fact's measure."""
    if fact.grid is None:
        return False
    if any(one.fact is fact for one in bench.said):
        return True
    name, said = measure_words(fact), bench.words
    foreign = [word for word in name if not word.isascii() and len(word) == 1]
    return bool(foreign and set(foreign) <= said) or any(len(word) > 2 and word in said for word in name)


def measure_words(fact: Fact) -> frozenset[str]:
    """The words of the name of a fact's measure: of its column, or of its line in a record."""
    grid = fact.grid
    if grid is None or grid.record:
        name = fact.words
    elif fact.column < len(grid.names):
        name = frozenset(grid.names[fact.column])
    else:
        name = frozenset(word for f, label in fact.keys if f.columns and not isinstance(label, Day) for word in label)
    return frozenset(word for word in name if word not in _NO_NAMES)


_NO_NAMES = frozenset((*CURRENCIES, *UNITS, "total", "sum", "count", "value", "number", "all", "the", "and"))


def _names_row(claim: Claim, grid: Grid, scene: Scene) -> bool:
    """Whether a claim's clause or row, or what stands before it in the sentence, names a row of this table."""
    families = {id(family): family for fact in grid.facts for family, _ in fact.keys if not family.columns}
    allowed = (scene.allowed(claim, family) for family in families.values() if family.binds)
    return any(labels is not None and len(labels) == 1 for labels in allowed)


def _is_whole(facts: Sequence[Fact]) -> bool:
    return all(fact.value == int(fact.value) for fact in facts)
