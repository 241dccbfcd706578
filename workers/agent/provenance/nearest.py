"""The values that a model is shown beside an unsourced figure: the same value elsewhere, and what it may have meant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import Candidate, bounds
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.outputs.facts import Fact, Facts

MOST_NEAR = 3
_NEAR = 0.5
"""A value of the named row is shown if it is no farther off than this share, or of the measure named."""


def nearest(claim: Claim, found: Sequence[Candidate], scene: Scene, facts: Facts) -> tuple[str, ...]:
    """What the model may have meant: the same value elsewhere, then what the outputs show for this row."""
    same = sorted((each.fact for each in found), key=_is_raw)[:MOST_NEAR]
    value = bounds(claim, scene.reading.text)[0].value
    named = ((id(family), label) for family, labels in scene.families_named(claim) for label in labels)
    own = list(islice((fact for fact in facts.labelled(named) if fact.turn == 0), 200))
    words = scene.words_of(claim)
    percent = claim.numeral.unit in ("%", "pp")
    close = [fact for fact in own if scene.conflict(claim, fact) is None]
    close = [fact for fact in close if _distance(fact, value, percent=percent) <= _NEAR or _measure(fact) & words]
    close = sorted(close, key=lambda fact: _distance(fact, value, percent=percent))[:MOST_NEAR]
    if not same and not close:
        spread = [f for f in facts.near(value * 0.9, value * 1.1, percent=claim.numeral.unit == "%") if f.turn == 0]
        close = sorted(spread, key=lambda fact: (_is_raw(fact), _distance(fact, value, percent=percent)))[:MOST_NEAR]
    return tuple(dict.fromkeys(shown(fact) for fact in [*same, *close]))[:MOST_NEAR]


def _is_raw(fact: Fact) -> bool:
    """Whether no cell showed the fact: a file, a question or code holds it, and a result of a cell is rather meant."""
    return not fact.place.cell or fact.place.what == "code"


def _measure(fact: Fact) -> frozenset[str]:
    """The words of a fact's column, without those that name its row."""
    rows = {word for family, label in fact.keys if not family.columns and not isinstance(label, Day) for word in label}
    return fact.words - rows


def _distance(fact: Fact, value: float, *, percent: bool) -> float:
    sizes = (abs(fact.scaled), abs(fact.value) * 100) if percent else (abs(fact.scaled),)
    return min(abs(size - value) / (abs(value) + 1e-12) for size in sizes)


def shown(fact: Fact) -> str:
    """A fact in one line, with its place, as a model reads it."""
    where = f"cell {fact.place.cell}" if fact.place.cell else fact.place.what
    line = f", line {fact.place.line}" if fact.place.line else ""
    about = fact.place.about or "–"
    unit = fact.unit if fact.unit in ("", "%") else f" {fact.unit}"
    scale = f" × {fact.scale:,.0f}" if fact.scale > 1 else ""
    return f"{fact.value:.10g}{scale}{unit} ({where}{line}: {about})"
