"""Derives a single figure by one step, from so few values that an invented number hardly ever fits.

For each figure, the values that can be derived from its row, its totals and the sentences before are counted. They may
cover one in a hundred of all numbers with as many digits. If they cover more, nothing is derived, and the model has to
compute the figure in a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import NamedTuple

from workers.agent.provenance.claims.matching import bounds, in_points
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.claims.statistic_words import statistic_compared, statistic_of, statistics_named
from workers.agent.provenance.derivations.alike import Result, formulas, may_be_money, sign_allows, table_of
from workers.agent.provenance.derivations.columns import row_totals, significant, small_grids
from workers.agent.provenance.derivations.workbench import Workbench
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import (
    CHANGE,
    CURRENCIES,
    DOWN,
    RATIO,
    TAKEN_AWAY,
    TIMES,
    TOTAL,
    UP,
    key_of,
    says,
)
from workers.agent.provenance.outputs.facts import Fact, Grid, is_total

_COVERED = 0.0112
"""For numbers with two digits, this is one number."""
_FEWEST_DIGITS = 2
_MOST_STATISTICS = 12
_MOST_LINES = 2_000
_THAN = re.compile(r"\b(?:than|als|que|gegenüber|versus|compared (?:to|with))\b|qu['’]|比", re.IGNORECASE)
_BASE_CHARS = 40
"""The name of what a figure is compared with stands so near behind such a word."""
_MONEY = frozenset(CURRENCIES.values())
_HALF = re.compile(
    r"\b(?:(?:first|erste\w*|premier) (?:half|halbjahr\w*|semestre)|H1)\b|上半年|"
    r"(?P<second>\b(?:(?:second|zweite\w*) (?:half|halbjahr\w*)|H2)\b|下半年)",
    re.IGNORECASE,
)
_OF_IT = re.compile(
    r"\b(?:of (?:it|this|that|these|them|those)|davon|daran|hiervon|dont|de ello)\b|其中|占其", re.IGNORECASE
)


class Said(NamedTuple):
    """A figure of an earlier sentence: the claim, its value, its fact, and whether it is of the sentence before."""

    claim: Claim
    value: float
    fact: Fact | None
    near: bool


def from_pool(claim: Claim, bench: Workbench, before: Sequence[Said]) -> Result | None:
    """The step that gives a claim's value; None when there is none, or when there are too many."""
    if claim.numeral.sign and claim.numeral.unit == "%":
        return None
    for pool in (
        _of_sentence_before(claim, bench, before),
        _of_before(claim, bench, before),
        _of_lines(claim, bench),
        _of_statistics(claim, bench),
        _of_compared_lines(claim, bench),
        _of_what_is_left(claim, bench),
        _of_tables(claim, bench),
    ):
        values = list(pool)
        if fits := [one for one in values if _fits(claim, one, bench)]:
            return fits[0] if _covered(claim, values) <= _COVERED else None
    return None


def _covered(claim: Claim, values: Sequence[Result]) -> float:
    """The share of the numbers with as many digits as the claim that these values cover."""
    digits = significant(claim)
    if digits < _FEWEST_DIGITS:
        return 1.0
    one = bounds(claim, "")[0]
    step = max(one.slack * 2, 1e-12)
    low, high = 10.0 ** (digits - 1) * step, 10.0**digits * step
    different = {round(abs(each.value) / step) for each in values if low <= abs(each.value) < high}
    return len(different) / (9.0 * 10.0 ** (digits - 1))


def _fits(claim: Claim, one: Result, bench: Workbench) -> bool:
    unit = claim.numeral.unit
    if unit in _MONEY and (one.unit not in (unit, "") or not (one.unit or may_be_money(unit, one, bench.facts))):
        return False
    if one.signed and not sign_allows(claim, one.value, bench.scene):
        return False
    scales = [1.0]
    if claim.numeral.scale in bench.facts.scales and one.how in ("sum", "difference"):
        scales.append(claim.numeral.scale)
    return any(
        abs(abs(one.value) * scale - bound.value) <= bound.slack * 1.001 + 1e-9 * bound.value
        for bound in bench.limits
        if not bound.coarse
        for scale in scales
    )


# --- what lines and tables give


def _of_lines(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """The difference between two figures of one printed line: 96 for "148 of 244"."""
    if claim.numeral.unit in ("%", "pp") or claim.in_table:
        return
    for o in bench.said:
        if o.fact is None or o.fact.grid is not None or o.percent:
            continue
        for r in bench.record:
            if r.fact is not None and r.fact.place[:4] == o.fact.place[:4] and not r.percent:
                yield Result("difference", (o.fact, r.fact), o.value - r.value, False, o.fact.unit or r.fact.unit)


def _of_statistics(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """How many times a statistic a figure is that the sentence gives or names: "the largest is 12.7x the median"."""
    told = statistic_compared(claim, bench.text) if not claim.in_table else ""
    known = [(fact, statistic_of(fact)) for fact in bench.facts.facts if told and fact.turn == 0 and not fact.percent]
    under = [fact for fact, kind in known if kind == told and fact.scaled]
    others = statistics_named(bench.sentence) - {told}
    plain = [o for o in bench.operands if o.fact is not None and not o.percent]
    over = [(o.fact, o.value) for o in [o for o in plain if o.said] or plain if o.fact is not None]
    over = over or [(fact, fact.scaled) for fact, kind in known if kind in others]
    for (fact, value), base in product(over, under[:_MOST_STATISTICS]):
        beside = fact.column == base.column or fact.row == base.row if fact.grid is base.grid else bool(bench.said)
        if fact is not base and beside and not (fact.unit and base.unit and fact.unit != base.unit):
            yield Result("ratio", (fact, base), value / base.scaled, False, "")


def _of_compared_lines(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """How the figures of two printed lines differ, if the sentence has all words of both: "orders control: 322". Of two
    lines alone, one may be named: that which the figure is compared with."""
    if claim.in_table or claim.numeral.unit == "pp" or len(bench.facts.facts) > _MOST_LINES:
        return
    named = [fact for fact in bench.facts.facts if _is_of_line(fact) and fact.words <= bench.words]
    if len(named) == 1 and (grid := named[0].grid) is not None and grid.rows == len(grid.facts) == 2:
        named.append(next(fact for fact in grid.facts if fact is not named[0]))
    if len(named) != 2 or (named[0].unit and named[1].unit and named[0].unit != named[1].unit):
        return
    for new, base in permutations(named):
        if not base.scaled or not _is_base(base, new, claim, bench):
            continue
        if claim.numeral.unit == "%" and _compares(claim, bench):
            change = (new.scaled - base.scaled) / abs(base.scaled) * 100
            yield Result("change", (new, base), change, True, "")
        elif claim.numeral.unit != "%" and _compares(claim, bench):
            yield Result("difference", (new, base), new.scaled - base.scaled, True, new.unit or base.unit)


def _of_what_is_left(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """What a figure of the sentence leaves of a printed line that it names: 10,445 of "rows: 10482" without the 37
    duplicates."""
    if claim.in_table or claim.numeral.unit in ("%", "pp") or not says(TAKEN_AWAY, bench.sentence):
        return
    parts = [o.fact for o in bench.said if o.fact is not None and _is_of_line(o.fact)]
    facts = bench.facts.facts if parts and len(bench.facts.facts) <= _MOST_LINES else []
    for whole in (fact for fact in facts if _is_of_line(fact) and fact.words <= bench.words):
        for part in parts:
            if part.scaled < whole.scaled and (not part.unit or part.unit == whole.unit):
                yield Result("difference", (whole, part), whole.scaled - part.scaled, False, whole.unit)


def _is_of_line(fact: Fact) -> bool:
    """Whether a fact is the only number of a printed line with a name."""
    plain = fact.turn == 0 and not fact.given and not fact.percent and fact.place.what == "output"
    alone = fact.grid is None or (not fact.grid.names and fact.grid.rows == len(fact.grid.facts))
    return plain and alone and bool(fact.words)


def _is_base(base: Fact, new: Fact, claim: Claim, bench: Workbench) -> bool:
    """Whether the sentence compares with this line: words that it alone has stand behind "than"."""
    own = base.words - new.words
    return any(
        own & frozenset(key_of(bench.text[match.end() : match.end() + _BASE_CHARS]))
        for match in _THAN.finditer(bench.text, *claim.span)
    )


def _is_only_compared(claim: Claim, grid: Grid, row: int, bench: Workbench) -> bool:
    """Whether the sentence names a row only behind "than": then it is the base of a step, not its result."""
    labels = {label for fact in grid.row(row) for family, label in fact.keys if not family.columns}
    places = [place for label in labels if (place := bench.scene.place_of(claim, label)) >= 0]
    behind = [match.end() for match in _THAN.finditer(bench.text, *claim.span)]
    return bool(places) and all(any(0 <= place - end < _BASE_CHARS for end in behind) for place in places)


def _of_tables(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """What can be computed from the row that the claim names, from all rows together, or from one record."""
    if claim.in_table:
        return
    if claim.numeral.unit == "pp" or in_points(claim, bench.text):
        yield from _points_since_the_period_before(claim, bench)
        return
    if claim.numeral.unit == "%":
        yield from _since_the_period_before(claim, bench)
        return
    for grid in bench.facts.grids:
        yield from _of_halves(claim, bench, grid)
    for grid in small_grids(bench):
        if grid.record:
            yield from _of_record(grid)
            continue
        rows = {f.row for f in grid.facts if bench.scene.agrees(claim, f) and bench.scene.conflict(claim, f) is None}
        table = table_of(grid)
        if len(rows) == 1 and not _is_only_compared(claim, grid, next(iter(rows)), bench):
            found = (result for _, result in formulas(table, next(iter(rows)), percent=False))
            yield from (one for one in found if _is_cued(one.how, claim, bench))
            for part in row_totals(claim, bench):
                yield Result("sum", part, sum(fact.scaled for fact in part), False, part[0].unit)
        elif not rows or len(rows) == grid.rows:
            yield from _of_all(grid)


def _is_cued(how: str, claim: Claim, bench: Workbench) -> bool:
    """Whether the sentence has a word for such a step."""
    if how == "ratio":
        return says(RATIO, bench.sentence)
    if how == "product":
        return claim.numeral.unit in _MONEY
    return _compares(claim, bench)


def _compares(claim: Claim, bench: Workbench) -> bool:
    text = bench.sentence
    return bool(claim.numeral.sign) or any(says(cue, text) for cue in (CHANGE, UP, DOWN))


def _since_the_period_before(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """The change from the period before to the period that the sentence names."""
    for grid in small_grids(bench) if claim.numeral.unit == "%" and _compares(claim, bench) else ():
        for fact in grid.facts:
            dated = any(isinstance(label, Day) for family, label in fact.keys if not family.columns)
            if not dated or fact.percent or not bench.scene.agrees(claim, fact) or bench.scene.conflict(claim, fact):
                continue
            base = next((one for one in grid.column(fact.column) if one.row == fact.row - 1), None)
            if base is not None and base.scaled:
                change = (fact.scaled - base.scaled) / abs(base.scaled) * 100
                yield Result("change", (fact, base), change, True, "")


def _points_since_the_period_before(claim: Claim, bench: Workbench) -> Iterator[Result]:
    """The points from the period before to a percentage that the sentence gives: "up 1.7 points to 24.0 %"."""
    for fact in (o.fact for o in bench.said if o.percent and o.fact is not None) if _compares(claim, bench) else ():
        dated = any(isinstance(label, Day) for family, label in fact.keys if not family.columns)
        if not dated or fact.grid is None:
            continue
        base = next((one for one in fact.grid.column(fact.column) if one.row == fact.row - 1), None)
        if base is not None:
            factor = 1.0 if fact.unit == "%" or abs(fact.value) > 1 else 100.0
            yield Result("difference", (fact, base), (fact.scaled - base.scaled) * factor, True, "")


def _of_halves(claim: Claim, bench: Workbench, grid: Grid) -> Iterator[Result]:
    """The sums of a half-year in a table of quarters or months, and how these sums differ between two columns."""
    half = _HALF.search(bench.sentence)
    dated = {fact.row for fact in grid.facts for f, one in fact.keys if not f.columns and isinstance(one, Day)}
    if (
        half is None
        or not grid.whole
        or not grid.facts
        or grid.facts[0].turn
        or len(dated) != grid.rows
        or grid.rows not in (4, 12)
    ):
        return
    middle = grid.rows // 2
    sums: list[Result] = []
    for at in sorted({fact.column for fact in grid.facts}):
        column = grid.column(at)
        part = tuple(fact for fact in column if (fact.row < middle) == (half["second"] is None))
        if len(part) == middle and not any(fact.percent for fact in part):
            sums.append(Result("sum", part, sum(fact.scaled for fact in part), False, part[0].unit))
    yield from sums
    for a, b in combinations(sums, 2):
        if _compares(claim, bench):
            yield Result("difference", (*a.facts, *b.facts), b.value - a.value, True, a.unit)


def _of_record(grid: Grid) -> Iterator[Result]:
    """Differences, sums and ratios of two figures of one record."""
    plain = [fact for fact in grid.facts if not fact.percent]
    for a, b in combinations(plain, 2):
        if not (a.unit and b.unit and a.unit != b.unit):
            yield Result("difference", (a, b), a.scaled - b.scaled, False, a.unit or b.unit)
            yield Result("sum", (a, b), a.scaled + b.scaled, False, a.unit or b.unit)
    for a, b in permutations(plain, 2):
        if b.value and a.unit != b.unit:
            yield Result("ratio", (a, b), a.scaled / b.scaled, False, a.unit)


def _of_all(grid: Grid) -> Iterator[Result]:
    """The totals, means and ranges of the columns, and the totals of the rows."""
    plain = [fact for fact in grid.facts if not is_total(fact) and not fact.percent]
    for at in sorted({fact.column for fact in plain}):
        column = tuple(fact for fact in plain if fact.column == at)
        if len(column) < 2:
            continue
        values, unit = [fact.scaled for fact in column], column[0].unit
        yield Result("sum", column, sum(values), False, unit)
        yield Result("mean", column, sum(values) / len(values), False, unit)
        yield Result("difference", _extremes(column), max(values) - min(values), False, unit)
    for at in sorted({fact.row for fact in plain}):
        row = tuple(fact for fact in plain if fact.row == at)
        if (
            len(row) > 1
            and len({fact.unit for fact in row}) == 1
            and all(fact.value == int(fact.value) for fact in row)
        ):
            yield Result("sum", row, sum(fact.scaled for fact in row), False, row[0].unit)


def _extremes(column: Sequence[Fact]) -> tuple[Fact, ...]:
    ordered = sorted(column, key=lambda fact: fact.scaled)
    return ordered[-1], ordered[0]


# --- what the sentences before give


_THIS = re.compile(r"^[\s\u2060*-]*(?:that|this|these|those|das|dies\w*|diese\w*|这|即|其)", re.IGNORECASE)


def _of_sentence_before(claim: Claim, bench: Workbench, before: Sequence[Said]) -> Iterator[Result]:
    """What the figures of the sentence before give together: "That is 7.9 % less", "These three make 68.5 %
    together"."""
    text = bench.sentence
    near = [each for each in reversed(before) if each.near]
    if claim.in_table or bench.said or len(near) < 2 or not _THIS.match(text):
        return
    unit = claim.numeral.unit
    if TOTAL.search(text):
        alike = [each for each in near if each.claim.numeral.unit == unit]
        if len(alike) > 1:
            facts = tuple(each.fact for each in alike if each.fact is not None)
            yield Result("sum", facts, sum(each.value for each in alike), False, unit)
    elif unit == "%" and near[0].claim.numeral.unit == near[1].claim.numeral.unit != "%" and near[0].value:
        base, new = near[0], near[1]
        facts = tuple(each.fact for each in (new, base) if each.fact is not None)
        yield Result("change", facts, (new.value - base.value) / abs(base.value) * 100, False, "")
    elif unit not in ("%", "pp") and _compares(claim, bench):
        words = bench.scene.words_of(claim)
        for one, other in combinations(near, 2):
            a, b = one.fact, other.fact
            if a is not None and b is not None and a.words & b.words & words and _of_one_measure(a, b):
                yield Result("difference", (a, b), one.value - other.value, False, a.unit)


def _of_one_measure(a: Fact, b: Fact) -> bool:
    """Whether two facts stand in one column of a table, or at the same place of two records."""
    if a.grid is None or b.grid is None:
        return False
    records = a.grid.record and b.grid.record and a.grid is not b.grid
    return a.row == b.row and bool(a.words & b.words) if records else a.grid is b.grid and a.column == b.column


def _of_before(claim: Claim, bench: Workbench, before: Sequence[Said]) -> Iterator[Result]:
    """A comparison with a figure of an earlier sentence, of the same column or of a row that this sentence names."""
    if claim.in_table:
        return
    text = bench.sentence
    compares = _compares(claim, bench)
    times = TIMES.search(text) or TIMES.search(bench.text, claim.end, claim.end + 8)
    for a, b in _comparable(bench, before):
        percent = claim.numeral.unit in ("%", "pp")
        if times and not percent and b[0]:
            yield Result("ratio", _facts(a, b), a[0] / b[0], False, "")
        if times and not percent and a[0]:
            yield Result("ratio", _facts(b, a), b[0] / a[0], False, "")
        if compares and not percent:
            yield Result("difference", _facts(a, b), a[0] - b[0], False, a[2] or b[2])
        if compares and claim.numeral.unit == "%" and b[0] and a[1] is not None and b[1] is not None:
            yield Result("change", _facts(a, b), (a[0] - b[0]) / abs(b[0]) * 100, True, "")
    if claim.numeral.unit == "%" and _OF_IT.search(text):
        wholes = [each for each in before if each.near and each.claim.numeral.unit not in ("%", "pp")]
        for fact in _named_in_clause(claim, bench):
            for whole in wholes:
                if whole.value > fact.scaled > 0:
                    known = (fact, *((whole.fact,) if whole.fact else ()))
                    yield Result("share", known, fact.scaled / whole.value * 100, False, "")


_Value = tuple[float, Fact | None, str]


def _comparable(bench: Workbench, before: Sequence[Said]) -> Iterator[tuple[_Value, _Value]]:
    """Pairs of figures: one of this sentence and one of the sentence before, of the same column; or two earlier ones
    whose rows this sentence names."""
    for a, b in product(bench.said, before):
        if not b.near or a.fact is None or b.fact is None or a.fact is b.fact or a.fact.grid is None:
            continue
        if a.fact.grid is b.fact.grid and a.fact.column == b.fact.column:
            yield (a.value, a.fact, a.fact.unit), (b.value, b.fact, b.fact.unit)
    named = {(id(family), label) for family, labels in bench.named for label in labels if not family.columns}
    own = [(each, _row_of(each, bench)) for each in before]
    told = [(each, row) for each, row in own if row is not None and row in named]
    for (a_said, a_row), (b_said, b_row) in combinations(told, 2):
        if a_row != b_row and a_said.claim.numeral.unit == b_said.claim.numeral.unit:
            unit = a_said.claim.numeral.unit
            yield (a_said.value, a_said.fact, unit), (b_said.value, b_said.fact, unit)


def _row_of(said: Said, bench: Workbench) -> tuple[int, object] | None:
    """The one row that an earlier figure is about."""
    for family, _ in bench.scene.families_named(said.claim):
        allowed = bench.scene.allowed(said.claim, family) if not family.columns else None
        if allowed is not None and len(allowed) == 1:
            return id(family), next(iter(allowed))
    return None


def _named_in_clause(claim: Claim, bench: Workbench) -> list[Fact]:
    """The facts of a row that the claim's clause names."""
    return [
        fact
        for grid in bench.grids
        for fact in grid.facts
        if not fact.percent and bench.scene.agrees(claim, fact) and bench.scene.conflict(claim, fact) is None
    ][:4]


def _facts(a: _Value, b: _Value) -> tuple[Fact, ...]:
    return tuple(fact for fact in (a[1], b[1]) if fact is not None)
