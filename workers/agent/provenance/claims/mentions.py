"""What a report mentions, and where: labels of the outputs, and dates; beside which figures."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from workers.agent.provenance.claims.naming import LONGEST, Mention, Names, place_of
from workers.agent.provenance.claims.reading import Claim, Reading
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import Key, key_of, words_in
from workers.agent.provenance.outputs.facts import Facts, Family, Label


class Mentions:
    """The names and dates of a report, and its figures by sentence and clause."""

    def __init__(self, reading: Reading, facts: Facts) -> None:
        self.reading = reading
        self.families = facts.families
        self._names = Names(facts.families)
        self._of: dict[Label, list[Family]] = defaultdict(list)
        for family in facts.families:
            for label in family.labels:
                self._of[label].append(family)
        found = [*self._names.find(reading.text, prose=True), *self._names.whole(reading.names)]
        self.mentions = sorted(found, key=place_of)
        self._starts = [mention.start for mention in self.mentions]
        self.bare = _without(reading.text, self.mentions)
        self._claims: dict[tuple[int, int], int] = defaultdict(int)
        self._figures: dict[tuple[int, int], list[Claim]] = defaultdict(list)
        for claim in reading.claims:
            if claim.numeral.kind == "number":
                self._claims[claim.clause] += 1
                self._figures[claim.span].append(claim)
        self._texts: dict[str, list[Mention]] = {}

    def figures(self, claim: Claim) -> Sequence[Claim]:
        """The numbers of a claim's sentence."""
        return self._figures[claim.span]

    def in_clause(self, claim: Claim) -> int:
        """How many numbers a claim's clause has."""
        return self._claims[claim.clause]

    def within(self, start: int, end: int) -> list[Mention]:
        """The mentions between two places."""
        return self.mentions[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def of_text(self, text: str) -> list[Mention]:
        """The mentions of a short text, such as a row's words or a column's heading."""
        if text not in self._texts:
            self._texts[text] = self._names.find(text, prose=False) if text else []
        return self._texts[text]

    def figures_between(self, claim: Claim, mention: Mention) -> bool:
        """Whether another figure stands between a claim and a name of its sentence."""
        start, end = min(mention.end, claim.end), max(mention.start, claim.start)
        return any(start <= other.start < end for other in self.figures(claim) if other is not claim)

    def words_of(self, claim: Claim) -> frozenset[str]:
        """The words around a claim: of its row and heading, or of its sentence."""
        if claim.in_table:
            return frozenset(key_of(f"{claim.row} {claim.column}"))
        return words_in(self.reading.text[slice(*claim.span)])

    def families_of(self, label: Label) -> Iterable[Family]:
        """The families that have a label; for a date, those that have any."""
        if not isinstance(label, Day):
            return self._of.get(label, ())
        return (family for family in self.families if any(isinstance(one, Day) for one in family.labels))

    def is_of_rows(self, mention: Mention) -> bool:
        """Whether a mention may name a row of some table, not only a column."""
        return any(not family.columns for family in self.families_of(mention.label))

    def name_around(self, claim: Claim) -> Label | None:
        """The name that a figure is a part of: 30 in the column "1-30", 65 in "65+". None where it is in none."""
        last = bisect_left(self._starts, claim.start + 1)
        around = self.mentions[max(0, last - LONGEST) : last]
        found = (m for m in around if m.end >= claim.numeral.digits_end and not isinstance(m.label, Day))
        text = self.reading.text
        return next((m.label for m in found if len(m.label) > 1 or text[m.end : m.end + 1] in ("+", "＋")), None)

    def place_of(self, claim: Claim, label: Label) -> int:
        """Where the claim's sentence names this label, -1 for nowhere."""
        for mention in self.within(*claim.span):
            if mention.label == label or (
                isinstance(label, Day) and isinstance(mention.label, Day) and mention.label.fits(label)
            ):
                return mention.start
        return -1


def chosen(family: Family, mentions: Sequence[Mention]) -> frozenset[Label] | None:
    """The labels of a family that these mentions name; None for none."""
    found: set[Label] = set()
    for mention in mentions:
        if isinstance(mention.label, Day):
            day = mention.label
            found.update(one for one in family.labels if isinstance(one, Day) and (day.fits(one) or _covers(one, day)))
        elif mention.label in family.labels:
            found.add(mention.label)
        else:
            found.update(part for part in _shorter(mention.label) if part in family.labels)
            if family.lines:
                found.update(label for label in family.labels if _is_term_of(label, mention.label))
    return frozenset(found) if found else None


def _is_term_of(label: Label, name: Key) -> bool:
    """Whether a label is "C(level)", as formulas of models write the column "level"."""
    return not isinstance(label, Day) and label[:1] == ("c",) and label[1:] == name


def _shorter(label: Key) -> Iterator[Key]:
    """What another table may call a thing: "Fink" for "Customer Fink"."""
    for cut in range(1, len(label)):
        yield label[cut:]
        yield label[:-cut]


def _covers(label: Day, day: Day) -> bool:
    """Whether a label is a part of what a mention says: the year 2023 of "Q4 2023"."""
    return label.fits(day) and any(part is not None for part in label)


def _without(text: str, mentions: Sequence[Mention]) -> str:
    """The text without the names in it: a plan called "Plus" says nothing of a rise."""
    chars = list(text)
    for mention in mentions:
        chars[mention.start : mention.end] = " " * (mention.end - mention.start)
    return "".join(chars)
