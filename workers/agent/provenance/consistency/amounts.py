"""The tables of a report as amounts: each cell with the sizes that it may stand for."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from workers.agent.provenance.claims.reading import Claim, Reading
from workers.agent.provenance.language.numerals import FILLER

PERCENT = ("%", "pp")
_INEXACT = re.compile(r"[<>≤≥~≈∼±≲≳]|\b(?:ca|approx|about|rund|etwa|environ|unos|aprox)\b|约|約", re.IGNORECASE)
_FOOTNOTE = re.compile(r"(?<!\*)\*(?!\*)|[†‡§¹²³⁴-⁹]|\[\^")


class Amount(NamedTuple):
    """A figure as a number, with how far the real one may be away."""

    value: float
    slack: float


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A figure of a report that its other figures contradict.

    `where` is its sentence, or the row and the column of its table. `gives` is what the other figures give, `by` says
    which ones these are. Equal ones are the same fault, wherever they stand.
    """

    kind: Literal["total", "row", "change"]
    figure: str
    where: str
    gives: str
    by: str


@dataclass(slots=True)
class Table:
    """A table of a report: its figures by row and column, and the words of its rows."""

    number: int
    cells: dict[tuple[int, int], Claim] = field(default_factory=dict)
    rows: dict[int, str] = field(default_factory=dict)
    headings: dict[int, str] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    unusable: set[tuple[int, int]] = field(default_factory=set)

    def column(self, c: int) -> dict[int, Claim]:
        """The figures of a column by their rows."""
        return {r: claim for (r, other), claim in self.cells.items() if other == c}


def tables_of(reading: Reading) -> list[Table]:
    """The tables of a report that hold figures, in order."""
    found: dict[int, Table] = {}
    several: dict[int, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for claim in reading.claims:
        if not claim.in_table:
            continue
        table = found.setdefault(claim.table, Table(claim.table, start=claim.span[0]))
        table.cells[claim.at] = claim
        table.rows[claim.at[0]] = claim.row
        table.headings[claim.at[1]] = claim.column
        table.start, table.end = min(table.start, claim.span[0]), max(table.end, claim.span[1])
        several[claim.table][claim.at] += 1
        if claim.numeral.kind != "number" or _is_inexact(claim, reading):
            table.unusable.add(claim.at)
    for number, table in found.items():
        table.unusable |= {at for at, count in several[number].items() if count > 1}
    return list(found.values())


def _is_inexact(claim: Claim, reading: Reading) -> bool:
    """Whether a cell says more than its number: a bound, an arrow, a footnote, brackets, which may stand for a loss."""
    start, end = claim.clause
    beside = f"{reading.text[start : claim.start]}{reading.text[claim.end : end]}".replace(FILLER, "").strip()
    return bool(beside or _INEXACT.search(reading.text[start:end]) or _FOOTNOTE.search(reading.written[start:end]))


def options(claims: Sequence[Claim]) -> Iterator[list[Amount]]:
    """The amounts of these figures: in one way, or in two where each "1,234" may be read in two.

    Beside a whole number such as 700, it is one of thousands.
    """
    ways: Sequence[int] = range(min(max((len(claim.numeral.readings) for claim in claims), default=0), 2))
    if len(ways) > 1 and any(len(claim.numeral.readings) == 1 and _is_whole(claim, 0) for claim in claims):
        ways = [way for way in ways if all(_is_whole(claim, way) for claim in claims)] or ways
    for way in ways:
        yield [_amount(claim, way) for claim in claims]


def _is_whole(claim: Claim, way: int) -> bool:
    readings = claim.numeral.readings
    return readings[min(way, len(readings) - 1)][1] <= 0


def _amount(claim: Claim, way: int) -> Amount:
    one = claim.numeral
    value, decimals = one.readings[min(way, len(one.readings) - 1)]
    fine = max(decimals, 0)
    size = value * one.scale
    return Amount(-size if one.sign < 0 else size, 0.5 * 10.0**-fine * one.scale)


def grain(amounts: Sequence[Amount]) -> float:
    """The step to which all of these are rounded, when they are whole numbers that end with zeros; else 1."""
    values = [abs(each.value) for each in amounts if each.value]
    step = 1.0
    while values and step < 1e12 and all(value % (step * 10) == 0 for value in values):
        step *= 10
    return step


def text_of(claim: Claim) -> str:
    """A figure as the report writes it."""
    return " ".join(claim.numeral.text.replace(FILLER, "").split())


def where(claim: Claim, reading: Reading) -> str:
    """The place of a figure in words."""
    if claim.in_table:
        parts = (one.replace(FILLER, "").strip() for one in (claim.row, claim.column))
        return " | ".join(part for part in parts if part)
    return " ".join(reading.written[slice(*claim.span)].split())


def as_number(value: float, like: Claim) -> str:
    """A number with as many decimals as a figure shows, and with its scale and unit."""
    one = like.numeral
    shown = value / one.scale
    ways = [max(decimals, 0) for _, decimals in one.readings]
    decimals = min(ways) if math.isclose(shown, round(shown)) else max(ways)
    digits = f"{shown:,.{decimals}f}"
    behind = one.text[max(one.digits_end - one.start, 0) :] if one.digits_end else ""
    return " ".join(f"{digits}{behind}".replace(FILLER, "").split())
