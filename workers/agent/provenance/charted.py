"""Chart and text that disagree: a cell backs a figure, and a chart of the same turn shows another value for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import bounds
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.outputs.facts import Fact, Facts, Label

_SCALES = (1.0, 1e-3, 1e3, 1e-6, 1e6, 1e-2, 1e2)
"""A chart may be drawn in thousands, in millions or in percent, although nothing that can be read says so."""


def chart_facts(facts: Facts) -> list[Fact]:
    """The points of the charts of this turn."""
    return [fact for fact in facts.facts if fact.place.what == "chart" and fact.turn == 0 and fact.keys]


def against(claim: Claim, backing: Fact, charted: Sequence[Fact], scene: Scene) -> Fact | None:
    """The point of a chart that shows another value for what the claim is about; None when no chart does.

    A chart is compared only under three conditions. The claim names one of its points. The value that backs the claim
    stands in a table, in the row of that name. The value's column has the name of what the chart measures; if the
    output names no column, the claim's sentence must have that name. So a share, a change, or a sum over months never
    contradicts a point. If one chart agrees, there is no doubt.
    """
    if not charted or backing.place.what == "chart" or backing.given or claim.numeral.kind != "number":
        return None
    if backing.grid is None or backing.grid.record:
        return None
    other: Fact | None = None
    for fact in _about(claim, backing, charted, scene):
        if _is_same(claim, backing, fact, scene):
            return None
        other = other or fact
    return other


def _about(claim: Claim, backing: Fact, charted: Sequence[Fact], scene: Scene) -> Iterator[Fact]:
    measures = {label for family, label in backing.keys if family.columns}
    labels = {label for family, label in backing.keys if not family.columns}
    said = scene.words_of(claim)
    for fact in charted:
        names = {name for name in fact.grid.names if name} if fact.grid is not None else set()
        names -= {label for _, label in fact.keys if not isinstance(label, Day)}  # a series is no measure
        if not (measures & names if measures else any(said >= set(name) for name in names)):
            continue
        if not any(label in labels for _, label in fact.keys) or (backing.unit and fact.unit not in ("", backing.unit)):
            continue
        if not all(label in measures | labels or _names(claim, label, scene) for _, label in fact.keys):
            continue
        if _leaves_out(fact, claim, backing, scene):
            continue
        if all(scene.allowed(claim, family) == frozenset({label}) for family, label in fact.keys) and _is_alone(fact):
            yield fact


def _leaves_out(fact: Fact, claim: Claim, backing: Fact, scene: Scene) -> bool:
    """Whether a chart says nothing of the things that a claim or its row names: the month of one shop beside a line
    that is the sum of all shops."""
    mentions = scene.of_text(claim.row) if claim.in_table else scene.within(*claim.clause)
    named = [mention.label for mention in mentions if scene.is_of_rows(mention)]
    named += [label for family, label in backing.keys if family.binds and not family.columns]
    things = {label for label in named if not isinstance(label, Day)}
    words = fact.words | (fact.grid.title if fact.grid is not None else frozenset())
    own = {label for _, label in fact.keys}
    return bool(things) and own.isdisjoint(things) and not any(words.issuperset(label) for label in things)


def _names(claim: Claim, label: Label, scene: Scene) -> bool:
    """Whether the claim itself is of a label that the backing row does not have: of one of several series. In "spend
    +9.9 %, but conversions -15.2 %" the second figure is not of the series "spend"."""
    return claim.in_table or any(
        mention.label == label and not scene.figures_between(claim, mention) for mention in scene.within(*claim.clause)
    )


def _is_alone(fact: Fact) -> bool:
    """Whether the chart has one point for this label: with several the label does not say which is meant."""
    return fact.grid is not None and sum(one.keys == fact.keys for one in fact.grid.facts) == 1


def _is_same(claim: Claim, backing: Fact, fact: Fact, scene: Scene) -> bool:
    sizes = [abs(fact.scaled) * scale for scale in _SCALES]
    if any(abs(abs(backing.scaled) - size) <= max(backing.slack, 1e-6 * size) for size in sizes):
        return True
    said = bounds(claim, scene.reading.text)
    return any(abs(size - one.value) <= one.slack * 1.001 + 1e-9 * size for one in said for size in sizes)
