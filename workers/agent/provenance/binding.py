"""What a claim is about: the labels of the outputs that its row, clause or sentence names, and whether a fact fits."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from workers.agent.provenance.claims import Claim, Reading
from workers.agent.provenance.facts import Fact, Facts, Family, Label, is_total_label, is_total_of
from workers.agent.provenance.naming import LONGEST, Mention, Names, place_of
from workers.agent.provenance.numerals import Day
from workers.agent.provenance.words import Key, key_of, words_in

_ANOTHER = re.compile(
    r"\b(?:next|second|(?:any|all|every|each|the) others?|nächst\w*|zweit\w*|"
    r"(?:alle|die|jede[rsmn]?) (?:ander|übrig)\w*|(?:les|tous les|toutes les) autres|(?:los|las) demás)\b|"
    r"第二|其次|仅次|其他|其余",
    re.IGNORECASE,
)
"""Words that give a figure to something else than the clause before names: "North has 400, while the next largest is
46"."""
_REMARK = re.compile(r" ?[(（][^()（）\n]*[)）]")
_OWN_REMARK = re.compile(r"[*_\s\u2060]*[(（][-+−±]?[\d$€£]")
"""A bracket right behind a name that begins with a figure: "most of all in Social (-23.22 %)"."""
_ENDS_CLAUSE = re.compile(r"[,;:.(){}\[\]，；：。（）]")
_PER = re.compile(r"[\s\u2060]+(?:je|pro|per|par|por|a|each)[\s\u2060]+\w+(?=[\s\u2060]?[(（])")
"""What a figure is per, before its bracket: "1.60 EUR per click (Marketplace, April)"."""
_OF_OTHERS = re.compile(
    r"\b(?:the|die|der|den|les|des|los|las)(?: \w+)? (?:others?|anderen|übrigen|autres|demás|otr[oa]s)\b|"
    r"其他|其余|其它|他の|ほかの",
    re.IGNORECASE,
)
"""Words behind a figure that is of all but the one named before: "Petra's is 14.57, against 8 to 9 for the others"."""
_PART_END = re.compile(r"[;；]")
"""Names behind it say nothing of a figure before it."""
_CONTRAST = re.compile(
    r"(?:\b(?:against|versus|vs\.?|than|instead of|rather than|gegen|zu|als|statt|anstatt|au lieu de|en lugar de)\b|"
    r"对)[\s\u2060]*$",
    re.IGNORECASE,
)
"""Words directly before a figure that is compared with the figure of the named thing. It belongs to something else."""


_COMPARED = re.compile(
    r"(?:\b(?:compared (?:to|with)|relative to|versus|vs\.?|than|gegenüber|ggü\.?|verglichen mit|im Vergleich zu|"
    r"(?:mehr|weniger|\w{3,20}er)\b[^.;:]{0,30}\bals|par rapport à|(?:plus|moins)\b[^.;:]{0,30}\bqu[e']|frente a|"
    r"against(?:[\s\u2060]+the[\s\u2060]+(?:average|mean|level)[\s\u2060]+(?:of|in))?|"
    r"respecto a|(?:más|menos|mayor|menor)\b[^.;:]{0,30}\bque)(?:[\s\u2060]+(?:in|im|en|for|of|the|dem|Jahr|"
    r"Monat|année|el|la|l['’]))*|[%％][\s\u2060]+(?:on|over|above|below|from|zu|sur|sobre)|[与跟同较比])[\s\u2060]*$",
    re.IGNORECASE,
)
"""Words directly before the date that a figure is compared with: "1,411, more than in 2023"."""
_PERCENT_ON = re.compile(r"[%％][\s\u2060]+on[\s\u2060]*$")
"""12.3 % on 18 September happened on that day, while "3 % on 2023" compares."""
_COMPARED_BEHIND = re.compile(r"年?(?:より|に比べ|と比べ|比で)")
_TELLS = re.compile(
    r"['’]s\b[^,;]*|[\s\u2060]*(?:[(（:：的]|(?:\w+[\s\u2060]+)?of\b|,?[\s\u2060]*\b(?:when|where|with|at|als|wo|mit|quand|où|avec|cuando|con)\b)[^,;，；()（）]*"
)
"""What stands between such a date and its own figure: "compared to 2023 (1,322)"."""
_COMPARED_CHARS = 50


_FROM = re.compile(
    r"(?:\b(?:from|von|desde|du|des)\b|(?<!\best )(?<!\bes )(?<!\bsont )(?<!\bson )(?<!\bétait )(?<!\bera )(?<!\bfue )"
    r"\bde\b|从|由)[\s\u2060]*$",
    re.IGNORECASE,
)
"""Words directly before the first figure of a change. "Est de" and "es de" only say what a figure is."""
_PERIOD_BEFORE = re.compile(
    r"(?:\b(?:week|month|quarter|year|day) (?:before|earlier)|"
    r"\b(?:previous|prior|preceding) (?:week|month|quarter|year|day)|\bVor(?:woche|monat|quartal|jahr|tag)\w{0,2}|"
    r"\b(?:semaine|mois|trimestre|année) (?:précédente?|d['’]avant)|\b(?:semana|mes|trimestre|año) anterior|"
    r"前一?[周月年天]|上[周月]|前[週月年日])[\s\u2060]*(?:[(（:：]|[的の])?[\s\u2060]*$",
    re.IGNORECASE,
)
"""What stands directly before the figure of an earlier period: "188, a third more than the week before (141)"."""
_FORMER = re.compile(r"(?:\b(?:from|after|nach|après|tras)\b|从)[\s\u2060]*$", re.IGNORECASE)
"""Words directly before what a figure was earlier, also without the figure that it became."""
_REACHES = re.compile(
    r"(?:\b(?:to|auf|bis|zu|à|a|hasta)\b|至|到|为)[\s\u2060]*(?:(?:about|nearly|just|only|nur|rund|etwa)[\s\u2060]+)?$",
    re.IGNORECASE,
)
"""Words directly before the second figure of a change: "from 19,936 in February to 8,514"."""
_TURNED = re.compile(r"[^\d,，、。]{0,8}?から")
"""What Japanese writes behind the first figure of a change: "19,936ユーロから8,514ユーロに"."""
_OWN = re.compile(r"[\s\u2060]*(?:の|的|['’]s)?[\s\u2060]*[$€£¥]?")
_BEFORE_AND_AFTER = frozenset(
    (word,) for word in ["before", "after", "vorher", "nachher", "avant", "après", "antes", "después", "前", "后", "後"]
)
_AND = re.compile(r"[\s\u2060]*(?:and|und|y|et|to|bis|vs\.?|against|gegen|和|与|,)[\s\u2060]*")
"""What stands between the figures before and after: "as fast as before (90 ms and 89 ms)"."""
_BEFORE_BRACKET = 40
"""This many characters before a bracket may name what the bracket is about."""


class Scene:
    """What a report mentions, and where: labels of the outputs, and dates."""

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
        """The numbers of each sentence."""
        for claim in reading.claims:
            if claim.numeral.kind == "number":
                self._claims[claim.clause] += 1
                self._figures[claim.span].append(claim)
        self._memory: dict[tuple[int, int], frozenset[Label] | None] = {}
        self._texts: dict[str, list[Mention]] = {}
        self.directions: dict[int, int] = {}
        """By the id of a claim: the direction that the words around it give."""

    def within(self, start: int, end: int) -> list[Mention]:
        """The mentions between two places."""
        return self.mentions[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def of_text(self, text: str) -> list[Mention]:
        """The mentions of a short text, such as a row's words or a column's heading."""
        if text not in self._texts:
            self._texts[text] = self._names.find(text, prose=False) if text else []
        return self._texts[text]

    def allowed(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The labels of this family that the claim may be about; None when nothing says."""
        key = (id(claim), id(family))
        if key not in self._memory:
            self._memory[key] = self._allowed(claim, family)
        return self._memory[key]

    def _allowed(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        outer = self._before_own_bracket(claim)
        if outer is not None and not _chosen(family, self.within(*claim.clause)):
            return self.allowed(outer, family)
        if claim.in_table or not any(isinstance(label, Day) for label in family.labels):
            return self._named(claim, family)
        first, second, turn = self._course(claim)
        if first is not None and second is not None:
            start, end = (first.end, turn) if first is claim else (turn, second.start)
            if found := _chosen(family, [m for m in self.within(start, end) if isinstance(m.label, Day)]):
                return found
            other = self.within(*((turn, second.start) if first is claim else (first.end, turn)))
            named = self._named(claim, family, tuple(m for m in other if isinstance(m.label, Day)))
        elif bases := self._bases(claim, family):
            named = self._named(claim, family, bases) or _other_days(family, bases)
        else:
            named = self._named(claim, family)
        if named and _PERIOD_BEFORE.search(self.reading.text, claim.span[0], claim.start):
            return _former(family, named) or named
        if named and _CONTRAST.search(self.reading.text, claim.clause[0], claim.start):
            return named | _former(family, named)  # "89 more in 2024: 1,411 instead of 1,322"
        if first is not claim or not named or self._stands_before(claim, family):
            return named
        return named | _former(family, named)

    def _before_own_bracket(self, claim: Claim) -> Claim | None:
        """The figure right before the bracket that a figure begins: 80,505 in "80,505 EUR (30 orders) in Q1". Both are
        of one thing."""
        start, text = claim.clause[0], self.reading.text
        if (
            claim.in_table
            or text[start - 1 : start] not in ("(", "（")
            or text[start : claim.start].strip(" +-−\u2060")
        ):
            return None
        before = [other for other in self._figures[claim.span] if other.end < start]
        return before[-1] if before and not text[before[-1].end : start - 1].strip(" \u2060") else None

    def _bases(self, claim: Claim, family: Family) -> tuple[Mention, ...]:
        """The dates that the claim's sentence only compares with: "compared to 2023". The figure is not of them."""
        text, start = self.reading.text, claim.span[0]
        return tuple(
            m
            for m in self.within(*claim.span)
            if isinstance(m.label, Day)
            and _chosen(family, [m])
            and not (m.label.day and _PERCENT_ON.search(text, max(start, m.start - _COMPARED_CHARS), m.start))
            and not _TELLS.fullmatch(text, m.end, max(m.end, claim.start))
            and (
                _COMPARED.search(text, max(start, m.start - _COMPARED_CHARS), m.start)
                or _COMPARED_BEHIND.match(text, m.end)
            )
        )

    def _stands_before(self, claim: Claim, family: Family) -> bool:
        """Whether a name stands right before a figure, and so is its own: "2月の19,936", "February's 19,936"."""
        before = [m for m in self.within(claim.clause[0], claim.start) if _chosen(family, [m])]
        return bool(before) and _OWN.fullmatch(self.reading.text, before[-1].end, claim.start) is not None

    def _course(self, claim: Claim) -> tuple[Claim | None, Claim | None, int]:
        """The figures of a change that is told "from the first to the second", if the claim is one of them, and where
        the words of the second begin. With words such as "down from" or "after" the first may stand alone."""
        text = self.reading.text
        clause = [
            one
            for one in self._figures[claim.span]
            if one.clause == claim.clause or self._is_behind_remarks(one, claim)
        ]
        at = clause.index(claim) if claim in clause else -1
        for first, second in ((at - 1, at), (at, at + 1)):
            if not 0 <= first < second < len(clause):
                continue
            one, other = clause[first], clause[second]
            if turned := _TURNED.match(text, one.end, other.start):
                return one, other, turned.end()
            if _FROM.search(text, one.clause[0], one.start) and (to := _REACHES.search(text, one.end, other.start)):
                return one, other, to.start()
        return (claim if _FORMER.search(text, claim.clause[0], claim.start) else None), None, claim.end

    def before_bracket(self, claim: Claim) -> Claim | None:
        """The last figure before the bracket that a figure stands in: 1,011 in "1,011 are left (interval 495 to
        1,528)"."""
        start = self.reading.text.rfind("(", claim.span[0], claim.start)
        if start < 0 or self.reading.text.find(")", start, claim.start) >= 0:
            return None
        before = [other for other in self._figures[claim.span] if other.end <= start]
        return before[-1] if before else None

    def _is_behind_remarks(self, one: Claim, other: Claim) -> bool:
        """Whether only brackets part the clauses of two figures: "from 80,505 EUR (30 orders) to 41,818 EUR"."""
        if any(self._before_own_bracket(each) for each in (one, other)):
            return False
        first, second = sorted((one, other), key=lambda each: each.start)
        between = _REMARK.sub("", self.reading.text[first.end : second.start])
        return not _ENDS_CLAUSE.search(between)

    def _named(self, claim: Claim, family: Family, others: Sequence[Mention] = ()) -> frozenset[Label] | None:
        """The labels of this family that the words around a claim name, except the mentions of `others`."""
        if claim.in_table:
            return (
                self._behind_a_figure(claim, family)
                or _chosen(family, self.of_text(claim.row))
                or _chosen(family, self.of_text(claim.column))
                or self._by_heading(claim, family)
            )
        if (own := self._in_order(claim, family)) is not None:
            return own
        inside = [m for m in self._inside(claim, family) if m not in others]
        if len(inside) > 1 and len(inside) == self._claims[claim.clause]:
            inside = [inside[self._rank(claim)]]
        if inside and self._claims[claim.clause] > len(inside):
            contrast = _CONTRAST.search(self.reading.text, claim.clause[0], claim.start)
            if contrast and not any(contrast.start() <= m.start for m in inside):
                return None
        if inside:
            return _chosen(family, inside)
        if self._is_the_compared(claim):
            return None
        if own := self._respective(claim, family):
            return own
        if own := _chosen(family, self._own_remark(claim)):
            return own
        if self._is_of_others(claim):
            return None
        before = [m for m in self.within(claim.span[0], claim.clause[0]) if m not in others and _chosen(family, [m])]
        if (
            before
            and self._claims[claim.clause] == 1
            and self.reading.text[claim.clause[0] - 1 : claim.clause[0]] in ("(", "（")
        ):
            before = before[-1:]
        if before:
            return _chosen(family, before)
        part = _PART_END.search(self.reading.text, claim.clause[1], claim.span[1])
        behind = (m for m in self.within(claim.clause[1], part.start() if part else claim.span[1]) if m not in others)
        after = [m for m in behind if not self._has_own_figure(m, claim)]
        return _chosen(family, after) or self._by_heading(claim, family)

    def _inside(self, claim: Claim, family: Family) -> list[Mention]:
        """The names of a claim's clause; none where all stand behind the one that it is compared with: "46.5 % against
        41.0 % with B"."""
        inside = [m for m in self.within(*claim.clause) if _chosen(family, [m])]
        after = (other for other in self._figures[claim.span] if claim.end <= other.start < claim.clause[1])
        other = next(after, None)
        is_compared = other is not None and _CONTRAST.search(self.reading.text, claim.end, other.start)
        return [] if is_compared and all(m.start > claim.end for m in inside) else inside

    def _behind_a_figure(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The name in a cell before this one that stands behind another figure: Madrid of -34.9 in "| NPS | Galicia |
        -12.0 | Madrid | -34.9 |"."""
        named = [m for m in self.within(claim.span[0], claim.start) if _chosen(family, [m])]
        if not named or not any(other.end <= named[-1].start for other in self._figures[claim.span]):
            return None
        return _chosen(family, named[-1:]) if not self.figures_between(claim, named[-1]) else None

    def _is_of_others(self, claim: Claim) -> bool:
        """Whether words beside a figure give it to something else than the clause before names."""
        text = self.reading.text
        before = _ANOTHER.search(text, self._before_bracket(claim), claim.start)
        return before is not None or _OF_OTHERS.search(text, claim.end, claim.clause[1]) is not None

    def _is_the_compared(self, claim: Claim) -> bool:
        """Whether a figure is what the first one of its bracket is compared with: 46.11 in "less with B (43.52 against
        46.11)"."""
        text = self.reading.text
        before = next((other for other in reversed(self._figures[claim.span]) if other.end < claim.start), None)
        if before is None or not _CONTRAST.fullmatch(text[before.end : claim.start].lstrip()):
            return False
        return text[before.clause[0] - 1 : before.clause[0]] in ("(", "（")

    def is_the_other(self, claim: Claim, family: Family) -> bool:
        """Whether the figure is of the label not named: with two labels, 2.54 in "B rises from 2.54 to 2.77"."""
        if next(islice((label for label in family.labels if not is_total_label(label)), 2, None), None) is not None:
            return False  # there are more than two labels
        if all(label in _BEFORE_AND_AFTER for label in family.labels):
            before = [other for other in self._figures[claim.span] if other.end < claim.start]
            return bool(before) and _AND.fullmatch(self.reading.text, before[-1].end, claim.start) is not None
        return _FROM.search(self.reading.text, claim.clause[0], claim.start) is not None

    def _before_bracket(self, claim: Claim) -> int:
        """Where a claim's clause begins. For a claim in brackets, the clause includes the words before the bracket."""
        start = claim.clause[0]
        if self.reading.text[start - 1 : start] not in ("(", "（"):
            return start
        return max(claim.span[0], start - _BEFORE_BRACKET)

    def _in_order(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The claim's own label in a sentence that first gives all names, and then as many figures: "North and South
        are at 8 % and 7 %"."""
        figures = self._figures[claim.span]
        if len(figures) < 2:
            return None
        named = [m for m in self.within(*claim.span) if _chosen(family, [m])]
        if not 1 < len(named) == len(figures) or named[-1].end > figures[0].start or claim not in figures:
            return None
        text = self.reading.text
        if any(_COMPARED_BEHIND.match(text, m.end) or _CONTRAST.search(text, claim.span[0], m.start) for m in named):
            return None  # "B is 1.5 warmer than A": the figure is of both
        return _chosen(family, [named[figures.index(claim)]])

    def _respective(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The claim's own label where a bracket has a figure for each name before it: "B and C about half (120 and
        127)"."""
        start = self.reading.text.rfind("(", claim.span[0], claim.start)
        end = self.reading.text.find(")", claim.end, claim.span[1])
        if start < 0 or end < 0 or self.reading.text.find(")", start, claim.start) >= 0:
            return None
        inside = [other for other in self._figures[claim.span] if start < other.start < end]
        if len(inside) == 2 and _CONTRAST.fullmatch(self.reading.text[inside[0].end : inside[1].start].lstrip()):
            both = _chosen(family, self.within(claim.span[0], start))
            if both and len(both) == 2:
                return both  # "2026Q1 brought 1.9 % more than 2025Q1 (376,063 against 368,987)"
        last = max((other.end for other in self._figures[claim.span] if other.end <= start), default=claim.span[0])
        named = [m for m in self.within(last, start) if _chosen(family, [m])]
        if not 1 < len(inside) == len(named) or _chosen(family, self.within(start, end)):
            return None
        return _chosen(family, [named[inside.index(claim)]])

    def _has_own_figure(self, mention: Mention, claim: Claim) -> bool:
        """Whether a name behind a claim stands in a clause with a figure of its own. Then it says nothing about the
        claim."""
        if _OWN_REMARK.match(self.reading.text, mention.end):
            return True
        return any(
            other is not claim and other.clause[0] <= mention.start < other.clause[1] and other.clause != claim.clause
            for other in self._figures[claim.span]
        )

    def _own_remark(self, claim: Claim) -> Sequence[Mention]:
        """The mentions in the brackets right behind a figure: "15,416 (order SO-1, 27 pieces)". Others are compared
        there, each with a figure of the same kind: "39.64 % (ads 32.40 %, organic 31.23 %)"."""
        per = _PER.match(self.reading.text, claim.end)
        found = _REMARK.match(self.reading.text, per.end() if per else claim.end)
        if found is None:
            return ()
        inside = [other for other in self._figures[claim.span] if found.start() < other.start < found.end()]
        return () if any(_is_alike(claim, other) for other in inside) else self.within(*found.span())

    def _rank(self, claim: Claim) -> int:
        inside = [c for c in self.reading.claims if c.clause == claim.clause and c.numeral.kind == "number"]
        return inside.index(claim) if claim in inside else 0

    def _by_heading(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        above = [span for span in self.reading.headings if span[1] <= claim.start]
        return _with_days_between(_chosen(family, self.within(*above[-1])), family) if above else None

    def conflict(self, claim: Claim, fact: Fact) -> Label | None:
        """The label of the fact that contradicts the claim, because the claim names another label of its family. None
        if no label does."""
        for family, label in fact.keys:
            if not family.binds or is_total_of(label, family):
                continue
            if family.columns and not (isinstance(label, Day) or self._names_column(claim, family)):
                continue
            allowed = self.allowed(claim, family)
            if allowed is None or is_among(label, allowed, family) or self.is_the_other(claim, family):
                continue
            if not isinstance(label, Day) and _is_mostly_in(label, self.words_of(claim)):
                continue
            if family.lines and any(not isinstance(one, Day) and fact.words.issuperset(one) for one in allowed):
                continue  # "evaluated: 5808 | without region: 43" beside a line "Region: …"
            if not isinstance(label, Day) and all(isinstance(one, Day) for one in allowed):
                continue  # "2023, 2024, diff": the difference is of both years
            return label
        return None

    def _names_column(self, claim: Claim, family: Family) -> bool:
        """Whether a claim itself names one of the things that the columns of a table are of: "36.1 % in Galicia".

        A row of the report that has the name of a column does so, too: the output is turned by a quarter.
        """
        if claim.in_table and key_of(claim.row) in family.labels:
            return not _chosen(family, self.of_text(claim.column))
        return family.entities and (
            claim.in_table or any(_chosen(family, [mention]) for mention in self.within(*claim.clause))
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
        return not any(
            sum(word in words for word in label) * 2 >= len(label) for _, label in rows if not isinstance(label, Day)
        )

    def names_row(self, claim: Claim, fact: Fact) -> bool:
        """Whether the claim names a row of the fact, and not only its column."""
        return any(not family.columns and label in (self.allowed(claim, family) or ()) for family, label in fact.keys)

    def figures_between(self, claim: Claim, mention: Mention) -> bool:
        """Whether another figure stands between a claim and a name of its sentence."""
        start, end = min(mention.end, claim.end), max(mention.start, claim.start)
        return any(start <= other.start < end for other in self._figures[claim.span] if other is not claim)

    def agrees(self, claim: Claim, fact: Fact) -> int:
        """In how many families the claim names the fact's own label."""
        count = 0
        for family, label in fact.keys:
            allowed = self.allowed(claim, family)
            count += allowed is not None and label in allowed
        return count

    def words_of(self, claim: Claim) -> frozenset[str]:
        """The words around a claim: of its row and heading, or of its sentence."""
        if claim.in_table:
            return frozenset(key_of(f"{claim.row} {claim.column}"))
        return words_in(self.reading.text[slice(*claim.span)])

    def families_named(self, claim: Claim) -> list[tuple[Family, frozenset[Label]]]:
        """The families that have labels in the claim's sentence or row, with these labels."""
        found = []
        spot = self._around(claim)
        near = {id(f): f for m in spot for f in self._families_of(m.label)}
        for family in near.values():
            if labels := _chosen(family, spot):
                found.append((family, labels))
        return found

    def _around(self, claim: Claim) -> Sequence[Mention]:
        if claim.in_table:
            return [*self.of_text(claim.row), *self.of_text(claim.column)]
        return self.within(*claim.span)

    def is_of_rows(self, mention: Mention) -> bool:
        """Whether a mention may name a row of some table, not only a column."""
        return any(not family.columns for family in self._families_of(mention.label))

    def _families_of(self, label: Label) -> Iterable[Family]:
        if not isinstance(label, Day):
            return self._of.get(label, ())
        return (family for family in self.families if any(isinstance(one, Day) for one in family.labels))

    def tells(self, claim: Claim, fact: Fact) -> bool:
        """Whether another figure of the claim's sentence gives the value of this fact, exactly as it is shown."""
        return any(
            other is not claim
            and any(abs(fact.scaled) == value * other.numeral.scale for value, _ in other.numeral.readings)
            for other in self._figures[claim.span]
        )

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


def is_among(label: Label, allowed: Iterable[Label], family: Family) -> bool:
    """Whether a fact's label is one that a claim names. The words that a line begins with may go on behind a name."""
    return label in allowed or (family.lines and any(_goes_on(label, one) for one in allowed))


def _goes_on(label: Label, other: Label) -> bool:
    """Whether one of two labels is the other one with more words behind it."""
    if isinstance(label, Day) or isinstance(other, Day):
        return False
    return label[: len(other)] == other or other[: len(label)] == label


def _is_alike(one: Claim, other: Claim) -> bool:
    """Whether two figures are written in one way: with the same unit and the same number of decimals."""
    decimals = ({places for _, places in each.numeral.readings} for each in (one, other))
    return bool(one.numeral.unit) and one.numeral.unit == other.numeral.unit and not set.isdisjoint(*decimals)


def _is_mostly_in(label: Key, words: frozenset[str]) -> bool:
    """Whether two of three words of a longer label are among these: those of "resolved without csat" in "CSAT is given
    for 2,321; 621 resolved tickets have none"."""
    return len(label) > 2 and sum(word in words for word in label) * 3 >= len(label) * 2


def _without(text: str, mentions: Sequence[Mention]) -> str:
    """The text without the names in it: a plan called "Plus" says nothing of a rise."""
    chars = list(text)
    for mention in mentions:
        chars[mention.start : mention.end] = " " * (mention.end - mention.start)
    return "".join(chars)


def _chosen(family: Family, mentions: Sequence[Mention]) -> frozenset[Label] | None:
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


def _other_days(family: Family, bases: Sequence[Mention]) -> frozenset[Label] | None:
    """The dates of a family without those that a figure is only compared with. None where no date is left."""
    compared = _chosen(family, bases) or frozenset()
    return frozenset(label for label in family.labels if isinstance(label, Day) and label not in compared) or None


def _with_days_between(named: frozenset[Label] | None, family: Family) -> frozenset[Label] | None:
    """The labels with all dates between the first and the last one: a heading "August to October" has September."""
    days = sorted((label for label in named or () if isinstance(label, Day)), key=_moment)
    if named is None or len(days) < 2:
        return named
    first, last = _moment(days[0]), _moment(days[-1])
    return named | {label for label in family.labels if isinstance(label, Day) and first <= _moment(label) <= last}


def _former(family: Family, named: frozenset[Label]) -> frozenset[Label]:
    """The labels of the periods before the named ones: the one that comes right before, and the same a year before."""
    days = sorted((label for label in family.labels if isinstance(label, Day)), key=_moment)
    found: set[Label] = set()
    for at, day in enumerate(days):
        if day in named:
            found.update(days[max(0, at - 1) : at])
            found.update(one for one in days if day.year and one == day._replace(year=day.year - 1))
    return frozenset(found)


def _moment(day: Day) -> tuple[int, int, int, int]:
    return day.year or 0, day.quarter or 0, day.month or 0, day.day or 0


def _covers(label: Day, day: Day) -> bool:
    """Whether a label is a part of what a mention says: the year 2023 of "Q4 2023"."""
    return label.fits(day) and any(part is not None for part in label)
