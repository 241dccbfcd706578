"""What a claim is about: the labels of the outputs that its row, clause or sentence names, and whether a fact fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workers.agent.provenance.claims.mentions import Mentions, chosen
from workers.agent.provenance.claims.naming import Mention
from workers.agent.provenance.claims.own_labels import OwnLabels
from workers.agent.provenance.claims.reading import Claim, Reading
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import (
    BASE_CUE,
    CHANGE,
    OTHER_ROWS,
    RATIO,
    TOTAL,
    Key,
    half_said,
    key_of,
    says,
)
from workers.agent.provenance.outputs.facts import Fact, Facts, Family, Label, is_total_of

_OF_A_WHOLE = (TOTAL, RATIO, CHANGE, BASE_CUE, OTHER_ROWS)
"""Words beside which a figure may be of the total, although a row is named: "North is above the 40.7 % of all"."""


class Scene(Mentions):
    """What a report mentions, and which facts its figures may be."""

    def __init__(self, reading: Reading, facts: Facts) -> None:
        super().__init__(reading, facts)
        self._own = OwnLabels(self)
        self.directions: dict[int, int] = {}
        """By the id of a claim: the direction that the words around it give."""

    def allowed(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The labels of this family that the claim may be about; None when nothing says."""
        return self._own.of(claim, family)

    def is_the_other(self, claim: Claim, family: Family) -> bool:
        """Whether a figure is of the one of two labels that is not named."""
        return self._own.is_the_other(claim, family)

    def names_beside_unit(self, claim: Claim, fact: Fact, family: Family, label: Label) -> bool:
        """Whether a claim names a fact's row once its own unit, that of the fact, is not taken for the row "EUR"."""
        if not fact.unit or fact.unit != claim.numeral.unit:
            return False
        return label in (self._own.beside_unit(claim, family) or ())

    def before_bracket(self, claim: Claim) -> Claim | None:
        """The last figure before the bracket that a figure stands in."""
        return self._own.before_bracket(claim)

    def conflict(self, claim: Claim, fact: Fact) -> Label | None:
        """The label of the fact that contradicts the claim, because the claim names another label of its family. None
        if no label does."""
        for family, label in fact.keys:
            if not family.binds:
                continue
            if is_total_of(label, family):
                if self._is_of_one_row(claim, family):
                    return label
            elif self._tells_apart(claim, family, label) and not self._is_excused(claim, fact, family, label):
                return label
        return None

    def _tells_apart(self, claim: Claim, family: Family, label: Label) -> bool:
        """Whether the labels of a family can contradict a claim. Those of columns and titles do where it names one."""
        if family.columns and not (isinstance(label, Day) or self._names_column(claim, family)):
            return False
        if family.titles and not claim.in_table:
            named = chosen(family, self.within(*claim.clause))
            return named is not None and label not in named
        return True

    def _is_excused(self, claim: Claim, fact: Fact, family: Family, label: Label) -> bool:
        """Whether a claim may be of the fact with this label, although it does not name it."""
        allowed = self.allowed(claim, family)
        if allowed is None or is_among(label, allowed, family) or self.is_the_other(claim, family):
            return True
        if self.names_beside_unit(claim, fact, family, label):
            return True
        if family.columns and (self._is_far(claim, family, label) or self._are_others(claim, fact, allowed)):
            return True
        if family.lines and any(not isinstance(one, Day) and fact.words.issuperset(one) for one in allowed):
            return True  # "evaluated: 5808 | without region: 43" beside a line "Region: …"
        if not isinstance(label, Day):
            # "2023, 2024, diff": the difference is of both years
            return _is_mostly_in(label, self.words_of(claim)) or all(isinstance(one, Day) for one in allowed)
        # "highest in May, lowest in Aug": a row of two months is of both
        return any(other is not family and not other.columns and one in allowed for other, one in fact.keys)

    def _is_far(self, claim: Claim, family: Family, label: Label) -> bool:
        """Whether a claim of prose names only measures beside a column of a date, and all in another clause: "between
        34 and 52 orders a month: a few of them move the change"."""
        if claim.in_table or not isinstance(label, Day):
            return False
        named = self.allowed(claim, family) or ()
        return not any(isinstance(one, Day) for one in named) and not chosen(family, self.within(*claim.clause))

    def _are_others(self, claim: Claim, fact: Fact, named: frozenset[Label]) -> bool:
        """Whether each named measure stands right behind another figure, and this one has the unit of its own column:
        "14,846 kg on 35 pallets"."""
        if claim.in_table or not fact.unit or fact.unit != claim.numeral.unit:
            return False
        ends = {other.end for other in self.figures(claim) if other is not claim}
        behind = {m.label for m in self.within(*claim.span) if not ends.isdisjoint((m.start, m.start - 1))}
        return named <= behind

    def _is_of_one_row(self, claim: Claim, family: Family) -> bool:
        """Whether a figure can be of no total: its row in a table is one of those that the total is of, or its clause
        names one of them before the only figure, and says nothing of a whole or of a comparison."""
        if family.columns and not self._names_column(claim, family):
            return False
        if claim.in_table:
            named = chosen(family, self.of_text(claim.row))
            around = claim.column
        else:
            named = chosen(family, self.within(claim.clause[0], claim.start))
            around = self.reading.text[slice(*claim.span)]
            if self.in_clause(claim) != 1 or (named and len(named) > 1):
                return False
        if not named or any(isinstance(one, Day) or is_total_of(one, family) for one in named):
            return False
        return not any(says(words, around) for words in _OF_A_WHOLE)

    def _names_column(self, claim: Claim, family: Family) -> bool:
        """Whether a claim itself names one of the things that the columns of a table are of: "36.1 % in Galicia".

        A row of the report that has the name of a column does so, too: the output is turned by a quarter.
        """
        if claim.in_table and key_of(claim.row) in family.labels:
            return not chosen(family, self.of_text(claim.column))
        return family.entities and (
            claim.in_table or any(chosen(family, [mention]) for mention in self.within(*claim.clause))
        )

    def leaves_unnamed(self, claim: Claim, fact: Fact) -> bool:
        """Whether a fact is of one row among several, and the claim's sentence has not even half of the row's words.

        Rows of totals and small numbers do not count. Nor does a row of the report that has the name of the fact's
        column: the output is turned by a quarter, with a row for each measure.
        """
        rows = [(family, label) for family, label in fact.keys if family.binds and not family.columns]
        if not rows or claim.small or any(is_total_of(label, family) for family, label in rows):
            return False
        if any(label in (self.allowed(claim, family) or ()) for family, label in rows):
            return False
        named = {mention.label for mention in self.of_text(claim.row)} if claim.in_table else set()
        if any(family.columns and label in named for family, label in fact.keys):
            return False
        words = self.words_of(claim)
        return not any(half_said(label, words) for _, label in rows if not isinstance(label, Day))

    def names_row(self, claim: Claim, fact: Fact) -> bool:
        """Whether the claim names a row of the fact, and not only its column."""
        return any(not family.columns and label in (self.allowed(claim, family) or ()) for family, label in fact.keys)

    def agrees(self, claim: Claim, fact: Fact) -> int:
        """In how many families the claim names the fact's own label."""
        count = 0
        for family, label in fact.keys:
            allowed = self.allowed(claim, family)
            count += allowed is not None and label in allowed
        return count

    def families_named(self, claim: Claim) -> list[tuple[Family, frozenset[Label]]]:
        """The families that have labels in the claim's sentence or row, with these labels."""
        found = []
        spot = self._around(claim)
        near = {id(f): f for m in spot for f in self.families_of(m.label)}
        for family in near.values():
            if labels := chosen(family, spot):
                found.append((family, labels))
        return found

    def _around(self, claim: Claim) -> Sequence[Mention]:
        if claim.in_table:
            return [*self.of_text(claim.row), *self.of_text(claim.column)]
        return self.within(*claim.span)

    def tells(self, claim: Claim, fact: Fact) -> bool:
        """Whether another figure of the claim's sentence gives the value of this fact, exactly as it is shown."""
        return any(
            other is not claim
            and any(abs(fact.scaled) == value * other.numeral.scale for value, _ in other.numeral.readings)
            for other in self.figures(claim)
        )


def is_among(label: Label, allowed: Iterable[Label], family: Family) -> bool:
    """Whether a fact's label is one that a claim names. The words that a line begins with may go on behind a name."""
    return label in allowed or (family.lines and any(_goes_on(label, one) for one in allowed))


def _goes_on(label: Label, other: Label) -> bool:
    """Whether one of two labels is the other one with more words behind it."""
    if isinstance(label, Day) or isinstance(other, Day):
        return False
    return label[: len(other)] == other or other[: len(label)] == label


def _is_mostly_in(label: Key, words: frozenset[str]) -> bool:
    """Whether two of three words of a longer label are among these: those of "resolved without csat" in "CSAT is given
    for 2,321; 621 resolved tickets have none"."""
    return len(label) > 2 and sum(word in words for word in label) * 3 >= len(label) * 2
