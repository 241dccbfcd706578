"""Columns of a report's tables that do not add up to the total that the report tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workers.agent.provenance.claims.reading import Claim, Reading
from workers.agent.provenance.consistency.amounts import (
    PERCENT,
    Amount,
    Contradiction,
    Table,
    as_number,
    grain,
    options,
    text_of,
    where,
)
from workers.agent.provenance.consistency.words import (
    LIKE_TOTAL,
    NO_ADDEND,
    NO_SUM,
    OTHERS,
    PARTIAL,
    TOTAL_ROW,
)
from workers.agent.provenance.language.words import CURRENCIES, TOTAL, key_of, says

_ABOVE = 400
"""Characters above a table in which words may say that it is a part of something."""
_FEWEST_DIGITS = 3
"""A slip of one digit is told from another measure by its digits: with fewer, too many numbers are one digit away."""
_NEAR = 0.15
_WHOLE = 100.0
_MONEY = frozenset(CURRENCIES.values())


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table against its total: `sum` of its rows, and what became of the comparison."""

    told: Claim
    addends: Sequence[Claim]
    sum: float
    total: float
    state: Literal["adds", "other", "differs"]

    @property
    def unit(self) -> str:
        return self.told.numeral.unit


def in_rows_of_totals(table: Table, reading: Reading) -> Iterator[Contradiction]:
    """The figures of a row of totals that the rows of their columns do not add up to."""
    total = _total_row(table)
    if total is None:
        return
    columns = [one for c in table.headings if (one := _column(table, c, total)) is not None]
    proof = [one for one in columns if one.state == "adds" and _digits(one.told) > 1]
    wrong = [one for one in columns if one.state == "differs"]
    is_whole = any(OTHERS.search(row) for row in table.rows.values())
    for one in wrong:
        more_told = abs(one.total) > abs(one.sum)
        if proof or is_whole:
            certain = more_told or one.unit in _MONEY or one.unit in PERCENT
        else:
            certain = len(wrong) == 1 and (more_told or one.unit in _MONEY) and _is_slip(one)
            certain = certain and not PARTIAL.search(_around(table, reading))
        if certain:
            yield Contradiction(
                "total", text_of(one.told), where(one.told, reading), as_number(one.sum, one.told), "the rows"
            )


def _total_row(table: Table) -> int | None:
    """The row that holds the sums of all others; None where there is none, or where the others are no mere addends."""
    totals = [r for r, row in table.rows.items() if _is_total(row)]
    rows = sorted(table.rows)
    others = [table.rows[r] for r in rows if r not in totals]
    ends = (rows[0], rows[-1])
    if len(totals) != 1 or totals[0] not in ends or rows != list(range(rows[0], rows[-1] + 1)):
        return None
    if len(others) < 2 or any(not row.strip() or LIKE_TOTAL.search(row) or NO_ADDEND.search(row) for row in others):
        return None
    return totals[0] if len(set(others)) == len(others) else None


def _is_total(row: str) -> bool:
    """Whether a row is called a total, and nothing else."""
    parts = [part.strip(" :*_.–—-()") for part in row.split(" | ")]
    named = [part for part in parts if part]
    return len(named) == 1 and TOTAL_ROW.fullmatch(named[0]) is not None


def _column(table: Table, c: int, total: int) -> _Column | None:
    """A column against its total; None where it cannot be compared, or is no sum by its heading."""
    claims = table.column(c)
    if set(claims) != set(table.rows) or any(at in table.unusable for at in ((r, c) for r in claims)):
        return None
    told = claims[total]
    addends = [claims[r] for r in sorted(claims) if r != total]
    if len({one.numeral.unit for one in claims.values()}) != 1:
        return None
    heading, is_share = table.headings[c], told.numeral.unit == "%"
    if told.numeral.unit == "pp" or (not is_share and NO_SUM.search(heading)):
        return None
    found: _Column | None = None
    for sizes in options([told, *addends]):
        one = _compared(told, addends, sizes)
        if is_share and (one.total != _WHOLE or min(each.value for each in sizes) < 0):
            return None
        if one.state != "differs":
            return one
        found = found or one
    return found


def _compared(told: Claim, addends: Sequence[Claim], sizes: Sequence[Amount]) -> _Column:
    step = grain(sizes)
    own = [max(each.slack, step / 2 if step > 1 else 0.0) for each in sizes]
    total, values = sizes[0].value, [each.value for each in sizes[1:]]
    difference, room = abs(sum(values) - total), sum(own)
    if difference <= room * (1 + 1e-9) and not (step > 1 and difference >= room * (1 - 1e-9)):
        state: Literal["adds", "other", "differs"] = "adds"
    elif min(values) - own[0] <= total <= max(values) + own[0] or not total:
        state = "other"  # a mean, a maximum, a rate of the whole
    else:
        state = "differs"
    return _Column(told, addends, sum(values), total, state)


def beside_tables(table: Table, reading: Reading) -> Iterator[Contradiction]:
    """Totals told in the sentences around a table that has no row of totals, and that its column does not add up to.

    Only a table that is whole by its own figures can contradict one: its shares are those of its own sum.
    """
    rows = sorted(table.rows)
    named = [table.rows[r] for r in rows]
    if len(rows) < 3 or any(not row or LIKE_TOTAL.search(row) or NO_ADDEND.search(row) for row in named):
        return
    columns = {c: table.column(c) for c in table.headings}
    whole = {
        c: claims
        for c, claims in columns.items()
        if set(claims) == set(rows) and not any((r, c) in table.unusable for r in rows)
    }
    for c, claims in whole.items():
        told = [claims[r] for r in rows]
        if len({one.numeral.unit for one in told}) != 1 or told[0].numeral.unit in PERCENT:
            continue
        if NO_SUM.search(table.headings[c]):
            continue
        sums = [
            (sum(each.value for each in sizes), sum(each.slack for each in sizes), grain(sizes))
            for sizes in options(told)
            if _has_shares(sizes, whole, rows)
        ]
        if len(sums) != 1:
            continue
        total, room, step = sums[0]
        yield from _against(total, room + (step * (len(rows) + 1) / 2 if step > 1 else 0), told[0], table, reading)


def _has_shares(sizes: Sequence[Amount], columns: Mapping[int, Mapping[int, Claim]], rows: Sequence[int]) -> bool:
    """Whether another column has the shares of these amounts in their own sum."""
    total = sum(each.value for each in sizes)
    if total <= 0 or any(each.value < 0 for each in sizes):
        return False
    for claims in columns.values():
        shares = [claims[r] for r in rows]
        if any(one.numeral.unit != "%" or one.numeral.sign for one in shares):
            continue
        for told in options(shares):
            fits = (
                abs(share.value - size.value / total * _WHOLE) <= share.slack * 1.02
                for share, size in zip(told, sizes, strict=True)
            )
            if all(fits) and len({share.value for share in told}) > 1:
                return True
    return False


def _against(total: float, room: float, one: Claim, table: Table, reading: Reading) -> Iterator[Contradiction]:
    """The figures of the paragraphs beside a table that are told as the total of its column."""
    words = {word for word in key_of(one.column) if len(word) > 2}
    inside = _paragraphs(table, reading.text)
    near = [
        claim
        for claim in reading.claims
        if not claim.in_table
        and inside[0] <= claim.start < inside[1]
        and claim.numeral.kind == "number"
        and claim.numeral.unit == one.numeral.unit
        and not claim.small
    ]
    for claim in near:
        clause = reading.text[slice(*claim.clause)]
        sentence = reading.text[slice(*claim.span)]
        if not says(TOTAL, clause) or PARTIAL.search(sentence) or not words & set(key_of(clause)):
            continue
        if sum(other.clause == claim.clause for other in near) != 1:
            continue
        differs = all(
            abs(size[0].value - total) > size[0].slack + room and abs(size[0].value - total) <= total * _NEAR
            for size in options([claim])
        )
        if differs:
            by = f"the rows of “{one.column.strip()}”"
            yield Contradiction("total", text_of(claim), where(claim, reading), as_number(total, claim), by)


def _paragraphs(table: Table, text: str) -> tuple[int, int]:
    """From the paragraph above a table to the one below it."""
    above = text.rfind("\n\n", 0, max(table.start, 0))
    start = text.rfind("\n\n", 0, max(above, 0))
    below = text.find("\n\n", table.end)
    end = text.find("\n\n", below + 2) if below >= 0 else -1
    return (max(start, 0), end if end >= 0 else len(text))


def _is_slip(column: _Column) -> bool:
    """Whether one wrong digit, or two exchanged ones, lie between a sum and the total that is told."""
    power = 10.0 ** max(column.told.numeral.readings[0][1], 0) / column.told.numeral.scale
    power = 1.0 if column.total == int(column.total) and column.sum == int(column.sum) else power
    one, other = (f"{round(abs(value) * power)}" for value in (column.total, column.sum))
    if len(one) != len(other) or len(one.rstrip("0")) < _FEWEST_DIGITS - 1 or len(one) < _FEWEST_DIGITS:
        return False
    at = [n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    exchanged = len(at) == 2 and at[1] == at[0] + 1 and one[at[0]] == other[at[1]] and one[at[1]] == other[at[0]]
    return len(at) == 1 or exchanged


def _digits(claim: Claim) -> int:
    return sum(map(str.isdigit, claim.numeral.text))


def _around(table: Table, reading: Reading) -> str:
    names = " ".join([*table.rows.values(), *table.headings.values()])
    above, below = max(table.start - _ABOVE, 0), table.end + _ABOVE // 2
    return f"{reading.text[above : table.start]} {names} {reading.text[table.end : below]}"
