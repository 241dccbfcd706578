"""Sums and shares of the first rows of a table by a measure: "the top 2 regions make 81 % of revenue"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.derivations.columns import NO_SUM, is_named_measure, small_grids
from workers.agent.provenance.derivations.workbench import Workbench
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.outputs.facts import Fact, Grid, is_statistic, is_total

_COUNT = (
    r"(?P<count>[2-9]|10|two|three|four|five|six|seven|eight|nine|ten|beiden?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|"
    r"deux|trois|quatre|cinq|sept|huit|neuf|dix|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez)"
)
_COUNTS = {
    word: number
    for number, words in enumerate(
        (
            "two beide beiden zwei deux dos 两 二 両", "three drei trois tres 三", "four vier quatre cuatro 四",
            "five fünf cinq cinco 五", "six sechs seis 六", "seven sieben sept siete 七", "eight acht huit ocho 八",
            "nine neun neuf nueve 九", "ten zehn dix diez 十",
        ),
        2,
    )
    for word in words.split()
}  # fmt: skip
_LARGEST = (
    r"top|largest|biggest|strongest|best|leading|highest|größten?|stärksten?|\w+stärksten?|besten?|höchsten?|"
    r"plus (?:grande?s?|gros(?:ses)?|importante?s?)|principa(?:ux|les)|meilleure?s|mayores|mejores|"
    r"más (?:grandes|importantes)"
)
_SMALLEST = (
    r"bottom|smallest|weakest|lowest|kleinsten?|schwächsten?|\w+schwächsten?|niedrigsten?|plus (?:petite?s?|faibles?)|"
    r"menores|peores|más (?:pequeñ[ao]s|bajas|bajos)"
)
_FIRST = r"first|ersten?|premi[eè]re?s|primer[ao]s"
_LAST = r"last|letzten?|derni[eè]re?s|últim[ao]s"
_RANKED = rf"(?:(?P<largest>{_LARGEST})|(?P<smallest>{_SMALLEST})|(?P<first>{_FIRST})|(?P<last>{_LAST}))"
_CUES = (
    re.compile(rf"\b{_RANKED}[ -]{_COUNT}\b", re.IGNORECASE),
    re.compile(rf"\b{_COUNT} (?:[^\W\d]+ )?{_RANKED}\b", re.IGNORECASE),
    re.compile(
        r"(?:(?P<largest>前|最大的|最高的|上位|トップ)|(?P<smallest>后|最小的|最低的|下位))"
        r"(?P<count>[2-9](?![\d.,%])|10(?![\d.,%])|[两二両三四五六七八九十])(?!个?[月年日季周天])"
    ),
)
_TOTALS = frozenset("total sum overall all gesamt insgesamt summe totale todo 总 合 全".split())  # noqa: SIM905 - a list of words reads best as one line
_MOST_COLUMNS = 3
"""If the sentence names no measure, a table may have so many."""


class Part(NamedTuple):
    """What the named rows give: the step, its facts and its value."""

    how: str
    facts: tuple[Fact, ...]
    value: float


class _Cue(NamedTuple):
    start: int
    many: int
    way: str


def of_top_rows(claim: Claim, bench: Workbench, *, percent: bool) -> Iterator[Part]:
    """The sum of the rows that a claim speaks of as the top or bottom few, or their share of the whole column."""
    cue = None if claim.in_table else _cue(claim, bench.scene.reading.written)
    if cue is None:
        return
    columns = [column for grid in small_grids(bench) for column in _columns(grid, cue.many)]
    if not columns:  # the report speaks another language than the data
        grids = small_grids(bench, touched=False)
        columns = [column for grid in grids for column in _columns(grid, cue.many)]
    named = [column for column in columns if is_named_measure(column[0], bench)]
    if not named and len(columns) > _MOST_COLUMNS:
        return
    for column in named or columns:
        part = _part(column, cue)
        value = sum(fact.scaled for fact in part)
        if column[0].percent:
            factor = 1.0 if any(fact.unit == "%" or abs(fact.value) > 1 for fact in column) else 100.0
            if percent:
                yield Part("sum", part, value * factor)
        elif not percent:
            yield Part("sum", part, value)
        elif (whole := _whole(column, bench)) > value > 0:
            yield Part("share", part, value / whole * 100)


def _cue(claim: Claim, text: str) -> _Cue | None:
    """The words for the rows of a claim: those in its clause or the nearest before it, else the first behind it."""
    found = [cue for pattern in _CUES for match in pattern.finditer(text, *claim.span) if (cue := _read(match))]
    before = [cue for cue in found if cue.start < claim.start]
    behind = [cue for cue in found if claim.end <= cue.start < claim.clause[1]]
    if before:
        return max(before, key=lambda cue: cue.start)
    return min(behind, key=lambda cue: cue.start) if behind else None


def _read(match: re.Match[str]) -> _Cue | None:
    word = match["count"].casefold()
    count = int(word) if word.isascii() and word.isdigit() else _COUNTS.get(word, 0)
    way = next((name for name in ("largest", "smallest", "first", "last") if match.groupdict().get(name)), "")
    return _Cue(match.start(), count, way) if count else None


def _columns(grid: Grid, count: int) -> Iterator[list[Fact]]:
    """The columns of amounts, or of shares, of a table whose rows are things."""
    labels = {label for fact in grid.facts for family, label in fact.keys if not family.columns}
    if grid.record or not labels or any(not isinstance(label, Day) and is_statistic(label) for label in labels):
        return
    for column in grid.columns.values():
        words = frozenset().union(*(fact.words for fact in column)) if column else frozenset()
        shares = bool(words & _SHARES)
        if len(column) <= count or any(fact.scaled < 0 for fact in column) or (words & NO_SUM and not shares):
            continue
        if all(fact.percent for fact in column) if shares else not any(fact.percent for fact in column):
            yield column


_SHARES = frozenset(("share", "anteil", "part", "cuota", "占", "占比"))


def _part(column: Sequence[Fact], cue: _Cue) -> tuple[Fact, ...]:
    if cue.way in ("largest", "smallest"):
        column = sorted(column, key=lambda fact: fact.scaled, reverse=cue.way == "largest")
    elif all(days := [_moment(fact) for fact in column]):
        column = [column[at] for at in sorted(range(len(column)), key=days.__getitem__)]
    return tuple(column[-cue.many :] if cue.way == "last" else column[: cue.many])


def _moment(fact: Fact) -> tuple[int, ...]:
    """The date of a fact's row in the form in which it is ordered; () for none."""
    day = next((label for family, label in fact.keys if not family.columns and isinstance(label, Day)), None)
    return () if day is None else (day.year or 0, day.quarter or 0, day.month or 0, day.day or 0)


def _whole(column: Sequence[Fact], bench: Workbench) -> float:
    """What the column is a part of: a total that a cell printed, if it is larger than the rows that are shown."""
    first, shown = column[0], sum(fact.scaled for fact in column)
    things = {word for family, label in first.keys if not family.columns for word in label if isinstance(word, str)}
    measure = first.words - things - _TOTALS
    printed = {
        fact.scaled
        for fact in bench.facts.facts
        if fact.turn == 0
        and not fact.given
        and not fact.percent
        and fact.unit in ("", first.unit)
        and (is_total(fact) if fact.grid is first.grid else fact.words & _TOTALS)
        and (fact.column == first.column if fact.grid is first.grid else fact.words & measure)
        and fact.scaled > shown * (1 + 1e-9)
    }
    return printed.pop() if len(printed) == 1 else shown
