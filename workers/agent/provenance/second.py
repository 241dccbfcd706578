"""Compares the figures of a report with those of a second way: the same, another value, or no value.

A second way gives a mapping of names to numbers. A figure is the same if the mapping supports it like an output: by
value with rounding, scale and unit. Otherwise the entry for the same thing is found by its words, or it is the only one
left.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from core.language_detection import detect
from core.second_route import Reason, RouteFigure
from core.steps import CellRan
from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import bounds
from workers.agent.provenance.claims.reading import Claim, read_report
from workers.agent.provenance.derivations.arithmetic import number
from workers.agent.provenance.language.numerals import FILLER
from workers.agent.provenance.language.words import tokens
from workers.agent.provenance.outputs.facts import Fact, Facts
from workers.agent.provenance.outputs.thread import facts_of
from workers.agent.provenance.tracing import Provenance, Traced, trace
from workers.agent.text import one_line

MOST_HEADLINE = 8
MOST_COMPARED = 30
_PARAGRAPHS = 3
"""The answer stands in the first paragraphs of a report; method and caveats are below."""
_SHOWN_BY_CELLS = frozenset({"output", "table", "chart", "statement", "count"})
_ALIKE = 0.5
"""An entry is about a figure only if this part of its name stands around the figure."""
_ALIKE_IN_CHINESE = 0.75
"""There each character is a word, and two names share many."""
_CLOSE = 0.02
_FILLING = frozenset(("of", "in", "the", "for", "a", "an", "by", "per", "and", "to", "from", "der", "die", "und"))
_TINY = 1e-9


class Chosen(NamedTuple):
    """A figure that is to be compared: its place in the report, its text, its value as a cell showed it."""

    start: int
    figure: str
    value: float | None


def chosen_figures(provenance: Provenance, *, all_of_them: bool = False) -> tuple[Chosen, ...]:
    """The figures of a report that a second way should give too: those of its first lines, or all of them.

    Figures that a person or a file gave are not included. Small whole numbers in a sentence are left out: they match by
    chance.
    """
    report = provenance.report
    small = {claim.start for claim in read_report(report).claims if claim.small and not claim.in_table}
    dated = {claim.start for claim in read_report(report).claims if claim.numeral.kind != "number"}
    found: list[Chosen] = []
    paragraph, with_figures = -1, 0
    for figure in sorted(provenance.figures, key=lambda each: each.start):
        if figure.start in small | dated or not _is_computed(figure):
            continue
        at = report.count("\n\n", 0, figure.start)
        if at != paragraph:
            paragraph, with_figures = at, with_figures + 1
        if not all_of_them and (with_figures > 1 or at >= _PARAGRAPHS + _before_text(report)):
            break
        value = figure.values[0] if len(figure.values) == 1 and figure.state == "sourced" else None
        text = one_line(figure.text.replace(FILLER, ""), 60)
        if text not in {each.figure for each in found}:
            found.append(Chosen(figure.start, text, value))
    return tuple(found[: MOST_COMPARED if all_of_them else MOST_HEADLINE])


def _before_text(report: str) -> int:
    """How many headings stand above the first words."""
    count = 0
    for part in report.split("\n\n"):
        if part.strip() and not part.lstrip().startswith("#"):
            break
        count += 1
    return count


def _is_computed(figure: Traced) -> bool:
    if figure.state == "unsourced":
        return True
    return figure.state in ("sourced", "derived") and any(place.what in _SHOWN_BY_CELLS for place in figure.places)


def compare_figures(
    report: str, chosen: Sequence[Chosen], computed: str, written: Collection[float] = ()
) -> tuple[RouteFigure, ...]:
    """Each chosen figure of a report beside what was `computed`: a mapping in JSON, name → number.

    A value in `written` stands in the code itself. It was not computed, so it does not count.
    """
    shown = CellRan(call_id="", cell_id="second", title="", code="", status="ok", result=computed)
    facts = _without(facts_of(((shown,),), own=True), written)
    scene = Scene(read_report(report), facts)
    claims = {claim.start: claim for claim in scene.reading.claims}
    traced = {figure.start: figure for figure in trace(report, facts).figures}
    backed = [one for one in chosen if one.start in traced and traced[one.start].state in ("sourced", "derived")]
    scaled = {one.start for one in backed if _is_other_power(one, traced[one.start], claims[one.start])}
    same = {
        one.start
        for one in backed
        if one.start not in scaled and not (scaled and traced[one.start].state == "derived")  # it may rest on these
    }
    own = {start: _named(traced[start], claims[start], facts, scene) for start in same}
    wrong = {start for start, fact in own.items() if fact is not None and fact.value not in traced[start].values}
    same -= wrong
    used = {traced[start].values[0] for start in same if traced[start].state == "sourced" and traced[start].values}
    left = [fact for fact in facts.facts if fact.value not in used]
    waiting = [one for one in chosen if one.start not in same | wrong]
    others = dict(_counterparts([(one, claims[one.start]) for one in waiting if one.start in claims], left, scene))
    others |= {start: fact for start in wrong if (fact := own[start]) is not None}
    return tuple(
        RouteFigure(figure=one.figure, state="same")
        if one.start in same
        else _other(one, claims[one.start], others[one.start], report)
        if one.start in others
        else RouteFigure(figure=one.figure, state="absent")
        for one in chosen
    )


def _named(figure: Traced, claim: Claim, facts: Facts, scene: Scene) -> Fact | None:
    """The entry that is surely about a figure, by the words of its clause; None when they do not tell.

    The value of another entry may be the same by chance, or because the report has the value of another row.
    """
    if figure.state != "sourced":
        return None
    near, kind = _near(claim, scene), [fact for fact in facts.facts if _is_of_a_kind(claim, fact)]
    often = Counter(word for fact in kind for word in fact.words)
    scored = [(_alike(fact, near, often), fact) for fact in kind]
    best, fact = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    backing = max((score for score, other in scored if other.value in figure.values), default=0.0)
    return fact if best >= _ALIKE and backing < best / 2 else None


def _near(claim: Claim, scene: Scene) -> frozenset[str]:
    """The words directly around a figure: of its clause, or of its row and heading."""
    if claim.in_table:
        return scene.words_of(claim)
    return frozenset(word for _, _, word in tokens(scene.reading.text[claim.clause[0] : claim.clause[1]]))


def _is_other_power(one: Chosen, figure: Traced, claim: Claim) -> bool:
    """Whether a figure was read in two ways: "2,000" may be 2. What a cell of the report showed says which it is."""
    now = figure.values[0] if figure.state == "sourced" and figure.values else None
    if not one.value or not now or claim.numeral.scale != 1.0:
        return False
    return abs(math.log10(abs(one.value / now))) > 2.5


def _without(facts: Facts, written: Collection[float]) -> Facts:
    """The facts without those whose value stands in the code, and without what is no number of the mapping.

    Their names are whole phrases: one that the report mentions does not exclude the others, as a label of rows would.
    """
    for family in facts.families:
        family.binds = False
    gone = {abs(value) for value in written if abs(value) > 1}
    facts.facts = [fact for fact in facts.facts if not fact.given and abs(fact.value) not in gone]
    return facts


def _counterparts(waiting: Sequence[tuple[Chosen, Claim]], left: Sequence[Fact], scene: Scene) -> Mapping[int, Fact]:
    """The entry that each figure would have to be, by its words; each entry once, the surest pairs first."""
    pairs: list[tuple[float, float, float, int, Fact]] = []
    for one, claim in waiting:
        around = scene.words_of(claim)
        near = _near(claim, scene)
        kind = [fact for fact in left if _is_of_a_kind(claim, fact)]
        often = Counter(word for fact in kind for word in fact.words)
        for fact in kind:
            alike = _alike(fact, around, often)
            if alike >= (_ALIKE_IN_CHINESE if _is_chinese(fact.place.about) else _ALIKE):
                far = abs(math.log((abs(fact.scaled) + _TINY) / (_size(claim, scene) + _TINY)))
                pairs.append((-_alike(fact, near, often), -alike, far, one.start, fact))
    found: dict[int, Fact] = {}
    for *_, start, fact in sorted(pairs, key=lambda pair: pair[:4]):
        if start not in found and all(fact is not other for other in found.values()):
            found[start] = fact
    rest = [(one, claim) for one, claim in waiting if one.start not in found]
    free = [fact for fact in left if all(fact is not other for other in found.values())]
    other_language = bool(free) and _is_chinese(free[0].place.about) != _is_chinese(scene.reading.text)
    if other_language and len(rest) == len(free) == 1 and _is_of_a_kind(rest[0][1], free[0]):
        found[rest[0][0].start] = free[0]  # words of two languages cannot tell
    return found


def _alike(fact: Fact, words: frozenset[str], often: Mapping[str, int]) -> float:
    """How much of an entry's name stands among these words. A word that many names have says less."""
    weights = {word: 1 / max(often.get(word, 1), 1) for word in fact.words if word not in _FILLING}
    whole = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in words) / whole if whole else 0.0


def _is_chinese(text: str) -> bool:
    return detect(text) == "zh"


def _is_share(claim: Claim) -> bool:
    """Whether a bare figure lies between 0 and 1, as a p-value does. No count is the same quantity."""
    return any(0 < value < 1 for value, _ in claim.numeral.readings)


def _is_of_a_kind(claim: Claim, fact: Fact) -> bool:
    """Whether both may be the same quantity: a percentage is no amount, euros are no dollars, a p-value is no count."""
    unit, own = claim.numeral.unit, fact.unit
    if not unit and claim.numeral.scale == 1.0 and not own and _is_share(claim) != (0 < abs(fact.value) < 1):
        return False
    percent = unit in ("%", "pp")
    if percent or own in ("%", "pp") or fact.percent:
        return percent and (own in ("%", "pp") or fact.percent or abs(fact.value) <= 1)
    return not unit or not own or unit == own


def _size(claim: Claim, scene: Scene) -> float:
    return abs(bounds(claim, scene.reading.text)[0].value)


def _other(one: Chosen, claim: Claim, fact: Fact, report: str) -> RouteFigure:
    first, second = _both(one, claim, fact, report)
    why, factor = likely_reason(first, second)
    sign = "%" if claim.numeral.unit in ("%", "pp") else ""
    return RouteFigure(
        figure=one.figure,
        state="other",
        name=one_line(fact.place.about, 80),
        value=f"{number(second)}{sign}",
        why=why,
        factor=factor,
    )


def _both(one: Chosen, claim: Claim, fact: Fact, report: str) -> tuple[float, float]:
    """The two values, in the same unit and with their signs."""
    size = bounds(claim, report)[0].value
    first = -size if claim.numeral.sign < 0 else size
    if one.value is not None and math.isclose(abs(one.value), size, rel_tol=0.05):
        first = one.value
    second = fact.scaled
    if claim.numeral.unit in ("%", "pp") and fact.unit != "%" and abs(second) <= 1 < abs(first):
        second *= 100
    return first, second


def likely_reason(first: float, second: float) -> tuple[Reason, str]:
    """Why two values that should be equal differ, as far as the values show it, with the power of ten between them."""
    if first and math.isclose(first, -second, rel_tol=1e-6):
        return "sign", ""
    if first and second:
        ratio = abs(first / second)
        power = round(math.log10(ratio))
        if power and math.isclose(ratio, 10.0**power, rel_tol=0.005):
            return "scale", f"{10 ** abs(power):,}"
        if any(math.isclose(ratio, twice, rel_tol=0.001) for twice in (2.0, 0.5)):
            return "double", ""
        if first * second > 0 and abs(ratio - 1) <= _CLOSE:
            return "close", ""
    return "reading", ""
