"""Traces a report: each of its figures ends sourced, derived, given or unsourced, with where it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from workers.agent.provenance.charted import against, chart_facts
from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import Candidate, Reason, bounds, candidates, direction, sign_fits
from workers.agent.provenance.claims.reading import Claim, Reading, read_report
from workers.agent.provenance.derivations.alike import Alike
from workers.agent.provenance.derivations.arithmetic import arithmetic, number
from workers.agent.provenance.derivations.columns import significant
from workers.agent.provenance.derivations.deriving import Derived, derive
from workers.agent.provenance.derivations.pools import Said, from_pool
from workers.agent.provenance.derivations.workbench import Workbench
from workers.agent.provenance.formulas.checking import Fault, bind, shows
from workers.agent.provenance.formulas.syntax import Operand
from workers.agent.provenance.formulas.tokens import Token, find_tokens
from workers.agent.provenance.language.numerals import Day, day_at_the_end
from workers.agent.provenance.language.words import CURRENCIES, SAME_UNIT, TOTAL, says
from workers.agent.provenance.nearest import MOST_NEAR, nearest, shown
from workers.agent.provenance.outputs.facts import Fact, Facts, Label, Place, is_total
from workers.agent.provenance.outputs.from_memory import says_so
from workers.agent.provenance.profiles import proves
from workers.agent.provenance.ranks.leading import misplaced
from workers.agent.provenance.statements.parts import other_part
from workers.agent.provenance.statements.small import of_another_row
from workers.agent.provenance.statements.sole import shared

State = Literal["sourced", "derived", "given", "unsourced", "left"]
"""`left`: too small, or of a kind that is no claim; nothing is said about it."""
_MOST_PLACES = 4
_MOST_BEFORE = 10
_SURE_WORDS = 2
_SURE_DIGITS = 3
"""A value with at least this many digits is found by its digits alone if names mislead."""
_TOKEN_REACH = 40
"""Characters between a figure and its token."""
_MOST_TOGETHER = 8
"""Figures before a token that may be meant."""
_MONEY = frozenset(CURRENCIES.values())
_BESIDE = 2
"""Characters between a figure and a second token of it."""
_FAULTS: dict[Reason, Fault] = {"row": "row", "unit": "unit", "sign": "sign"}
"""What is wrong with a token whose cell shows its value."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A figure of the report and what became of it. `places` are its sources; `how` the step that derives it.

    `values` are what stands at these places, None for what is no number. `near` are the nearest facts of an unsourced
    figure, for the model that is to correct it. `arithmetic` is the step that derives it, with its numbers. `fault`
    says what is wrong with its token. `unnamed`: an output shows it for a row that the sentence does not name, at least
    not in the words of the output. A reader has to tell whether it is the right one.
    """

    start: int
    end: int
    text: str
    sentence: str
    state: State
    places: tuple[Place, ...] = ()
    how: str = ""
    reason: Reason = ""
    near: tuple[str, ...] = ()
    in_table: bool = False
    arithmetic: str = ""
    values: tuple[float | None, ...] = ()
    fault: Fault = ""
    unnamed: bool = False


@dataclass(frozen=True, slots=True)
class Provenance:
    """What became of every figure of a report. `report` is the report without tokens; places are those in it."""

    report: str
    figures: tuple[Traced, ...] = ()

    @property
    def unsourced(self) -> tuple[Traced, ...]:
        """The figures that nothing backs."""
        return tuple(figure for figure in self.figures if figure.state == "unsourced")


@dataclass(slots=True)
class _Backed:
    value: float
    slack: float
    fact: Fact | None


@dataclass(slots=True)
class _Work:
    scene: Scene
    facts: Facts
    charted: Sequence[Fact] = ()
    states: dict[int, Traced] = field(default_factory=dict)
    backed: dict[int, _Backed] = field(default_factory=dict)


def trace(report: str, facts: Facts) -> Provenance:
    """Trace the figures of a report to these facts. Never raises for what a report or an output holds."""
    plain, tokens = find_tokens(report)
    reading = _with_labels_apart(read_report(plain), facts)
    scene = Scene(reading, facts)
    work = _Work(scene, facts, chart_facts(facts))
    bound = _by_claim(tokens, work)
    waiting: list[tuple[Claim, list[Candidate]]] = []
    for claim in reading.claims:
        _trace_one(claim, bound.get(id(claim)), work, waiting)
    waiting = _derive_all(waiting, work)
    if waiting and _derive_alike(waiting, work):
        waiting = _derive_all([each for each in waiting if id(each[0]) not in work.backed], work, late=True)
    if waiting and _derive_alone(waiting, work):
        waiting = _derive_all([each for each in waiting if id(each[0]) not in work.backed], work, late=True)
    for claim, found in waiting:
        _settle_unsourced(claim, found, work)
    _check_ranks(work)
    _check_parts(work)
    loose = [_alone(token, reading) for token in tokens if _follows_no_figure(token, bound, reading)]
    return Provenance(
        plain, tuple(sorted((*(work.states[id(claim)] for claim in reading.claims), *loose), key=_place_of))
    )


def _place_of(one: Traced) -> tuple[int, int]:
    return one.start, one.end


def _follows_no_figure(token: Token, bound: Mapping[int, Token], reading: Reading) -> bool:
    beside = (claim for claim in reading.claims if token.place - _BESIDE <= claim.end <= token.place)
    return not any(token is one for one in bound.values()) and next(beside, None) is None


def _alone(token: Token, reading: Reading) -> Traced:
    """A token that follows no figure: it would prove words such as "a quarter more"."""
    line = reading.written[: token.place].rpartition("\n")[2]
    text = next(iter(line.rsplit(maxsplit=1)[-1:]), "")
    return Traced(
        token.place - len(text),
        token.place,
        text,
        " ".join(line.split())[-300:],
        "unsourced",
        reason="tag",
        fault="alone",
    )


def _with_labels_apart(reading: Reading, facts: Facts) -> Reading:
    """A report in which "692 M" is 692 of those that the outputs call M, and not millions."""
    letters = {label[0] for family in facts.families for label in family.labels if _is_letter(label)}
    if not letters:
        return reading
    claims = []
    for claim in reading.claims:
        one = claim.numeral
        behind = one.text[one.digits_end - one.start :] if one.scale != 1.0 else ""
        if behind[:1].isspace() and behind.strip().casefold() in letters:
            one = replace(one, scale=1.0, end=one.digits_end, text=one.text[: one.digits_end - one.start])
        claims.append(replace(claim, numeral=one))
    return replace(reading, claims=claims)


def _is_letter(label: Label) -> bool:
    return not isinstance(label, Day) and len(label) == 1 and len(label[0]) == 1


def _by_claim(tokens: Sequence[Token], work: _Work) -> dict[int, Token]:
    """The token of each claim by its id.

    A token belongs to the figure before it, or to an earlier figure of its sentence that it fits: models put a token
    behind the whole clause ("66 of 99 [=…]"). A token that fits none belongs to the nearest.
    """
    found: dict[int, Token] = {}
    reading = work.scene.reading
    numbers = [claim for claim in reading.claims if claim.numeral.kind == "number"]
    for token in tokens:
        before = [claim for claim in numbers if _is_before(claim, token) and id(claim) not in found]
        if not before or re.search(r"[|\n]|[.!?;] |[。！？；]", reading.text[before[-1].end : token.place]):
            continue
        nearest = before[-1]
        group = [claim for claim in before if _together(claim, nearest)][-_MOST_TOGETHER:]
        fitting = (claim for claim in reversed(group) if _holds(claim, token, work))
        if token.place - nearest.end <= _TOKEN_REACH:
            found[id(next(fitting, nearest))] = token
    return found


def _is_before(claim: Claim, token: Token) -> bool:
    """Whether a token stands behind a figure, or between its digits and its unit: "57.0 [=…] thousand EUR"."""
    return (claim.numeral.digits_end or claim.end) <= token.place


def _together(claim: Claim, nearest: Claim) -> bool:
    """Whether two figures stand in one sentence, or in one cell of a table."""
    return claim.clause == nearest.clause if nearest.in_table else claim.span == nearest.span and not claim.in_table


def _holds(claim: Claim, token: Token, work: _Work) -> bool:
    """Whether a token says what this figure says."""
    if token.formula is not None:
        return bind(claim, token.formula, work.scene, work.facts).derived is not None
    return token.operand is not None and _shown_by(claim, token.operand, work) is not None


def _derive_all(
    waiting: list[tuple[Claim, list[Candidate]]], work: _Work, *, late: bool = False
) -> list[tuple[Claim, list[Candidate]]]:
    """Derive what can be derived, and repeat while it helps. Returns what is left."""
    for _ in range(3):
        left = [(claim, found) for claim, found in waiting if not _derive(claim, found, work, late=late)]
        if len(left) == len(waiting):
            break
        waiting = left
    return left if waiting else []


def _derive_alike(waiting: Sequence[tuple[Claim, list[Candidate]]], work: _Work) -> bool:
    """Derive figures that one formula explains together with others. Returns whether there was any."""
    backed = {key: (one.value, one.fact) for key, one in work.backed.items()}
    alike = Alike(work.scene.reading.claims, backed, work.scene, work.facts)
    some = False
    for claim, found in waiting:
        one = alike.of(claim)
        if one is None or _is_wrong(claim, found, work, late=True):
            continue
        _note_derived(claim, Derived(one.how, one.facts, one.value), work)
        some = True
    return some


def _derive_alone(waiting: Sequence[tuple[Claim, list[Candidate]]], work: _Work) -> bool:
    """Derive figures from few values: of the claim's own row, or of the sentences before. Returns whether there was
    any."""
    some = False
    for claim, found in waiting:
        if _is_wrong(claim, found, work, late=True) or claim.numeral.kind != "number":
            continue
        bench = Workbench(claim, _others(claim, work), work.scene, work.facts)
        one = from_pool(claim, bench, _before(claim, work))
        if one is not None:
            _note_derived(claim, Derived(one.how, one.facts, one.value), work)
            some = True
    return some


def _before(claim: Claim, work: _Work) -> list[Said]:
    """The backed figures of the sentences before, the nearest first."""
    earlier = [
        other
        for other in work.scene.reading.claims
        if id(other) in work.backed and not other.in_table and other.span[1] <= claim.span[0]
    ]
    last = earlier[-1].span if earlier else None
    return [
        Said(other, work.backed[id(other)].value, work.backed[id(other)].fact, other.span == last)
        for other in reversed(earlier[-_MOST_BEFORE:])
    ]


def _trace_one(claim: Claim, token: Token | None, work: _Work, waiting: list[tuple[Claim, list[Candidate]]]) -> None:
    if claim.numeral.kind in ("date", "time"):
        _trace_date(claim, work)
        return
    if claim.numeral.kind == "ordinal":
        _trace_ordinal(claim, work)
        return
    if token is not None:
        _trace_token(claim, token, work)
        return
    found = [each for each in _found(claim, work) if proves(claim, each.fact, work.scene, work.facts)]
    best = _of_a_named_row(_not_of_memory(_best(found, claim, work), found), found, claim, work)
    if best is not None and (other := against(claim, best.fact, work.charted, work.scene)) is not None:
        _note(claim, work, "unsourced", reason="chart", near=(shown(other), shown(best.fact)))
    elif best is not None:
        _back(claim, best.fact, work)
    elif claim.small and not claim.in_table:
        if of_another_row(claim, found, work.scene) is None:
            _note(claim, work, "left")
        else:
            _note(claim, work, "unsourced", reason="row", near=nearest(claim, found, work.scene, work.facts))
    else:
        waiting.append((claim, found))


def _not_of_memory(best: Candidate | None, found: Sequence[Candidate]) -> Candidate | None:
    """The best fact, or another one that fits as well where it stands in the team's memory."""
    if best is None or best.fact.place.what != "memory":
        return best
    return next((each for each in found if not each.against and each.fact.place.what != "memory"), best)


def _of_a_named_row(best: Candidate | None, found: Sequence[Candidate], claim: Claim, work: _Work) -> Candidate | None:
    """The best fact. If it is of a row that the sentence does not name, another one that is of no row or of a named one
    is better: a count in a line of its own, and not the same number in some row of a table."""
    if best is None or best.fact.given or not work.scene.leaves_unnamed(claim, best.fact):
        return best
    others = (each for each in found if not each.against and not each.fact.given and each.fact.turn == best.fact.turn)
    return next((each for each in others if not work.scene.leaves_unnamed(claim, each.fact)), best)


def _is_of_memory_untold(claim: Claim, fact: Fact, work: _Work) -> bool:
    """Whether a figure stands in the team's memory, and the report does not say so: in its paragraph, for a table
    anywhere. A small number, such as the months of a definition, is no result."""
    if fact.place.what != "memory" or (claim.small and not claim.in_table):
        return False
    text = work.scene.reading.text
    begin = 0 if claim.in_table else text.rfind("\n\n", 0, claim.start) + 1
    end = -1 if claim.in_table else text.find("\n\n", claim.end)
    return not says_so(text[begin : end if end >= 0 else len(text)], fact.place.about)


def _found(claim: Claim, work: _Work, only_cell: int = 0) -> list[Candidate]:
    """The facts with the claim's value. A fact of another row than the nearest name counts if that name already has a
    figure."""
    return [
        each._replace(against="") if each.against == "row" and _is_told_already(claim, each.fact, work) else each
        for each in candidates(claim, work.scene, work.facts, only_cell)
    ]


def _best(found: Sequence[Candidate], claim: Claim, work: _Work) -> Candidate | None:
    """The best fact that nothing speaks against.

    When the value is that of another row, a fact that names no row is not enough.
    """
    fits = [each for each in found if not each.against]
    if (asked := next((each for each in fits if _is_asked(claim, each.fact)), None)) is not None:
        return asked
    wrong = [
        each
        for each in found
        if each.against == "row" and each.fact.turn == 0 and sign_fits(claim, each.fact, work.scene)
    ]
    if unit := claim.numeral.unit:
        own = [each for each in fits if _is_in(unit, each.fact) and each.fact.words & work.scene.words_of(claim)]
        if own and not any(_is_in(unit, each.fact) for each in wrong):
            return own[0]  # only this one is said in the unit of the claim
    if (
        wrong
        and fits
        and (not _is_exact(claim, fits[0].fact, work) or any(_is_exact(claim, each.fact, work) for each in wrong))
        and not (fits[0].strong or is_total(fits[0].fact) or _says_the_row(fits[0].fact, claim, wrong, work))
        and not (fits[0].fact.given and fits[0].fact.place.what != "file")
    ):
        if any(each.strong for each in fits):
            return next(each for each in fits if each.strong)
        if any(_has_own(claim, each.fact, work) for each in wrong):
            return None
    return fits[0] if fits else None


def _is_in(unit: str, fact: Fact) -> bool:
    """Whether a fact has a unit, or none and the words beside it name it: 39 in "Days from order to return"."""
    return fact.unit == unit or (not fact.unit and any(SAME_UNIT.get(word) == unit for word in fact.words))


def _says_the_row(fact: Fact, claim: Claim, wrong: Sequence[Candidate], work: _Work) -> bool:
    """Whether a line of its own says the row that the claim names: "davon ohne Region: 43" beside a table with a row
    "ohne Region". A name of one word says less: "Spearman contract vs tenure: -0.64"."""
    families = (family for each in wrong for family, _ in each.fact.keys if family.binds and not family.columns)
    named = (label for family in families for label in work.scene.allowed(claim, family) or ())
    return any(not isinstance(label, Day) and len(label) > 1 and fact.words.issuperset(label) for label in named)


def _is_asked(claim: Claim, fact: Fact) -> bool:
    """Whether a person gave just this figure with its unit: the 8 hours of "P1 within 8 h"."""
    return fact.place.what == "question" and bool(fact.unit) and fact.unit == claim.numeral.unit


def _is_exact(claim: Claim, fact: Fact, work: _Work) -> bool:
    """Whether an output shows just these digits with this sign, while others may only round to them. Of few digits this
    says something only beside words that the sentence has, too."""
    said = [value for value, decimals in claim.numeral.readings if decimals == fact.decimals]
    is_negative = claim.numeral.sign < 0 or (not claim.numeral.sign and direction(claim, work.scene) < 0)
    if abs(fact.value) not in said or (fact.value < 0) != is_negative:
        return False
    return significant(claim) >= _SURE_DIGITS or len(fact.words & work.scene.words_of(claim)) >= _SURE_WORDS


def _is_told_already(claim: Claim, fact: Fact, work: _Work) -> bool:
    """Whether earlier clauses already give the figure of this column for the row that a claim seems to be about.

    "7,150 are activated and 1,430 pay": the second one cannot be of the first row too, and its clause names no other.
    """
    if claim.in_table or fact.grid is None or significant(claim) < _SURE_DIGITS:
        return False
    if work.scene.conflict(claim, fact) is None:
        return False
    for family, label in fact.keys:
        allowed = work.scene.allowed(claim, family) if family.binds else None
        if allowed is None or label in allowed:
            continue
        if family.columns or isinstance(label, Day):
            return False
        rows = [own for own, _ in fact.keys if not own.columns]
        if any(m.label in own.labels for m in work.scene.within(*claim.clause) for own in rows):
            return False
        told = {
            other_label
            for other in work.scene.reading.claims
            if other.span == claim.span
            and other.start < claim.start
            and (one := work.backed.get(id(other))) is not None
            if one.fact is not None and one.fact.grid is fact.grid and one.fact.column == fact.column
            for own, other_label in one.fact.keys
            if own is family
        }
        if not allowed <= told:
            return False
    return True


def _has_own(claim: Claim, fact: Fact, work: _Work) -> bool:
    """Whether the table of this fact holds a value of its column for the row that the claim is about."""
    if fact.grid is None:
        return False
    return any(
        work.scene.conflict(claim, other) is None and work.scene.agrees(claim, other)
        for other in fact.grid.column(fact.column)
    )


def _back(claim: Claim, fact: Fact, work: _Work) -> None:
    value = bounds(claim, work.scene.reading.text)[0].value
    exact = fact.scaled
    if claim.numeral.unit in ("%", "pp") and abs(abs(exact) * 100 - value) < abs(abs(exact) - value):
        exact *= 100
    elif abs(abs(exact) - value) > abs(value) * 0.5:
        exact = value
    work.backed[id(claim)] = _Backed(exact, fact.slack, fact)
    if _is_of_memory_untold(claim, fact, work):
        place = _place(fact)
        _note(claim, work, "unsourced", (place,), reason="memory", near=(place.about,), values=(fact.value,))
        return
    unnamed = not fact.given and work.scene.leaves_unnamed(claim, fact)
    _note(claim, work, "given" if fact.given else "sourced", (_place(fact),), values=(fact.value,), unnamed=unnamed)


def _trace_date(claim: Claim, work: _Work) -> None:
    one = claim.numeral
    times, is_time = work.facts.times, one.kind == "time"
    place = times.get(one.text[:5].zfill(5)) if is_time else work.facts.known_day(one.day)
    if place is None and one.kind == "date" and one.bare and (fact := _as_number(claim, work)) is not None:
        place = fact.place
    if place is None and one.kind == "date" and one.day.year is None and one.day.day is None:
        _note(claim, work, "left")
        return
    if place is None and one.kind == "date" and work.facts.spans(one.day):
        _note(claim, work, "left")
        return
    if place is None and not work.facts.cells and one.bare:
        _note(claim, work, "left")  # "since 2010": a year by itself in an answer that rests on no data
        return
    state: State = (
        "unsourced"
        if place is None
        else "given"
        if place.what in ("question", "note", "memory", "file", "code")
        else "sourced"
    )
    _note(claim, work, state, (place,) if place else (), reason="" if place else "unknown")


def _as_number(claim: Claim, work: _Work) -> Fact | None:
    """A count that looks like a year."""
    year = float(claim.numeral.day.year or 0)
    return next((fact for fact in work.facts.near(year, year, percent=False) if abs(fact.scaled) == year), None)


_OF = re.compile(
    r"[\s\u2060]*(?:(?:place|rank|position|Platz|Rang|Stelle)\s+)?(?:out\s+of|of|von|unter)\s+"
    r"(?:(?:the|our|its|den|allen|all)\s+)*\u2060*",
    re.IGNORECASE,
)


def _of_how_many(claim: Claim, work: _Work) -> float | None:
    """The count that a rank is of: 11 in "12th of 11 regions". None where the sentence gives none, or an amount."""
    behind = _OF.match(work.scene.reading.text, claim.end)
    if behind is None:
        return None
    count = next((other for other in work.scene.reading.claims if other.start == behind.end()), None)
    plain = count is not None and count.numeral.kind == "number" and not (count.numeral.unit or count.numeral.sign)
    return max(value for value, _ in count.numeral.readings) * count.numeral.scale if count and plain else None


def _trace_ordinal(claim: Claim, work: _Work) -> None:
    """A rank is fine where some table has so many rows, or where the number itself is said.

    A rank beyond the count that it is of contradicts itself: no table makes it right.
    """
    rank = int(claim.numeral.readings[0][0])
    count = _of_how_many(claim, work)
    if count is not None and count < rank:
        _note(claim, work, "unsourced", reason="unknown")
        return
    rows = max((*work.facts.counts, *(grid.rows for grid in work.facts.grids)), default=0)
    known = rows >= rank or bool(candidates(claim, work.scene, work.facts))
    _note(claim, work, "left" if known or rank <= 10 else "unsourced", reason="" if known or rank <= 10 else "unknown")


def _check_ranks(work: _Work) -> None:
    """Take back the figures of sentences that give their row the rank of another one, or call it the only one."""
    backing = {key: one.fact for key, one in work.backed.items() if one.fact is not None and not one.fact.given}
    for claim, own, leader in misplaced(work.scene, work.facts, backing):
        _note(claim, work, "unsourced", reason="rank", near=(shown(leader), shown(own)))
    for claim, own, other in shared(work.scene, work.facts, backing):
        _note(claim, work, "unsourced", reason="only", near=(shown(other), shown(own)))


def _check_parts(work: _Work) -> None:
    """Take back the figures of sentences that give one part of a whole to the other part."""
    for claim in work.scene.reading.claims:
        backed = work.backed.get(id(claim))
        if backed is None or (fact := backed.fact) is None:
            continue
        other = other_part(claim, fact, work.scene, work.facts)
        if other is not None and not _is_sum_of_others(claim, fact, work):
            _note(claim, work, "unsourced", reason="row", near=(shown(fact), shown(other)))


def _is_sum_of_others(claim: Claim, fact: Fact, work: _Work) -> bool:
    """Whether a figure is also the sum of values other than this fact."""
    one = derive(claim, _others(claim, work), work.scene, work.facts)
    return one is not None and one.how == "sum" and fact not in one.facts


def _trace_token(claim: Claim, token: Token, work: _Work) -> None:
    """A token binds: the cell must have shown its value, the figure must be that value, and its row must fit.

    With a formula the cells must have shown its numbers, and the figure must be what it gives.
    """
    near: tuple[str, ...] = ()
    fault: Fault = "unread"
    if token.formula is not None:
        bound = bind(claim, token.formula, work.scene, work.facts)
        if bound.derived is not None:
            _note_derived(claim, bound.derived, work, bound.arithmetic)
            return
        near, fault = ((bound.arithmetic,) if bound.arithmetic else ()), bound.fault
    elif token.operand is not None:
        shown_there = _shown_by(claim, token.operand, work)
        if shown_there is not None and shown_there.against in ("", "earlier"):
            _back(claim, shown_there.fact, work)
            return
        fault = _FAULTS.get(shown_there.against, "value") if shown_there is not None else "value"
    _note(
        claim,
        work,
        "unsourced",
        reason="tag",
        near=(*near, *nearest(claim, (), work.scene, work.facts))[:MOST_NEAR],
        fault=fault,
    )


def _shown_by(claim: Claim, operand: Operand, work: _Work) -> Candidate | None:
    """The fact of this cell and value that the claim may be about, if possible one that nothing speaks against."""
    found = [each for each in _found(claim, work, operand.cell) if shows(each.fact, operand, signed=False)]
    return next((each for each in found if not each.against), found[0] if found else None)


def _others(claim: Claim, work: _Work) -> list[tuple[Claim, float, float, Fact | None]]:
    """The backed figures of the claim's sentence, or of its row and column."""
    others = []
    for other in work.scene.reading.claims:
        backed = work.backed.get(id(other))
        if other is claim or backed is None:
            continue
        if claim.in_table:
            if other.table == claim.table and (other.at[0] == claim.at[0] or other.at[1] == claim.at[1]):
                others.append((other, backed.value, backed.slack, backed.fact))
        elif other.span == claim.span:
            others.append((other, backed.value, backed.slack, backed.fact))
    return others


def _derive(claim: Claim, found: Sequence[Candidate], work: _Work, *, late: bool = False) -> bool:
    others = _others(claim, work)
    wrong = _is_wrong(claim, found, work, late=late)
    one = derive(claim, others, work.scene, work.facts) if not wrong or _may_be_own_sum(claim, found, work) else None
    if one is not None and wrong and not _is_own_sum(claim, one, work):
        one = None
    if one is None:
        return _count(claim, work)
    _note_derived(claim, one, work)
    return True


def _is_wrong(claim: Claim, found: Sequence[Candidate], work: _Work, *, late: bool = False) -> bool:
    """Whether the value is of another row of the same measure, or has the wrong sign. Then no step may explain it."""
    wrong = any(
        each.against == "row"
        and each.fact.turn == 0
        and not _is_of_another_kind(claim, each.fact)
        and _has_own(claim, each.fact, work)
        for each in found
    )
    turned = any(each.against == "sign" and (each.strong or late) for each in found)
    return turned or (wrong and claim.numeral.unit not in ("%", "pp"))


def _may_be_own_sum(claim: Claim, found: Sequence[Candidate], work: _Work) -> bool:
    """Whether a value of another row may also be the sum of the claim's own rows: it is small, and a total is told."""
    text = f"{claim.row} {claim.column}" if claim.in_table else work.scene.reading.text[slice(*claim.span)]
    return significant(claim) < _SURE_DIGITS and says(TOTAL, text) and all(each.against != "sign" for each in found)


def _is_own_sum(claim: Claim, one: Derived, work: _Work) -> bool:
    """Whether a figure is the sum of rows that the claim names, and of no others."""
    return (
        one.how == "sum"
        and len(one.facts) > 1
        and all(work.scene.agrees(claim, fact) and work.scene.conflict(claim, fact) is None for fact in one.facts)
    )


def _is_of_another_kind(claim: Claim, fact: Fact) -> bool:
    """Whether a claim is an amount of money, while the fact's column has no unit and another column of its table is
    money."""
    unit = claim.numeral.unit
    if unit not in _MONEY or fact.unit or fact.grid is None:
        return False
    return any(other.unit == unit for other in fact.grid.facts)


def _note_derived(claim: Claim, one: Derived, work: _Work, shown: str = "") -> None:
    work.backed[id(claim)] = _Backed(one.value, 0.0, None)
    bound = tuple(dict.fromkeys((_place(fact), fact.value) for fact in one.facts))[:_MOST_PLACES]
    _note(
        claim,
        work,
        "derived",
        tuple(place for place, _ in bound),
        how=one.how,
        shown=shown or arithmetic(one),
        values=tuple(value for _, value in bound),
    )


def _place(fact: Fact) -> Place:
    return fact.place._replace(value=f"{number(fact.value)}{'%' if fact.unit == '%' else ''}")


def _count(claim: Claim, work: _Work) -> bool:
    """A count of rows or columns of a table that an output shows."""
    one = claim.numeral
    if one.unit or one.sign or one.scale != 1.0 or claim.in_table or not one.readings:
        return False
    place = next(
        (
            work.facts.counts[int(value)]
            for value, decimals in one.readings
            if decimals <= 0 and int(value) in work.facts.counts
        ),
        None,
    )
    if place is None:
        return False
    _note(claim, work, "derived", (place,), how="count")
    return True


def _settle_unsourced(claim: Claim, found: Sequence[Candidate], work: _Work) -> None:
    if (fact := _told_as_loss(claim, found, work)) is not None:
        _back(claim, fact, work)
        return
    if work.scene.name_around(claim) is not None:
        _note(claim, work, "left")
        return
    day = day_at_the_end(work.scene.reading.text, claim.start)
    if day is not None and (place := work.facts.known_day(day)) is not None:
        _note(claim, work, "sourced", (place,))
        return
    reasons = [each.against for each in found if each.against]
    order: tuple[Reason, ...] = ("row", "sign", "unit", "earlier")
    reason: Reason = next((each for each in order if each in reasons), "row" if found else "unknown")
    _note(claim, work, "unsourced", reason=reason, near=nearest(claim, found, work.scene, work.facts))


def _told_as_loss(claim: Claim, found: Sequence[Candidate], work: _Work) -> Fact | None:
    """The negative value that a figure gives without its sign, where the report says all the same that it is a loss.

    It has told it as one before ("partner lost 21,991 EUR. … only 21,991 EUR of it"), or the figure stands in the
    bracket behind another one that is told so ("1,011 GBP are left (495 to 1,528)"). None where words point upwards.
    """
    if claim.numeral.sign or direction(claim, work.scene) > 0:
        return None
    told = {
        one.fact.value
        for other in work.scene.reading.claims
        if other.start < claim.start and (one := work.backed.get(id(other))) is not None and one.fact is not None
    }
    outer = work.scene.before_bracket(claim)
    losses = [each.fact for each in found if each.against == "sign" and each.fact.value < 0]
    return next((fact for fact in losses if fact.value in told or (outer and _is_beside(outer, fact, work))), None)


def _is_beside(outer: Claim, fact: Fact, work: _Work) -> bool:
    """Whether a claim gives a negative value of a fact's row without its sign."""
    if fact.grid is None or outer.numeral.sign or outer.numeral.unit in ("%", "pp") or id(outer) not in work.backed:
        return False
    sizes = bounds(outer, work.scene.reading.text)
    row = [other for other in fact.grid.row(fact.row) if other.value < 0 and other is not fact]
    return any(abs(-other.scaled - size.value) <= size.slack for other in row for size in sizes[:1])


def _note(  # noqa: PLR0917 - what is known of a figure, in the order of `Traced`
    claim: Claim,
    work: _Work,
    state: State,
    places: tuple[Place, ...] = (),
    how: str = "",
    reason: Reason = "",
    near: tuple[str, ...] = (),
    shown: str = "",
    values: tuple[float | None, ...] = (),
    fault: Fault = "",
    *,
    unnamed: bool = False,
) -> None:
    text = work.scene.reading.text
    sentence = " ".join(work.scene.reading.written[slice(*claim.span)].split())
    work.states[id(claim)] = Traced(
        claim.start,
        claim.end,
        text[claim.start : claim.end],
        sentence[:300],
        state,
        places,
        how,
        reason,
        near,
        claim.in_table,
        shown,
        values,
        fault,
        unnamed,
    )
