"""Which row of a column stands at a place: the first, the last, the third from above or from below."""

from __future__ import annotations

from collections.abc import Sequence

from workers.agent.provenance.claims.matching import Bounds
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.outputs.facts import Fact, Family, is_total
from workers.agent.provenance.ranks.places import Ranked
from workers.agent.provenance.ranks.words import ASIDE, CJK_ASIDE

_MOST_SUMS = 30
"""Rows that are looked at as possible subtotals."""


def row_at(fact: Fact, family: Family, column: Sequence[Fact], rank: Ranked, told: Bounds) -> Fact | None:
    """The row that stands at this place, if it is clearly not the fact's own. None if that is in doubt.

    `family` distinguishes the rows. `told` is how the report writes the fact: rows that would be written alike are
    equal.
    """
    rows = [each for each in column if not is_aside(each)]
    value = fact.value
    if fact not in rows or value <= 0 or any(each.value < 0 for each in column) or rank.at > len(rows):
        return None
    ordered = sorted(rows, key=lambda each: each.value, reverse=rank.up)
    there = ordered[rank.at - 1]
    equal = [each for each in rows if abs(each.value / value - 1) * told.value <= told.slack * 1.001]
    before = [each for each in rows if _is_before(each, fact, rank) and each not in equal]
    if there in equal or _is_place(rank.at, before, len(equal)):
        return None
    last = max(rank.at, len(before) + 1) if rank.at > 1 else 1
    if not rank.up and any(each.value == 0 for each in ordered[:last]):
        return None
    days = [label for each in rows for own, label in each.keys if own is family and isinstance(label, Day)]
    if days and (len(days) < len(rows) or len({tuple(part is None for part in day) for day in days}) > 1):
        return None
    if days and not rank.up and any(each in (rows[0], rows[-1]) for each in ordered[:last]):
        return None  # the period at the edge may be a part of one
    if rank.up and not days and any(_is_sum(each, column) for each in ordered[: min(last, _MOST_SUMS)]):
        return None
    return there


def may_stand_at(rank: Ranked, fact: Fact, rows: Sequence[Fact]) -> bool:
    """Whether a fact stands at this place among these rows, which are not all equal."""
    before = [each for each in rows if _is_before(each, fact, rank)]
    equal = sum(each.value == fact.value for each in rows)
    return equal < len(rows) and _is_place(rank.at, before, equal)


def _is_before(one: Fact, other: Fact, rank: Ranked) -> bool:
    return one.value > other.value if rank.up else one.value < other.value


def _is_place(at: int, before: Sequence[Fact], equal: int) -> bool:
    """Whether a row may be called so. Behind two equal ones, a row is the third, and has the second highest value."""
    return len({each.value for each in before}) < at <= len(before) + equal


def is_aside(fact: Fact) -> bool:
    """Whether a row is a total, a mean, or a rest, which no report ranks."""
    if is_total(fact):
        return True
    for family, label in fact.keys:
        if family.columns or isinstance(label, Day):
            continue
        if not label or not ASIDE.isdisjoint(label) or CJK_ASIDE.search("".join(label)):
            return True
    return False


def _is_sum(fact: Fact, column: Sequence[Fact]) -> bool:
    """Whether a value is the sum of all others, or of the rows right above or below it: a subtotal."""
    at = column.index(fact)
    others = sum(each.value for each in column) - fact.value
    slack = abs(fact.value) * 0.0005 + fact.slack
    if len(column) > 2 and abs(others - fact.value) <= slack:
        return True
    for rows in (column[at + 1 :], column[:at][::-1]):
        total = 0.0
        for count, each in enumerate(rows, 1):
            total += each.value
            if count > 1 and abs(total - fact.value) <= slack:
                return True
    return False
