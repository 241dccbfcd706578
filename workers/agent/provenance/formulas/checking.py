"""Checks a formula of a model against the outputs: each of its numbers, its value, its unit, sign and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from workers.agent.provenance.claims.binding import Scene, is_among
from workers.agent.provenance.claims.matching import bounds, direction, in_points, is_level
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.derivations.arithmetic import number
from workers.agent.provenance.derivations.deriving import Derived
from workers.agent.provenance.formulas.syntax import Amount, Formula, Operand, compute, written
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import CURRENCIES, OTHER_ROWS
from workers.agent.provenance.outputs.facts import Fact, Facts, Label, is_total_of

_MONEY = frozenset(CURRENCIES.values())


Fault = Literal["", "unread", "alone", "number", "value", "unit", "sign", "row"]
"""What is wrong with a token: it cannot be read; a number stands nowhere; it gives another value, unit, sign or row."""


class Bound(NamedTuple):
    """A formula that was checked against the outputs. If it does not hold, `derived` is None and `fault` says why.
    `arithmetic` is the formula with its numbers and its result, or the number that stands nowhere."""

    derived: Derived | None
    arithmetic: str = ""
    fault: Fault = ""


def shows(fact: Fact, operand: Operand, *, signed: bool = True) -> bool:
    """Whether a fact is the number that a token names: as it is printed, or with its scale ("1.2 M", 1200000)."""
    return _as_written(fact, operand, signed=signed) is not None


def _as_written(fact: Fact, operand: Operand, *, signed: bool = True) -> float | None:
    """The fact's value in the form in which a token names it; None when it names another number."""
    for value, slack in ((fact.value, fact.slack / fact.scale), (fact.scaled, fact.slack)):
        own, said = (value, operand.value) if signed and operand.signed else (abs(value), abs(operand.value))
        if abs(own - said) <= min(operand.slack, slack or operand.slack) * 1.001 + 1e-9 * abs(own):
            return own
    return None


def bind(claim: Claim, formula: Formula, scene: Scene, facts: Facts) -> Bound:
    """How a claim follows by this formula.

    Each number must stand in its cell. The value must be that of the claim, with its unit and sign. If the claim names
    rows, one of the numbers must be of them.
    """
    if formula.is_period and claim.numeral.unit in ("%", "pp"):
        return Bound(None, "", "unit")
    chosen: list[Fact] = []
    for operand in formula.operands:
        fact = _fact_of(operand, claim, scene, facts)
        if fact is None:
            where = f"cell {operand.cell}" if operand.cell else "question"
            return Bound(None, f"{number(operand.value)} ({where})", "number")
        chosen.append(fact)
    found = [one for values in _readings(formula, chosen) if (one := _computed(formula, chosen, values)) is not None]
    if not found:
        return Bound(None, "", "value")
    fitting = (one for one in found if _value_fits(claim, one[0], chosen, scene, facts))
    result, arithmetic = next(fitting, found[0])
    fault: Fault = ""
    if not _value_fits(claim, result, chosen, scene, facts):
        fault = "value"
    elif not _unit_fits(claim, result, chosen, facts):
        fault = "unit"
    elif not _sign_fits(claim, result.value, scene):
        fault = "sign"
    elif not _rows_fit(claim, chosen, scene) and not _is_part_of_total(claim, formula, scene, facts):
        fault = "row"
    return Bound(None if fault else Derived("formula", tuple(chosen), result.value), arithmetic, fault)


def _readings(formula: Formula, chosen: Sequence[Fact]) -> list[list[float]]:
    """The values of the numbers: as they are written, then with their scales. "4.2" may stand for "4.2 million"."""
    pairs = list(zip(formula.operands, chosen, strict=True))
    plain = [_as_written(fact, operand) or 0.0 for operand, fact in pairs]
    scaled = [fact.scaled if operand.signed else abs(fact.scaled) for operand, fact in pairs]
    return [plain] if plain == scaled else [plain, scaled]


def _computed(formula: Formula, chosen: Sequence[Fact], values: Sequence[float]) -> tuple[Amount, str] | None:
    """What a formula gives with these values, and the formula with them."""
    amounts = [Amount(value, int(fact.unit in _MONEY)) for value, fact in zip(values, chosen, strict=True)]
    result = compute(formula, amounts)
    if result is None:
        return None
    return result, f"{written(formula, [_shown(value) for value in values])} = {number(result.value)}"


def _shown(value: float) -> str:
    return f"(−{number(-value)})" if value < 0 else number(value)


def _fact_of(operand: Operand, claim: Claim, scene: Scene, facts: Facts) -> Fact | None:
    """The fact that a number of a formula names. If several fit, one with just these digits, not a point of a chart
    that rounds to them; then the one that the claim is about."""
    size = abs(operand.value)
    near = facts.near(size - operand.slack, size + operand.slack, percent=False)
    found = [fact for fact in near if _is_of_cell(fact, operand) and shows(fact, operand)]
    if not found:  # "1.2 M" stands among the facts as 1,200,000
        found = [fact for fact in facts.scaled() if _is_of_cell(fact, operand) and shows(fact, operand)]
    if not found and (fact := _like_a_year(operand, facts)) is not None:
        return fact
    return max(found, key=lambda fact: (fact.value == operand.value, *_fit(claim, fact, scene)), default=None)


def _fit(claim: Claim, fact: Fact, scene: Scene) -> tuple[bool, int]:
    return scene.conflict(claim, fact) is None, scene.agrees(claim, fact)


def _like_a_year(operand: Operand, facts: Facts) -> Fact | None:
    """A number of an output that was read as a year: 1,900 pieces, printed as 1900."""
    place = facts.days.get(Day(int(operand.value))) if operand.value == int(operand.value) else None
    return Fact(operand.value, 0, place) if place is not None and place.cell == operand.cell else None


def _is_of_cell(fact: Fact, operand: Operand) -> bool:
    return fact.place.cell == operand.cell if operand.cell else fact.given


def _value_fits(claim: Claim, result: Amount, chosen: Sequence[Fact], scene: Scene, facts: Facts) -> bool:
    percent = claim.numeral.unit in ("%", "pp")
    factors = {1.0, 100.0} if percent or in_points(claim, scene.reading.text) else {1.0}
    factors |= {fact.scale for fact in chosen}  # "1.2 M" may stand in the formula as 1.2
    if claim.numeral.scale != 1.0:  # "299 k EUR": the formula may give 299,000 or 299
        factors |= {claim.numeral.scale, *facts.scales}
    return any(
        abs(abs(result.value * factor) - bound.value) <= bound.slack * 1.001 + 1e-9 * bound.value
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
    return unit not in ("%", "pp") or result.money == 0 or "" in own  # a unit that is told elsewhere: "values in T€"


def _sign_fits(claim: Claim, value: float, scene: Scene) -> bool:
    """The claim's own sign must be that of the value. If the value is negative, words must not say that it rose."""
    if claim.numeral.sign:
        return claim.numeral.sign * value >= 0
    return value >= 0 or is_level(claim, scene) or direction(claim, scene) <= 0


def _is_part_of_total(claim: Claim, formula: Formula, scene: Scene, facts: Facts) -> bool:
    """Whether each number of a formula stands in one column of one table, in its total or in a row that the sentence
    names: "15 of the 21 (71.4 %) had Starter or Team, most money is lost with Enterprise"."""
    if claim.in_table:
        return False
    columns: list[dict[tuple[int, int], bool]] = []
    for operand in formula.operands:
        size = abs(operand.value)
        found: dict[tuple[int, int], bool] = {}
        for fact in facts.near(size - operand.slack, size + operand.slack, percent=False):
            if fact.grid is not None and _is_of_cell(fact, operand) and shows(fact, operand):
                rows = [(family, label) for family, label in fact.keys if family.binds and not family.columns]
                total = any(is_total_of(label, family) for family, label in rows)
                named = bool(rows) and all(_is_said(label, claim, scene) for _, label in rows)
                if total or named:
                    found[id(fact.grid), fact.column] = not total
        columns.append(found)
    shared = set(columns[0]).intersection(*columns[1:]) if columns else set()
    kinds = [{found[column] for found in columns} for column in shared]
    return any(kind == {True, False} for kind in kinds)


def _is_said(label: Label, claim: Claim, scene: Scene) -> bool:
    """Whether the claim's sentence names a label."""
    return scene.place_of(claim, label) >= 0


def _rows_fit(claim: Claim, chosen: Iterable[Fact], scene: Scene) -> bool:
    """Whether one of the numbers is of a row that the claim names, if it names rows of a table. A total is of no
    row."""
    fits: dict[int, bool] = {}
    for fact in chosen:
        for family, label in fact.keys:
            allowed = scene.allowed(claim, family) if family.binds and not family.columns else None
            if allowed is not None and not is_total_of(label, family):
                named = is_among(label, allowed, family) or scene.is_the_other(claim, family)
                named = named or scene.names_beside_unit(claim, fact, family, label)
                fits[id(family)] = fits.get(id(family), False) or named
    return all(fits.values()) or (
        not claim.in_table and OTHER_ROWS.search(scene.reading.text, *claim.clause) is not None
    )
