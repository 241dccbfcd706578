"""Figures that follow from others by one step: difference, ratio, change in percent, sum, share.

A step is tried only within one table or one sentence, with operands that the claim's own row or sentence names. So a
number that is made up has few chances to come out of some step by accident.
"""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import direction, is_level
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.derivations.alike import per_many
from workers.agent.provenance.derivations.columns import (
    is_ratio,
    measure_words,
    pairs,
    row_totals,
    significant,
    small_grids,
    steps_before,
    totals,
)
from workers.agent.provenance.derivations.spans import of_spans
from workers.agent.provenance.derivations.top_rows import of_top_rows
from workers.agent.provenance.derivations.workbench import Operand, Workbench, is_named
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import (
    BASE_CUE,
    CHANGE,
    CHANGE_WORDS,
    CURRENCIES,
    DOWN,
    LEFT_OVER,
    PERCENT_WORDS,
    POINTS,
    RATIO,
    STEPS,
    TIMES,
    TOTAL,
    UP,
    has_word,
    key_of,
    says,
)
from workers.agent.provenance.outputs.facts import Fact, Facts, Family, Grid, Label, is_total

_MONEY = set(CURRENCIES.values())
_OF = re.compile(
    r"^[\s\u2060]*(?:[\w%]+[\s\u2060]+){0,3}(?:out of|of|von|aus|/)[\s\u2060]+(?:the |den |"
    r"all )?[\w\u2060]{0,12}[\s\u2060]*$|^\s*/\s*$",
    re.IGNORECASE,
)
_TO = re.compile(r"^[^.;]{0,40}(?:\bto\b|\bauf\b|→|->|–>|至|到)[^.;]{0,40}$", re.IGNORECASE)
_BY = re.compile(r"(?:\b(?:by|um)|了)[\s\u2060]*$", re.IGNORECASE)
_MORE = re.compile(
    r"[\s\u2060]*(?:more|less|fewer|higher|lower|larger|smaller|mehr|weniger|höher|niedriger|größer|kleiner|"
    r"(?:de )?(?:plus|moins)|más|menos)\b[^.,;:()|\n]{0,40}?\b(?:than|als|que?)\b",
    re.IGNORECASE,
)
"""What stands behind the size of a change: "14 % more orders than in February". It is no share of anything."""
_THAN, _THAN_CHARS = re.compile(r"\b(?:than|als)\b|比", re.IGNORECASE), 16
_MORE_BEFORE = re.compile(r"比[^，。；]{1,20}(?:多|少|高|低)了?[\s\u2060]*$")
_IS_SHARE = re.compile(
    r"(?:[(（=:]|\b(?:or|i\.e\.|that is|which is|also|das sind|soit|oder|rund)|即|占|为|约|,)\W*$", re.IGNORECASE
)
_OF_MEASURE = re.compile(
    r"[\s\u2060]+(?:of|von|vom|des|der|du|de)[\s\u2060]+(?P<words>[^\W\d]+(?:[\s\u2060]+[^\W\d]+){0,2})", re.IGNORECASE
)
"""What a percentage is of: "55.6 % of revenue"."""
_NOT = re.compile(r"\b(?:not|without|never|nicht|ohne|kein\w*|pas|sans|sin|no)\b|n't\b|未|没|ない", re.IGNORECASE)
_NEAR_CHARS = 60
_MOST_ROWS_OF_RATES, _MOST_STAGES = 6, 12
_EXACT_DIGITS = 3
"""A sum or a difference that fits to the last digit needs no word for it from this many digits on."""
_RATIO_WORDS = frozenset("ratio factor multiple 比 倍".split())
_COUNTS = frozenset("count n row total value all observation customer anzahl 总 共".split())
_SHARE = frozenset("share percentage portion anteil quote proportion 占比 占 比".split())


class Derived(NamedTuple):
    """How a figure follows: the step's name, and the facts that it starts from."""

    how: str
    facts: tuple[Fact, ...]
    value: float


def derive(
    claim: Claim, others: Sequence[tuple[Claim, float, float, Fact | None]], scene: Scene, facts: Facts
) -> Derived | None:
    """The step that gives the claim's value; None when there is none.

    `others` are backed figures of the report as (claim, value, slack, fact): those of the claim's own sentence, or of
    its row and column.
    """
    return next(_steps(claim, Workbench(claim, others, scene, facts)), None)


def _steps(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    unit = claim.numeral.unit
    if unit == "%":
        strict = _of_pair(claim, bench)
        if strict is not None:
            yield from _match(claim, bench, [strict])
            return
        yield from _match(claim, bench, _changes(claim, bench), signed=True)
        yield from _match(claim, bench, _of_ratio(claim, bench), signed=True)
        moved = _is_moved(claim, bench)
        if not claim.numeral.sign and not _is_change(claim) and not moved:
            yield from _match(claim, bench, _shares(claim, bench))
        yield from _match(claim, bench, _sums(claim, bench, percent=True))
        if not (claim.numeral.sign or moved):
            yield from _match(claim, bench, (Derived(*each) for each in of_top_rows(claim, bench, percent=True)))
        if not (claim.numeral.sign or _is_change(claim) or moved):
            yield from _match(claim, bench, _rates(bench))
        yield from _match(claim, bench, _of_figure_before(claim, bench))
        yield from _match(claim, bench, _of_column(claim, bench))
        if not claim.numeral.sign and not _is_change(claim):
            yield from _match(claim, bench, _of_step_before(claim, bench))
        if says(LEFT_OVER, bench.sentence):
            yield from _match(claim, bench, _rests(bench))
        return
    if unit == "pp" or POINTS.search(bench.text, claim.end, claim.end + 20):
        yield from _match(claim, bench, _differences(bench, percent=True), signed=True)
        return
    cued = claim.numeral.sign or any(says(cue, bench.sentence) for cue in (CHANGE, UP, DOWN))
    if cued or has_word(key_of(claim.column), CHANGE_WORDS):
        yield from _match(claim, bench, _differences(bench, percent=False), signed=True)
    yield from _match(claim, bench, _sums(claim, bench, percent=False))
    yield from _match(claim, bench, (Derived(*each) for each in of_spans(bench)))
    yield from _match(claim, bench, (Derived(*each) for each in of_top_rows(claim, bench, percent=False)))
    if not claim.in_table:
        found = (Derived("sum", side.facts, side.value) for side in totals(claim, bench))
        yield from _match(claim, bench, found)
        yield from _match(claim, bench, _left_over(bench))
    yield from _match(claim, bench, _row_ratios(bench))
    if says(RATIO, bench.sentence) or RATIO.search(bench.text, claim.end, claim.end + 8):
        yield from _match(claim, bench, _ratios(claim, bench))
    if not unit and has_word(key_of(claim.column), _SHARE | PERCENT_WORDS):
        yield from _match(claim, bench, _shares(claim, bench))


def _rests(bench: Workbench) -> Iterator[Derived]:
    for o in bench.said:
        if o.percent:
            yield Derived("rest", _facts(o), 100.0 - o.value)
        elif o.fact is not None and 0.0 < o.value < 1.0 and (o.fact.decimals or 0) > 1:  # a share such as 0.59
            yield Derived("rest", _facts(o), 100.0 - 100.0 * o.value)


def _facts(*operands: Operand) -> tuple[Fact, ...]:
    return tuple(o.fact for o in operands if o.fact is not None)


def _match(
    claim: Claim, bench: Workbench, found: Iterator[Derived] | Sequence[Derived], *, signed: bool = False
) -> Iterator[Derived]:
    limits = bench.limits
    factor = 100.0 if claim.numeral.unit in ("%", "pp") else 1.0
    for one in found:
        if not _money_fits(claim, one, bench.facts) or _is_nothing(one):
            continue
        rough = [fact for fact in one.facts[:2] if fact.decimals]
        slack = sum(fact.slack for fact in rough)
        relative = sum(fact.slack / max(abs(fact.scaled), 1e-12) for fact in rough)
        slack = relative * abs(one.value) if factor == 100.0 and one.how not in ("sum", "difference", "rest") else slack
        scale = _scale_of(claim, one, bench.facts)
        value, slack = one.value * scale, slack * scale
        for bound in limits:
            if abs(abs(value) - bound.value) > bound.slack + min(slack, bound.slack) + 1e-9 * abs(value):
                continue
            if signed and not _sign_fits(claim, one.value, bench.scene):
                continue
            yield one


def _scale_of(claim: Claim, one: Derived, facts: Facts) -> float:
    """The scale that the data or people named once for all ("in T€"), if the claim has it beside its figure; or what
    one unit of the facts is in that of the claim, 0.001 for ms in s; else 1."""
    units = {fact.unit for fact in one.facts}
    if one.how in ("sum", "difference") and len(units) == 1 and (unit := units.pop()) != claim.numeral.unit:
        own, other = STEPS.get(unit), STEPS.get(claim.numeral.unit)
        if own and other and own[0] == other[0]:
            return own[1] / other[1]
    said = claim.numeral.scale
    is_plain = one.how in ("sum", "difference") and all(fact.scale == 1.0 for fact in one.facts)
    return said if said in facts.scales and is_plain else 1.0


def _is_nothing(one: Derived) -> bool:
    """Whether one of two values is zero. The result is then the other value itself, which was looked up before."""
    return one.how in ("sum", "difference") and len(one.facts) == 2 and any(fact.value == 0 for fact in one.facts)


def _money_fits(claim: Claim, one: Derived, facts: Facts) -> bool:
    """An amount of money does not follow from percentages, nor from another currency."""
    unit = claim.numeral.unit
    if unit not in _MONEY:
        return True
    own = {fact.unit for fact in one.facts} - {""}
    if own & {"%", "pp"} or (own & _MONEY and unit not in own):
        return False
    size = max(value for value, _ in claim.numeral.readings) * claim.numeral.scale
    if any(facts.contradicts(fact, unit, size, one.value) for fact in one.facts):
        return False
    return bool(own) or not facts.currencies or unit in facts.currencies


def _sign_fits(claim: Claim, value: float, scene: Scene) -> bool:
    if claim.numeral.sign:
        return claim.numeral.sign * value >= 0
    way = 0 if is_level(claim, scene) else direction(claim, scene)
    return way * value >= 0 or way == 0


def _is_change(claim: Claim) -> bool:
    return has_word(key_of(claim.column), CHANGE_WORDS) and not has_word(key_of(claim.column), _SHARE)


def _is_moved(claim: Claim, bench: Workbench) -> bool:
    """Whether the words around a percentage make it the size of a change: "fell by 14 %", "14 % more than"."""
    text, start = bench.text, claim.span[0]
    if _BY.search(text, max(start, claim.start - 6), claim.start) and direction(claim, bench.scene):
        return True
    return bool(_MORE.match(text, claim.end) or _MORE_BEFORE.search(text, start, claim.start))


def _of_pair(claim: Claim, bench: Workbench) -> Derived | None:
    """ "231 of 2,315 (9.98 %)": the percentage beside such a pair is of this pair, and of no other."""
    said = sorted(bench.said, key=lambda o: o.place)
    for first, second in reversed(list(pairwise(said))):
        if first.percent or second.percent or claim.in_table or not second.value or first.value > second.value:
            continue
        between = bench.text[first.end : second.place]
        beside = bench.text[second.end : claim.start]
        if (
            _OF.match(between)
            and 0 <= claim.start - second.end < 40
            and re.search(r"[(（,:=]|^\s*$", beside)
            and not re.search(r"[;.]", beside)
        ):
            return Derived("share", _facts(first, second), first.value / second.value * 100)
        behind = bench.text[claim.end : first.place]
        if _OF.match(between) and 0 <= first.place - claim.end < 48 and re.search(r"[(（]\W*$", behind):
            return Derived("share", _facts(first, second), first.value / second.value * 100)
    return None


def _alike(a: Operand, b: Operand) -> bool:
    """Whether two figures may be compared: they share a column or a row, or the sentence gives both."""
    if a.said and b.said:
        return True
    if a.fact is None or b.fact is None:
        return False
    if a.fact.grid is not None and a.fact.grid is b.fact.grid:
        return a.fact.column == b.fact.column or a.fact.row == b.fact.row
    return False


def _pairs(bench: Workbench, *, percent: bool) -> Iterator[tuple[Operand, Operand]]:
    for a, b in combinations([o for o in bench.operands if o.percent == percent], 2):
        if (_alike(a, b) and a.fact is not b.fact) or (a.fact is None and b.fact is None):
            yield a, b


def _differences(bench: Workbench, *, percent: bool) -> Iterator[Derived]:
    for a, b in _pairs(bench, percent=percent):
        base, new = _ordered(a, b, bench)
        factor = _percent_factor(a) if percent else 1.0
        yield Derived("difference", _facts(new, base), (new.value - base.value) * factor)
        if bench.claim.numeral.sign == 0 and direction(bench.claim, bench.scene) == 0:
            yield Derived("difference", _facts(base, new), (base.value - new.value) * factor)


def _percent_factor(o: Operand) -> float:
    """100 for a percentage that is kept as a fraction."""
    return 100.0 if o.fact is not None and not o.said and o.fact.unit != "%" and abs(o.value) <= 1 else 1.0


def _of_ratio(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    """The change that a ratio tells: 1.62 is +62 %."""
    for bound in bench.limits:
        for way in (1, -1):
            size = 1 + way * bound.value / 100
            for fact in bench.facts.near(size - bound.slack / 100, size + bound.slack / 100, percent=False):
                if fact.words & _RATIO_WORDS and fact.turn == 0:
                    yield Derived("change", (fact,), (fact.scaled - 1) * 100)


def _changes(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    text = bench.sentence
    if claim.in_table and not (has_word(key_of(claim.column), CHANGE_WORDS) or claim.numeral.sign):
        return
    if not (claim.numeral.sign or claim.in_table or any(says(cue, text) for cue in (CHANGE, UP, DOWN))):
        return
    for a, b in _pairs(bench, percent=False):
        base, new = _ordered(a, b, bench)
        if base.value:
            yield Derived("change", _facts(new, base), (new.value - base.value) / abs(base.value) * 100)
        if new.value and not _is_told(a, b, bench):
            yield Derived("change", _facts(base, new), (base.value - new.value) / abs(new.value) * 100)
    for base in (o for o in bench.said if o.value and not o.percent):
        for new in (o for o in bench.record if not o.percent and o.fact is not None and base.fact is not None):
            if new.fact is not None and base.fact is not None and new.fact.grid is base.fact.grid:
                yield Derived("change", _facts(new, base), (new.value - base.value) / abs(base.value) * 100)
    for a, b in _pairs(bench, percent=True):
        base, new = _ordered(a, b, bench)
        if base.value and re.search(r"relativ|lift", text, re.IGNORECASE):
            yield Derived("change", _facts(new, base), (new.value - base.value) / abs(base.value) * 100)


def _ordered(a: Operand, b: Operand, bench: Workbench) -> tuple[Operand, Operand]:
    """The two figures of a change, its base first: the date behind "than", else the earlier date, else the figure
    behind "from" or "than", else the first figure."""
    days = _day(a, b, bench), _day(b, a, bench)
    if days[0] is not None and days[1] is not None and days[0] != days[1]:
        for base, new, day in ((a, b, days[0]), (b, a, days[1])):
            if _is_behind_than(day, bench):
                return base, new
        return (a, b) if _key(days[0]) < _key(days[1]) else (b, a)
    first, second = (a, b) if a.place <= b.place else (b, a)
    if bench.claim.in_table or first.place < 0:
        return first, second
    start = bench.claim.span[0]
    for match in BASE_CUE.finditer(bench.text, start, second.place + 1):
        if match.end() > first.place and match.start() >= first.end and match.end() <= second.place:
            if _TO.match(bench.text[first.end : second.place]) and match[0].casefold() not in (
                "from",
                "von",
                "vom",
                "than",
                "als",
            ):
                continue
            return second, first
    return first, second


def _is_behind_than(day: Day, bench: Workbench) -> bool:
    """Whether the sentence compares with this date: "January had 11 % more orders than February"."""
    return any(
        isinstance(mention.label, Day) and mention.label.fits(day)
        for match in _THAN.finditer(bench.text, *bench.claim.span)
        for mention in bench.scene.within(match.end(), match.end() + _THAN_CHARS)[:1]
    )


def _is_told(a: Operand, b: Operand, bench: Workbench) -> bool:
    """Whether something tells which of two figures is the base: dates, words, an arrow, or the columns of a table."""
    if bench.claim.in_table or (_day(a, b, bench) is not None and _day(b, a, bench) is not None):
        return True
    if not (a.said and b.said):
        return True
    text = bench.text[slice(*bench.claim.span)]
    return (
        BASE_CUE.search(text) is not None
        or re.search(r"\b(?:to|auf|after|nach)\b|→|->|至|到|后", text, re.IGNORECASE) is not None
    )


def _day(o: Operand, other: Operand, bench: Workbench) -> Day | None:
    """The date of the figure's row or column that distinguishes it from the other figure."""
    if bench.claim.in_table and o.said:
        found = [m.label for m in bench.scene.of_text(o.column) if isinstance(m.label, Day)]
        if found:
            return found[0]
    if o.fact is None:
        return None
    others = {(id(f), label) for f, label in other.fact.keys} if other.fact is not None else set()
    own: list[tuple[Family, Label]] = [(f, label) for f, label in o.fact.keys if (id(f), label) not in others]
    days = [label for _, label in own if isinstance(label, Day)]
    return _joined(days) if days else None


def _joined(days: Sequence[Day]) -> Day:
    """One date of several parts: a year and a quarter."""
    parts = [next((part for part in column if part is not None), None) for column in zip(*days, strict=True)]
    return Day(*parts)


def _key(day: Day) -> tuple[int, int, int, int]:
    return day.year or 0, day.quarter or 0, day.month or 0, day.day or 0


def _bases(fact: Fact) -> Iterator[float]:
    """The totals that a figure may be a part of: of its column, or of those rows that share its other labels."""
    grid = fact.grid
    if grid is None or not grid.whole or len(grid.facts) > 3_000 or has_word(tuple(fact.words), CHANGE_WORDS):
        return
    column = grid.column(fact.column)
    if len(column) > 1:
        yield sum(one.scaled for one in column)
    rows = [(family, label) for family, label in fact.keys if not family.columns]
    for freed in rows if len(rows) > 1 else ():
        held = {(id(f), label) for f, label in rows if (f, label) != freed}
        part = [one for one in column if held <= {(id(f), label) for f, label in one.keys}]
        if 1 < len(part) < len(column):
            yield sum(one.scaled for one in part)
    for total in (one for one in grid.facts if one.column == fact.column and is_total(one)):
        yield total.scaled


def _shares(claim: Claim, bench: Workbench) -> Iterator[Derived]:  # noqa: PLR0912 - one loop for each kind of whole
    said = [o for o in bench.said if not o.percent]
    near = [
        o
        for o in bench.operands
        if not o.percent and o.fact is not None and bench.scene.conflict(claim, o.fact) is None
    ]
    if behind := _OF_MEASURE.match(bench.text, claim.end):
        measure = frozenset(key_of(behind["words"]))
        near = [o for o in near if o.fact and measure_words(o.fact) & measure] or near
    for o in near:
        if o.fact is not None and (bench.scene.agrees(claim, o.fact) or o.said):
            for base in _bases(o.fact):
                if base and abs(o.value) <= abs(base):
                    yield Derived("share", (o.fact,), o.value / base * 100)
    words = bench.scene.words_of(claim) - _COUNTS
    for b in (o for o in said if o.value and o.fact is not None and o.fact.words & _COUNTS):
        for a in bench.record:
            if a.fact is not None and a.fact.words & words and abs(a.value) <= abs(b.value) and not a.percent:
                yield Derived("share", _facts(a, b), a.value / b.value * 100)
    for a in said:
        for b in bench.record:
            if (
                b.value
                and not b.percent
                and b.fact is not None
                and b.fact.words & _COUNTS
                and abs(a.value) <= abs(b.value)
            ):
                yield Derived("share", _facts(a, b), a.value / b.value * 100)
    for a, b in permutations(said, 2):
        if b.value and abs(a.value) < abs(b.value) and _may_divide(a, b, bench):
            yield Derived("share", _facts(a, b), a.value / b.value * 100)
    named = {id(grid): [fact for fact in grid.named(bench.wanted) if not is_total(fact)] for grid in bench.grids}
    for grid, at, column in bench.columns():
        part = [fact for fact in named[id(grid)] if fact.column == at]
        if 1 < len(part) < len(column) and (whole := sum(fact.scaled for fact in column)):
            yield Derived("share", tuple(part), sum(fact.scaled for fact in part) / whole * 100)


def _rates(bench: Workbench) -> Iterator[Derived]:
    """A rate of two columns of the row that the sentence names, or of their totals: 43 churned of 860 customers."""
    is_denied = says(_NOT, bench.sentence)
    is_over = bench.limits[0].value > 100
    for a, b in pairs(bench.claim, bench):
        if a.value <= 0 or a.unit != b.unit or any(fact.percent for fact in (*a.facts, *b.facts)):
            continue
        if a.value < b.value or is_over:
            yield Derived("share", (*a.facts, *b.facts), a.value / b.value * 100)
        if a.value < b.value and is_denied:
            yield Derived("rest", (*a.facts, *b.facts), 100 - a.value / b.value * 100)


def _row_ratios(bench: Workbench) -> Iterator[Derived]:
    """One column divided by another, for the row that the sentence names or for all rows: €5.50 a parcel."""
    many = per_many(bench.sentence)
    for a, b in pairs(bench.claim, bench):
        if many and (a.named or b.named):
            yield Derived("ratio", (*a.facts, *b.facts), a.value / b.value * many)
        elif is_ratio(bench.claim, bench, a, b):
            yield Derived("ratio", (*a.facts, *b.facts), a.value / b.value)


def _of_figure_before(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    """The share that the figure before has of a total or of a named figure: "630 no-shows (7.1 %)"."""
    behind = bench.text[claim.span[0] : claim.start]
    before = [o for o in bench.said if o.end <= claim.start and not o.percent]
    if claim.in_table or claim.numeral.sign or not before or not _IS_SHARE.search(behind):
        return
    part = max(before, key=lambda o: o.end)
    if claim.start - part.end > _NEAR_CHARS or not part.value:
        return
    wholes: list[tuple[tuple[Fact, ...], float]] = [
        ((o.fact,) if o.fact else (), o.value) for o in (*bench.operands, *bench.record) if not o.percent
    ]
    wholes += [(side.facts, side.value) for side in totals(claim, bench)]
    wholes += [((one,), one.scaled) for one in steps_before(part.fact)]
    for facts, whole in wholes:
        if whole > part.value > 0:
            yield Derived("share", (*_facts(part), *facts), part.value / whole * 100)


def _of_step_before(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    """In a table of stages: a row's figure as a share of the figure above, or of the first."""
    for o in bench.said if claim.in_table else ():
        if o.fact is None or o.percent or o.value <= 0:
            continue
        if o.fact.row == 0:
            yield Derived("share", (o.fact, o.fact), 100.0)
        for one in steps_before(o.fact):
            if one.scaled >= o.value:
                yield Derived("share", (o.fact, one), o.value / one.scaled * 100)


def _of_column(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    """In a table with a row of rates: the share between two figures of its column, such as profit and revenue of one
    year."""
    if not claim.in_table or not has_word(key_of(claim.row), PERCENT_WORDS) or len(bench.below) > _MOST_ROWS_OF_RATES:
        return
    amounts = [(value, fact) for other, value, _, fact in bench.below if other.numeral.unit not in ("%", "pp")]
    for (a, one), (b, other) in permutations(amounts, 2):
        if 0 < a < b:
            yield Derived("share", tuple(fact for fact in (one, other) if fact is not None), a / b * 100)


def _left_over(bench: Workbench) -> Iterator[Derived]:
    """The sum or difference of two figures of the sentence, to the last digit: 217 and 96 rows of two kinds, 313 in
    all."""
    if significant(bench.claim) < _EXACT_DIGITS:
        return
    whole = [o for o in bench.said if not o.percent and o.value == int(o.value)]
    for a, b in combinations(whole, 2):
        yield Derived("sum", _facts(a, b), a.value + b.value)
        yield Derived("difference", _facts(a, b), abs(a.value - b.value))
    for grid in small_grids(bench):
        for above, below in pairwise(grid.facts if _is_one_column(grid) else ()):
            yield Derived("difference", (above, below), abs(above.scaled - below.scaled))


def _is_one_column(grid: Grid) -> bool:
    """Whether a table is a short column of whole numbers, such as the stages of a funnel."""
    return grid.rows <= _MOST_STAGES and all(fact.column == 1 and fact.value == int(fact.value) for fact in grid.facts)


def _may_divide(a: Operand, b: Operand, bench: Workbench) -> bool:
    if bench.claim.in_table:
        return a.fact is None or b.fact is None or not bench.grids or True
    return a.place < b.place or bench.text[b.end : a.place].count(",") < 3


def _sums(claim: Claim, bench: Workbench, *, percent: bool) -> Iterator[Derived]:
    if claim.in_table and len(bench.below) > 1 and (TOTAL.search(claim.row) or not claim.row):
        above = [(v, f) for other, v, _, f in bench.below if other.at[0] < claim.at[0]]
        if len(above) > 1:
            yield Derived("sum", tuple(f for _, f in above if f is not None), sum(v for v, _ in above))
    if not says(TOTAL, bench.sentence):
        return
    said = [o for o in bench.said if o.percent == percent]
    if len(said) > 1:
        yield Derived("sum", _facts(*said), sum(o.value for o in said))
    for a, b in combinations(said, 2):
        straddles = min(a.place, b.place) < claim.start < max(a.place, b.place) and not claim.in_table
        if len(said) > 2 and not straddles:
            yield Derived("sum", _facts(a, b), a.value + b.value)
    for row in () if percent else row_totals(claim, bench):
        yield Derived("sum", row, sum(fact.scaled for fact in row))
    for _, _, column in bench.columns():
        scale = 100.0 if percent and all(fact.unit != "%" and abs(fact.value) <= 1 for fact in column) else 1.0
        if any(fact.percent for fact in column) != percent:
            continue
        bound = [
            fact for fact in column if bench.scene.agrees(claim, fact) and bench.scene.conflict(claim, fact) is None
        ]
        for part in ([fact for fact in column if is_named(fact, bench)], bound):
            if 1 < len(part) < len(column):
                yield Derived("sum", tuple(part), sum(fact.scaled for fact in part) * scale)
        if not percent:
            yield Derived("sum", tuple(column), sum(fact.scaled for fact in column))


def _ratios(claim: Claim, bench: Workbench) -> Iterator[Derived]:
    times = says(TIMES, bench.sentence) or TIMES.search(bench.text, claim.end, claim.end + 8)
    operands = [o for o in bench.operands if o.value]
    for a, b in permutations(operands, 2):
        if a.percent != b.percent or a.fact is b.fact:
            continue
        if a.said and b.said:
            yield Derived("ratio", _facts(a, b), a.value / b.value)
        elif a.fact is not None and b.fact is not None and a.fact.grid is b.fact.grid and a.fact.grid is not None:
            same_column, same_row = a.fact.column == b.fact.column, a.fact.row == b.fact.row
            if (times and same_column and abs(a.value) >= abs(b.value)) or (not times and same_row):
                yield Derived("ratio", _facts(a, b), a.value / b.value)
