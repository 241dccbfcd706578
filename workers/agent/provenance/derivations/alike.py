"""Figures of the same kind: one formula over a table explains several of them.

A report may compute a column of its own ("yield: 7.2, 6.4, 6.6"), or give the same measure for several rows in a
sentence ("Shoes bring in 28.5 %, Bags 21.4 %"). One such figure may fit some formula by accident. Two figures of
different rows hardly ever fit the same formula by accident. So a formula counts here only if a figure of another row
also follows from it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations
from typing import NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import bounds, direction, is_level
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.derivations.columns import significant
from workers.agent.provenance.language.words import CURRENCIES, TOTAL
from workers.agent.provenance.outputs.facts import Fact, Facts, Family, Grid, Label, is_total

_MOST_ROWS, _MOST_COLUMNS, _MOST_GRIDS = 60, 8, 8
_MOST_CLAIMS = 60
_SUPPORT = 4
"""The figures that a formula explains must have at least this many digits together."""
_MONEY = frozenset(CURRENCIES.values())
_PER = re.compile(
    r"\b(?:per|je|pro|par|por)[\s\u2060]+(1,000,000|1[.,]?000|100[.,]?000|10[.,]?000|100|million|thousand)\b|每(百|千|万)",
    re.IGNORECASE,
)
_HUNDREDS = {"million": 1e6, "thousand": 1e3, "百": 1e2, "千": 1e3, "万": 1e4}
_FROM_TO = re.compile(r"^[\s\u2060]*(?:to|auf|bis|à|a|→|->|–>|至|到|升至|降至)[\s\u2060]*$", re.IGNORECASE)
_NEXT = re.compile(
    r"^[\s\u2060]*(?:,|and|und|et|y|、|，|和|或|/|, and)[\s\u2060]*(?:[A-Za-zé]{1,3}[\s\u2060]+)?$", re.IGNORECASE
)
_MOST_IN_ORDER, _MOST_AT_ONCE = 6, 3
WHOLE = -1
"""The row that stands for all rows of a table together."""

Rows = tuple[int, ...]
"""The rows that a figure is about: one row, or a few rows with the same figure."""

Key = tuple[object, ...]


class Point(NamedTuple):
    """A value of a table, with its fact. The fact is None for a value that the report computed itself."""

    value: float
    fact: Fact | None
    percent: bool
    unit: str


class Result(NamedTuple):
    """What a formula gives for a row: the step, the facts that it starts from, and whether its sign has a meaning."""

    how: str
    facts: tuple[Fact, ...]
    value: float
    signed: bool
    unit: str


class _Sizes(NamedTuple):
    """What a claim's digits may stand for: values, each with its slack.

    `per` is the number of things that a rate counts for. `scale` is the claim's scale, if the data uses it too. 0 means
    none.
    """

    bounds: list[tuple[float, float]]
    per: float
    scale: float


@dataclass(slots=True)
class Table:
    """A table to compute in: its rows by column, in order. `totals` are rows that are labelled as such."""

    rows: dict[int, dict[int, Point]] = field(default_factory=dict)
    totals: set[int] = field(default_factory=set)
    named: dict[int, list[tuple[Family, Label]]] = field(default_factory=dict)


class Alike:
    """The formulas that explain several figures of a report. Built once for a report, asked for each figure."""

    def __init__(self, claims: Sequence[Claim], backed: dict[int, tuple[float, Fact | None]], scene: Scene,
                 facts: Facts) -> None:  # fmt: skip
        self._scene, self._facts = scene, facts
        self._found: dict[int, Result] = {}
        self._sizes: dict[int, _Sizes] = {}
        """By the id of a claim. Kept because a claim is compared with hundreds of results."""
        numbers = [claim for claim in claims if claim.numeral.kind == "number" and not claim.small]
        for claims_of, table, rows in self._groups(numbers, backed):
            self._explain(claims_of, table, rows)

    def of(self, claim: Claim) -> Result | None:
        """The formula for a claim. None if no formula explains it together with another claim."""
        return self._found.get(id(claim))

    def _groups(
        self, numbers: Sequence[Claim], backed: dict[int, tuple[float, Fact | None]]
    ) -> Iterator[tuple[list[Claim], Table, dict[int, Rows]]]:
        """Claims that one formula may explain, the table in which they are computed, and the rows of each claim."""
        tables = [table for grid in self._grids(numbers) for table in (table_of(grid), turned(grid))]
        columns: dict[tuple[int, int], list[Claim]] = defaultdict(list)
        prose = [claim for claim in numbers if not claim.in_table][:_MOST_CLAIMS]
        for claim in numbers:
            if claim.in_table:
                columns[claim.table, claim.at[1]].append(claim)
        for (table, at), own in columns.items():
            if len(own) < 2 or all(id(claim) in backed for claim in own):
                continue
            written = _written([c for c in numbers if c.table == table and c.at[1] != at], backed)
            yield own, written, {id(claim): (claim.at[0],) for claim in own}
            for data in tables:
                yield own, data, self._rows(own, data)
        if any(id(claim) not in backed for claim in prose):
            for data in tables:
                yield prose, data, self._rows(prose, data)
                yield from self._told_in_order(prose, data)

    def _grids(self, numbers: Sequence[Claim]) -> list[Grid]:
        small = [
            grid
            for grid in self._facts.grids
            if grid.facts
            and grid.whole
            and grid.facts[0].turn == 0
            and grid.rows <= _MOST_ROWS
            and len({fact.column for fact in grid.facts}) <= _MOST_COLUMNS
            and len(grid.facts) > 1
        ]
        return small[-_MOST_GRIDS:] if numbers else []

    def _told_in_order(
        self, prose: Sequence[Claim], table: Table
    ) -> Iterator[tuple[list[Claim], Table, dict[int, Rows]]]:
        """Neighbouring claims, one for each row of the table, in the order of the rows: "From 5.0 % to 4.0 %", "that is
        2,078 €, 1,673 € and 1,689 €"."""
        rows = sorted(row for row in table.rows if row not in table.totals)
        text = self._scene.reading.text
        for at in range(len(prose) - len(rows) + 1) if 2 <= len(rows) <= _MOST_IN_ORDER else ():
            own = list(prose[at : at + len(rows)])
            between = [text[a.end : b.start] for a, b in pairwise(own)]
            if len({claim.span for claim in own}) == len({claim.numeral.unit for claim in own}) == 1 and all(
                (_FROM_TO if len(rows) == 2 else _NEXT).match(each) for each in between
            ):
                yield own, table, {id(claim): (row,) for claim, row in zip(own, rows, strict=True)}

    def _rows(self, claims: Sequence[Claim], table: Table) -> dict[int, Rows]:
        """The row that each claim is about, or the few rows with the same figure. Other claims are left out."""
        found: dict[int, Rows] = {}
        for claim in claims:
            if claim.in_table and TOTAL.search(claim.row):
                found[id(claim)] = (WHOLE,)
                continue
            fits = tuple(row for row, keys in table.named.items() if self._is_about(claim, keys))
            if 1 <= len(fits) <= _MOST_AT_ONCE:
                found[id(claim)] = fits
        return found

    def _is_about(self, claim: Claim, keys: Sequence[tuple[Family, Label]]) -> bool:
        some = False
        for family, label in keys:
            allowed = self._scene.allowed(claim, family)
            if allowed is not None and label not in allowed:
                return False
            some = some or (allowed is not None and len(allowed) <= _MOST_AT_ONCE)
        return some

    def _explain(self, claims: Sequence[Claim], table: Table, rows: dict[int, Rows]) -> None:
        about = [(claim, rows[id(claim)]) for claim in claims if id(claim) in rows]
        for percent in (True, False):
            own = [(c, r) for c, r in about if (c.numeral.unit in ("%", "pp")) == percent]
            needed = {row for _, of in own for row in of}
            if len(needed) < 2:
                continue
            results = {row: dict(formulas(table, row, percent=percent)) for row in needed}
            matched: dict[Key, list[tuple[Claim, Rows, Result]]] = defaultdict(list)
            for claim, of in own:
                for key, result in results[of[0]].items():
                    if not self._is_of_size(claim, result):  # few pass, so costly checks come later
                        continue
                    same = [results[row].get(key) for row in of]
                    if all(one is not None and self._fits(claim, one) for one in same):
                        matched[key].append((claim, of, result))
            for found in sorted(matched.values(), key=len, reverse=True):
                self._take(found, len(own), claims)

    def _take(self, found: Sequence[tuple[Claim, Rows, Result]], count: int, claims: Sequence[Claim]) -> None:
        """Keep what a formula explains, when the figures of other rows support it."""
        if claims[0].in_table and len(found) * 2 <= count:
            return
        for claim, of, result in found:
            own = significant(claim) * len(of)
            others = sum(significant(other) for other, at, _ in found if set(at) != set(of))
            if min(own, others) >= 2 and own + others >= _SUPPORT:
                self._found.setdefault(id(claim), result)

    def _fits(self, claim: Claim, result: Result) -> bool:
        if not self._is_of_size(claim, result):
            return False
        unit = claim.numeral.unit
        if unit in _MONEY and result.unit not in (unit, ""):
            return False
        if unit in _MONEY and not result.unit and not may_be_money(unit, result, self._facts):
            return False
        if claim.numeral.sign and unit == "%" and not result.signed:
            return False
        return not result.signed or sign_allows(claim, result.value, self._scene)

    def _is_of_size(self, claim: Claim, result: Result) -> bool:
        """Whether a claim's digits may stand for this value."""
        if (sizes := self._sizes.get(id(claim))) is None:
            sizes = self._sizes[id(claim)] = self._sizes_of(claim)
        size = abs(result.value)
        if _is_any(size, sizes.bounds):
            return True
        if result.how == "ratio":
            return bool(sizes.per) and _is_any(size * sizes.per, sizes.bounds)
        return bool(sizes.scale) and result.how in ("difference", "sum") and _is_any(size * sizes.scale, sizes.bounds)

    def _sizes_of(self, claim: Claim) -> _Sizes:
        text = self._scene.reading.text
        fine = [(bound.value, bound.slack * 1.001) for bound in bounds(claim, text) if not bound.coarse]
        per = per_many(claim.column if claim.in_table else text[slice(*claim.span)])
        scale = claim.numeral.scale if claim.numeral.scale in self._facts.scales else 0.0
        return _Sizes(fine, per, scale)


def _is_any(size: float, sizes: Sequence[tuple[float, float]]) -> bool:
    margin = 1e-9 * size
    for value, slack in sizes:  # noqa: SIM110 - asked for each figure and formula: a generator costs more than it does
        if abs(size - value) <= slack + margin:
            return True
    return False


def may_be_money(unit: str, result: Result, facts: Facts) -> bool:
    """Whether a result without a unit may be an amount of money. It is none if the data names only other currencies, or
    if its table names money elsewhere."""
    if facts.currencies and unit not in facts.currencies:
        return False
    beside = (other for fact in result.facts if fact.grid is not None for other in fact.grid.facts)
    return not any(other.unit in _MONEY for other in beside)


def per_many(text: str) -> float:
    """The number of things that a rate counts for: 100 in "per 100 km". 0 for none."""
    match = _PER.search(text)
    if match is None:
        return 0.0
    word = (match[1] or match[2]).casefold()
    return _HUNDREDS.get(word) or float(re.sub(r"[.,]", "", word))


def table_of(grid: Grid) -> Table:
    """A grid as it stands."""
    table = Table()
    for fact in grid.facts:
        table.rows.setdefault(fact.row, {})[fact.column] = _point(fact)
        table.named.setdefault(fact.row, [(f, label) for f, label in fact.keys if not f.columns])
        if is_total(fact):
            table.totals.add(fact.row)
    table.named = {row: keys for row, keys in table.named.items() if keys}
    return table


def turned(grid: Grid) -> Table:
    """A grid with its columns as rows. Some reports speak of the columns: of periods or of measures."""
    table = Table()
    for fact in grid.facts:
        if is_total(fact):
            continue
        table.rows.setdefault(fact.column, {})[fact.row] = _point(fact)
        table.named.setdefault(fact.column, [(f, label) for f, label in fact.keys if f.columns])
    table.named = {row: keys for row, keys in table.named.items() if keys}
    if any(len(row) > _MOST_COLUMNS for row in table.rows.values()):
        return Table()
    return table


def _point(fact: Fact) -> Point:
    return Point(fact.scaled, fact, fact.unit in ("%", "pp") or (fact.percent and abs(fact.value) <= 1), fact.unit)


def _written(claims: Sequence[Claim], backed: dict[int, tuple[float, Fact | None]]) -> Table:
    """The report's own table, as far as its figures are backed."""
    table = Table()
    for claim in claims:
        if (known := backed.get(id(claim))) is not None:
            percent = claim.numeral.unit in ("%", "pp")
            table.rows.setdefault(claim.at[0], {})[claim.at[1]] = Point(known[0], known[1], percent, claim.numeral.unit)
            if TOTAL.search(claim.row):
                table.totals.add(claim.at[0])
    return table


def formulas(table: Table, row: int, *, percent: bool) -> Iterator[tuple[Key, Result]]:
    """What may be computed for a row of a table, by a key that is the same for all its rows."""
    plain = [at for at in sorted(table.rows) if at not in table.totals]
    own = _whole(table, plain) if row == WHOLE or row in table.totals else table.rows.get(row, {})
    yield from _across(own, percent=percent)
    if row in plain:
        at = plain.index(row)
        for column, point in own.items():
            whole = [table.rows[other][column] for other in plain if column in table.rows[other]]
            if len(whole) == len(plain) > 1:
                yield from _down(column, point, whole, at, percent=percent)


def _whole(table: Table, plain: Sequence[int]) -> dict[int, Point]:
    """The totals of the columns of amounts."""
    found: dict[int, Point] = {}
    columns = {column for row in plain for column in table.rows[row]}
    for column in columns:
        points = [table.rows[row][column] for row in plain if column in table.rows[row]]
        if len(points) == len(plain) > 1 and not any(point.percent for point in points):
            found[column] = Point(sum(point.value for point in points), points[0].fact, False, points[0].unit)
    return found


def _across(own: dict[int, Point], *, percent: bool) -> Iterator[tuple[Key, Result]]:
    """Formulas over two columns of a row."""
    for (i, a), (j, b) in permutations(own.items(), 2):
        facts = tuple(fact for fact in (a.fact, b.fact) if fact is not None)
        same = "" if a.unit == b.unit else a.unit
        if percent and not (a.percent or b.percent):
            if b.value:
                yield ("share", i, j), Result("share", facts, a.value / b.value * 100, False, "")
                yield ("change", i, j), Result("change", facts, (a.value - b.value) / abs(b.value) * 100, True, "")
            if 0 < a.value < b.value:
                yield ("rest", i, j), Result("rest", facts, 100 - a.value / b.value * 100, False, "")
        elif percent and a.percent and b.percent and i > j:
            yield ("points", i, j), Result("difference", facts, _hundred(a) - _hundred(b), True, "")
        elif not percent and a.percent == b.percent:
            if b.value:
                yield ("ratio", i, j), Result("ratio", facts, a.value / b.value, False, same)
            if i > j and not (a.unit and b.unit and a.unit != b.unit):
                yield ("difference", i, j), Result("difference", facts, a.value - b.value, True, a.unit or b.unit)
        if not percent and i < j and not (a.unit in _MONEY and b.unit in _MONEY):
            factor = 0.01 if a.unit == "%" or b.unit == "%" else 1.0
            unit = a.unit if a.unit in _MONEY else b.unit
            yield ("product", i, j), Result("product", facts, a.value * b.value * factor, False, unit)


def _down(column: int, point: Point, whole: Sequence[Point], at: int, *, percent: bool) -> Iterator[tuple[Key, Result]]:
    """Formulas over a column: shares of it, and steps from the row before or the first one."""
    own = (point.fact,) if point.fact else ()
    total = sum(one.value for one in whole)
    if percent and not point.percent and total > 0 and all(one.value >= 0 for one in whole):
        yield ("of all", column), Result("share", own, point.value / total * 100, False, "")
    for name, base in (("before", whole[at - 1] if at else None), ("first", whole[0] if at else None)):
        if base is None:
            continue
        facts = (*own, *((base.fact,) if base.fact else ()))
        if percent and not point.percent and base.value:
            change = (point.value - base.value) / abs(base.value) * 100
            yield ("change", name, column), Result("change", facts, change, True, "")
            yield ("share", name, column), Result("share", facts, point.value / base.value * 100, False, "")
        elif percent and point.percent:
            yield ("points", name, column), Result("difference", facts, _hundred(point) - _hundred(base), True, "")
        elif not percent:
            yield ("step", name, column), Result("difference", facts, point.value - base.value, True, point.unit)


def _hundred(point: Point) -> float:
    return point.value if point.unit == "%" or abs(point.value) > 1 else point.value * 100


def sign_allows(claim: Claim, value: float, scene: Scene) -> bool:
    if claim.numeral.sign:
        return claim.numeral.sign * value >= 0
    way = 0 if is_level(claim, scene) else direction(claim, scene)
    return way * value >= 0 or way == 0
