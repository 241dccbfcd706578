"""The operands that a step may use: the figures and facts that a claim's own row or sentence names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import Bounds, bounds
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import (
    BACK,
    DOWN,
    TOTAL,
    UP,
    says,
    tokens,
)
from workers.agent.provenance.outputs.facts import Fact, Facts, Grid

_MOST = 14
_MOST_ROWS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A figure that a step may use: its value, its precision, and where the sentence names it (-1: nowhere)."""

    value: float
    slack: float
    place: int
    end: int
    fact: Fact | None
    percent: bool
    said: bool
    column: str = ""


class Workbench:
    """What a claim's step may use."""

    def __init__(
        self, claim: Claim, others: Sequence[tuple[Claim, float, float, Fact | None]], scene: Scene, facts: Facts
    ) -> None:
        self.claim, self.scene, self.facts = claim, scene, facts
        text = scene.reading.text
        self.sentence = f"{claim.row} {claim.column}" if claim.in_table else text[slice(*claim.span)]
        self.text = text
        self.words = words_said(self.sentence)
        self.said = [
            Operand(value, slack, other.start, other.end, fact, other.numeral.unit in ("%", "pp"), True, other.column)
            for other, value, slack, fact in others
            if not claim.in_table or other.at[0] == claim.at[0]
        ][:_MOST]
        self.below = [
            (other, value, slack, fact)
            for other, value, slack, fact in others
            if claim.in_table and other.at[1] == claim.at[1]
        ]
        self.named = scene.families_named(claim)
        self.wanted = {id(family): labels for family, labels in self.named}
        self.grids = self._grids(facts)
        self.bound = [o for grid in self.grids for o in self._bound(grid)][: _MOST * 2]
        self.bound += [o for one in self.said for o in self._other_periods(one)][:_MOST]
        self.operands = self.said + self.bound
        self.record = [o for one in self.said for o in self._record(one)][:_MOST]

    @cached_property
    def limits(self) -> list[Bounds]:
        """The sizes that the claim's figure may stand for."""
        return bounds(self.claim, self.text)

    def _grids(self, facts: Facts) -> list[Grid]:
        """The tables that the claim's sentence touches: by a figure or by a label."""
        back = BACK.search(self.text, *self.claim.span) or not any(
            fact.turn == 0 for fact in facts.facts if not fact.given
        )
        grids = [grid for grid in facts.grids if grid.facts and (back or grid.facts[0].turn == 0)]
        touched = {id(o.fact.grid): o.fact.grid for o in self.said if o.fact is not None and o.fact.grid is not None}
        named = {id(family) for family, _ in self.named if not family.columns}
        for grid in grids:
            if named and any(id(family) in named for family, _ in grid.facts[0].keys):
                touched[id(grid)] = grid
        if says(TOTAL, self.sentence):
            for grid in [grid for grid in grids if grid.rows <= _MOST_ROWS][-12:]:
                touched.setdefault(id(grid), grid)
        return [grid for grid in touched.values() if grid is not None]

    def _bound(self, grid: Grid) -> Iterator[Operand]:
        """The facts of a table whose labels the claim's sentence names."""
        wanted, moves = self.wanted, says(UP, self.sentence) or says(DOWN, self.sentence)
        for fact in grid.named(wanted) if len(grid.facts) <= 2_000 else ():
            keys = [(family, label) for family, label in fact.keys if id(family) in wanted]
            if not moves and any(isinstance(label, Day) and label not in wanted[id(family)] for family, label in keys):
                continue
            rows = [label for family, label in keys if not family.columns]
            place = max((self.scene.place_of(self.claim, label) for label in rows), default=-1)
            yield Operand(fact.scaled, fact.slack, place, place, fact, fact.percent, False)

    def _other_periods(self, said: Operand) -> Iterator[Operand]:
        """A figure of the sentence at another date: the same row, in the column of another date that the sentence
        names."""
        fact = said.fact
        if fact is None or fact.grid is None or self.claim.in_table:
            return
        wanted = {id(family): labels for family, labels in self.named if family.columns}
        for one in fact.grid.row(fact.row) if len(fact.grid.facts) <= 2_000 else ():
            days = [
                label for family, label in one.keys if label in wanted.get(id(family), ()) and isinstance(label, Day)
            ]
            if one is not fact and days:
                place = self.scene.place_of(self.claim, days[0])
                yield Operand(one.scaled, one.slack, place, place, one, one.percent, False)

    def _record(self, said: Operand) -> Iterator[Operand]:
        """The other figures of the record, or of the printed line, in which a figure of the sentence stands."""
        fact = said.fact
        if fact is None:
            return
        if fact.grid is not None and fact.grid.record:
            near = [one for one in fact.grid.facts if one is not fact]
        elif fact.place.what == "output" and not fact.keys:
            place = fact.place
            near = [
                one
                for one in self.facts.facts
                if one is not fact and not one.keys and one.place[:4] == place[:4] and one.turn == fact.turn
            ]
        else:
            near = []
        for one in near[:_MOST]:
            percent = one.unit in ("%", "pp") or (one.percent and abs(one.value) <= 1)
            yield Operand(one.scaled, one.slack, -1, -1, one, percent, False)

    def columns(self) -> Iterator[tuple[Grid, int, list[Fact]]]:
        """The columns of the touched tables, with their facts."""
        for grid in self.grids:
            if not grid.whole or grid.rows > 5_000:
                continue
            for at, column in grid.columns.items():
                if len(column) > 1:
                    yield grid, at, column


def is_named(fact: Fact, bench: Workbench) -> bool:
    """Whether the claim's sentence names each of the labels of a fact's row."""
    wanted = bench.wanted
    rows = [(family, label) for family, label in fact.keys if not family.columns and id(family) in wanted]
    return bool(rows) and all(label in wanted[id(family)] for family, label in rows)


@lru_cache(maxsize=64)
def words_said(text: str) -> frozenset[str]:
    """The words of a sentence, folded, and pairs of them joined, as columns are named: "sign-up" is "signup"."""
    found = [word for _, _, word in tokens(text)]
    return frozenset((*found, *(a + b for a, b in pairwise(found) if a.isascii() and b.isascii())))
