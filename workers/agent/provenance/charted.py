"""Chart and text that disagree: a cell backs a figure, and a chart of the same turn shows another value for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workers.agent.provenance.binding import Scene
from workers.agent.provenance.claims import Claim
from workers.agent.provenance.facts import Fact, Facts
from workers.agent.provenance.matching import bounds

_SCALES = (1.0, 1e-3, 1e3, 1e-6, 1e6, 1e-2, 1e2)
"""A chart may be drawn in thousands, in millions or in percent and say so nowhere that can be read."""


def chart_facts(facts: Facts) -> list[Fact]:
    """The points of the charts of this turn."""
    return [fact for fact in facts.facts if fact.place.what == "chart" and fact.turn == 0 and fact.keys]


def against(claim: Claim, backing: Fact, charted: Sequence[Fact], scene: Scene) -> Fact | None:
    """The point of a chart that shows another value for what the claim is about; None when no chart does.

    A chart speaks only where the claim names one of its points, and where what the chart measures is named too: beside
    the value that backs the claim, or in the claim's own sentence. A chart that agrees ends the doubt.
    """
    if not charted or backing.place.what == "chart" or backing.given or claim.numeral.kind != "number":
        return None
    other: Fact | None = None
    for fact in _about(claim, backing, charted, scene):
        if _is_same(claim, backing, fact, scene):
            return None
        other = other or fact
    return other


def _about(claim: Claim, backing: Fact, charted: Sequence[Fact], scene: Scene) -> Iterator[Fact]:
    around = backing.words | scene.words_of(claim)
    for fact in charted:
        if backing.unit and fact.unit and backing.unit != fact.unit:
            continue
        named = [scene.allowed(claim, family) == frozenset({label}) for family, label in fact.keys]
        if not named or not all(named) or fact.grid is None:
            continue
        if any(name and set(name) <= around for name in fact.grid.names) and _is_alone(fact):
            yield fact


def _is_alone(fact: Fact) -> bool:
    """Whether the chart has one point for this label: with several the label does not say which is meant."""
    return fact.grid is not None and sum(one.keys == fact.keys for one in fact.grid.facts) == 1


def _is_same(claim: Claim, backing: Fact, fact: Fact, scene: Scene) -> bool:
    sizes = [abs(fact.scaled) * scale for scale in _SCALES]
    if any(abs(abs(backing.scaled) - size) <= max(backing.slack, 1e-6 * size) for size in sizes):
        return True
    said = bounds(claim, scene.reading.text)
    return any(abs(size - one.value) <= one.slack * 1.001 + 1e-9 * size for one in said for size in sizes)
