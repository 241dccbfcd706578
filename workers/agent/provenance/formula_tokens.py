"""Holds a formula that a model gave against the outputs: each of its numbers, its value, its unit, sign and rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workers.agent.provenance.arithmetic import number
from workers.agent.provenance.binding import Scene
from workers.agent.provenance.claims import Claim
from workers.agent.provenance.deriving import Derived
from workers.agent.provenance.facts import Fact, Facts, is_total_label
from workers.agent.provenance.formulas import Amount, Formula, Operand, compute, written
from workers.agent.provenance.matching import bounds, direction, in_points, is_level
from workers.agent.provenance.numerals import Day
from workers.agent.provenance.words import CURRENCIES

_MONEY = frozenset(CURRENCIES.values())
_OTHERS = re.compile(
    r"\b(?:rest|remain\w*|others?|besides|except|without|übrig\w*|restlich\w*|ander\w*|außer|ohne)\b|其余|其他|剩|除",
    re.IGNORECASE,
)
"""Words with which a sentence names one row and tells of the others."""


class Bound(NamedTuple):
    """A formula held against the outputs. `derived` is None where it does not hold; `arithmetic` is the formula with
    its numbers and what it gives, "" where one of its numbers stands nowhere."""

    derived: Derived | None
    arithmetic: str = ""


def shows(fact: Fact, operand: Operand, *, signed: bool = True) -> bool:
    """Whether a fact is the number that a token names: as it is printed, or with its scale ("1.2 M", 1200000)."""
    for value, slack in ((fact.value, fact.slack / fact.scale), (fact.scaled, fact.slack)):
        own, said = (value, operand.value) if signed and operand.signed else (abs(value), abs(operand.value))
        if abs(own - said) <= min(operand.slack, slack or operand.slack) * 1.001 + 1e-9 * abs(own):
            return True
    return False


def bind(claim: Claim, formula: Formula, scene: Scene, facts: Facts) -> Bound:
    """How a claim follows by this formula.

    Each number must stand in its cell. The value must be that of the claim, with its unit and sign. If the claim names
    rows, one of the numbers must be of them.
    """
    chosen: list[Fact] = []
    for operand in formula.operands:
        fact = _fact_of(operand, claim, scene, facts)
        if fact is None:
            return Bound(None)
        chosen.append(fact)
    values = [
        fact.scaled if each.signed else abs(fact.scaled) for each, fact in zip(formula.operands, chosen, strict=True)
    ]
    result = compute(formula, [Amount(value, int(f.unit in _MONEY)) for value, f in zip(values, chosen, strict=True)])
    if result is None:
        return Bound(None)
    arithmetic = f"{written(formula, [_shown(value) for value in values])} = {number(result.value)}"
    fits = (
        _value_fits(claim, result, scene, facts)
        and _unit_fits(claim, result, chosen, facts)
        and _sign_fits(claim, result.value, scene)
        and _rows_fit(claim, chosen, scene)
    )
    return Bound(Derived("formula", tuple(chosen), result.value) if fits else None, arithmetic)


def _shown(value: float) -> str:
    return f"(−{number(-value)})" if value < 0 else number(value)


def _fact_of(operand: Operand, claim: Claim, scene: Scene, facts: Facts) -> Fact | None:
    """The fact that a number of a formula names; of several the one that the claim is about."""
    size = abs(operand.value)
    near = facts.near(size - operand.slack, size + operand.slack, percent=False)
    found = [fact for fact in near if _is_of_cell(fact, operand) and shows(fact, operand)]
    if not found:  # "1.2 M" stands among the facts as 1,200,000
        found = [fact for fact in facts.scaled() if _is_of_cell(fact, operand) and shows(fact, operand)]
    if not found and (fact := _like_a_year(operand, facts)) is not None:
        return fact
    return max(found, key=lambda fact: (scene.conflict(claim, fact) is None, scene.agrees(claim, fact)), default=None)


def _like_a_year(operand: Operand, facts: Facts) -> Fact | None:
    """The number that an output shows, and that was read as a year: 1,900 pieces, printed as 1900."""
    place = facts.days.get(Day(int(operand.value))) if operand.value == int(operand.value) else None
    return Fact(operand.value, 0, place) if place is not None and place.cell == operand.cell else None


def _is_of_cell(fact: Fact, operand: Operand) -> bool:
    return fact.place.cell == operand.cell if operand.cell else fact.given


def _value_fits(claim: Claim, result: Amount, scene: Scene, facts: Facts) -> bool:
    percent = claim.numeral.unit in ("%", "pp")
    scale = claim.numeral.scale  # "299 k EUR": the formula may give 299,000 or 299
    factors = (1.0, 100.0) if percent or in_points(claim, scene.reading.text) else (1.0,)
    if scale != 1.0:
        factors = (*factors, scale, *facts.scales)
    return any(
        abs(abs(result.value * factor) - bound.value) <= bound.slack * 1.001 + 1e-9 * max(1.0, abs(result.value))
        for bound in bounds(claim, scene.reading.text)
        for factor in factors
    )


def _unit_fits(claim: Claim, result: Amount, chosen: Sequence[Fact], facts: Facts) -> bool:
    """An amount of money follows from amounts of that currency; a percentage from none, or from a ratio of two."""
    own = {fact.unit for fact in chosen}
    unit = claim.numeral.unit
    if unit in _MONEY:
        if own & _MONEY:
            return unit in own and result.money == 1
        if "%" in own or any(fact.grid is not None and _MONEY & {f.unit for f in fact.grid.facts} for fact in chosen):
            return False  # percentages, or a column without money beside one of money
        return not facts.currencies or unit in facts.currencies
    return unit not in ("%", "pp") or result.money == 0


def _sign_fits(claim: Claim, value: float, scene: Scene) -> bool:
    """The claim's own sign must be that of the value; words must not say that it rose where the value is negative."""
    if claim.numeral.sign:
        return claim.numeral.sign * value >= 0
    return value >= 0 or is_level(claim, scene) or direction(claim, scene) <= 0


def _rows_fit(claim: Claim, chosen: Iterable[Fact], scene: Scene) -> bool:
    """Whether, where the claim names rows of a table, one of the numbers is of them. A total is of no row."""
    fits: dict[int, bool] = {}
    for fact in chosen:
        for family, label in fact.keys:
            allowed = scene.allowed(claim, family) if family.binds and not family.columns else None
            if allowed is not None and not is_total_label(label):
                fits[id(family)] = fits.get(id(family), False) or label in allowed or scene.is_the_other(claim, family)
    return all(fits.values()) or (not claim.in_table and _OTHERS.search(scene.reading.text, *claim.clause) is not None)
