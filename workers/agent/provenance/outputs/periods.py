"""Periods in the names of columns and lines: "orders_2023" and "orders_2024" are one measure of two years. Periods in a
column of years that is not the first: "region  year  rate" has the rate of each region in each year."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from workers.agent.provenance.language.numerals import Day, month_of
from workers.agent.provenance.language.words import Key
from workers.agent.provenance.outputs.facts import Fact, Facts, Family, Grid, Label

_MOST_LABELS = 200
_QUARTERS = {f"q{number}": number for number in range(1, 5)}
_YEARS = frozenset(
    (("year",), ("jahr",), ("année",), ("annee",), ("año",), ("ano",), ("年",), ("年", "份"), ("年", "度"))
)
"""Headings of columns of years, and of nothing else: "opened in" may hold a year as well, which says when and not of
when."""


def add_periods(facts: Facts) -> None:
    """Give the facts of names that differ in their period alone this period as a label, and note the years of all
    names."""
    for grid in facts.grids:
        _add_to_grid(grid)
        _add_years(grid)
    for fact in facts.facts:
        for word in fact.words:
            if (year := _year(word)) is not None:
                facts.days.setdefault(Day(year), fact.place)


def _add_to_grid(grid: Grid) -> None:
    families = {id(family): family for fact in grid.facts for family, _ in fact.keys}
    for family in families.values():
        days = _days_of(family.labels)
        if not days:
            continue
        periods = Family(columns=family.columns)
        for fact in grid.facts:
            day = _day_of(fact, family, days)
            if day is not None:
                periods.add(day, fact.place.about)
                fact.keys = (*fact.keys, (periods, day))


def _add_years(grid: Grid) -> None:
    """Give the rows of a table the years of their column as labels, where each name has one row for each of several
    years."""
    column = next((at for at, name in enumerate(grid.names) if name in _YEARS), -1)
    years = {fact.row: int(fact.value) for fact in grid.facts if fact.column == column and _is_whole_year(fact)}
    rows: dict[frozenset[tuple[int, Label]], list[int]] = defaultdict(list)
    for fact in grid.facts:
        if fact.column == column:
            named = frozenset((id(family), label) for family, label in fact.keys if not family.columns)
            rows[named].append(years.get(fact.row, 0))
    if not rows or any(len(set(each)) < max(2, len(each)) or 0 in each for each in rows.values()):
        return
    family = Family()
    for fact in grid.facts:
        if fact.column != column and fact.row in years:
            day = Day(years[fact.row])
            family.add(day, str(day.year))
            fact.keys = (*fact.keys, (family, day))


def _is_whole_year(fact: Fact) -> bool:
    return fact.decimals in (0, None) and _year(f"{fact.value:.0f}") is not None


def _day_of(fact: Fact, family: Family, days: dict[Key, Day]) -> Day | None:
    own = (label for one, label in fact.keys if one is family and not isinstance(label, Day))
    return next((days[label] for label in own if label in days), None)


def _days_of(labels: Iterable[Label]) -> dict[Key, Day]:
    """The period of each label that at least one other label has with another period and the same other words."""
    alike: dict[Key, dict[Key, Day]] = defaultdict(dict)
    for label in list(labels)[:_MOST_LABELS]:
        if not isinstance(label, Day):
            day, rest = _apart(label)
            if day != Day():
                alike[rest][label] = day
    return {label: day for group in alike.values() if len(set(group.values())) > 1 for label, day in group.items()}


def _apart(label: Key) -> tuple[Day, Key]:
    """The period in a name, and its other words. No period where a part of it occurs twice."""
    years = [year for word in label if (year := _year(word)) is not None]
    quarters = [_QUARTERS[word] for word in label if word in _QUARTERS]
    months = [month for word in label if (month := month_of(word.capitalize())) is not None]
    if max(len(years), len(quarters) + len(months)) > 1:
        return Day(), label
    rest = tuple(
        word for word in label if _year(word) is None and word not in _QUARTERS and month_of(word.capitalize()) is None
    )
    return Day(next(iter(years), None), next(iter(months), None), None, next(iter(quarters), None)), rest


def _year(word: str) -> int | None:
    return int(word) if len(word) == 4 and word.isascii() and word.isdigit() and word[:2] in ("19", "20") else None
