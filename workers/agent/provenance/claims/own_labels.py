"""Which label of a family a figure is of: what the words of its row, clause and sentence say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from workers.agent.provenance.claims.mentions import Mentions, chosen
from workers.agent.provenance.claims.naming import Mention
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.outputs.facts import Family, Label, is_total_of

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
_OF_COUNT = re.compile(
    r"[\s\u2060]+(?:out of|of|von|der|des|de|sur)[\s\u2060]+\d[\d.,\u00a0\u202f]*(?:[\s\u2060]+\w+)?"
    r"(?=[\s\u2060]?[(（])"
)
"""The whole that a count is a part of, before their bracket: "26 of 47 (2024)", "16 of the 59 visits (2022)"."""
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
    r"(?:\b(?:compared (?:to|with)|relative to|in contrast to|unlike|(?:up|down) from|im Gegensatz zu|anders als|"
    r"(?:the same|as \w{2,12}) as|(?:gleich\w*|(?:eben|genau)?so \w{2,12}) wie|mêmes? qu(?:e|['’](?:en)?)|"
    r"(?:igual|mism[ao]s?) que|"
    r"contrairement à|a diferencia de|versus|vs\.?|than|gegenüber|ggü\.?|verglichen mit|im Vergleich zu|"
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
_SINCE = re.compile(
    r"(?:\b(?:since|after|before|seit|nach|vor|depuis|après|avant|desde|tras|antes de)"
    r"(?:[\s\u2060]+(?:the|year|dem|Jahr|el|año|l['’]année))*|自)[\s\u2060]*$",
    re.IGNORECASE,
)
"""Words directly before the date that a time begins with or ends at: "since 2022 it has risen to 85.9"."""
_ONWARDS = re.compile(r"[\s\u2060]+(?:on|onwards?)\b|年?[\s\u2060]*(?:以来|以後|以降|以后|之后|起|から)")
"""What stands directly behind such a date."""


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
_TO_NAME = re.compile(
    r"[*\s\u2060]*(?:(?!(?:and|und|et|y|while|whereas|but|während|aber|mais|pero)\b)[^\W\d]+[\s\u2060]+){0,3}"
    r"(?:in|from|of|by|with|for|at|on|via|aus|von|bei|mit|für|auf|im|vom|de|du|en|à|chez|avec|pour|con|para)"
    r"(?:[\s\u2060]+[^\W\d]+){0,2}[*\s\u2060]*",
    re.IGNORECASE,
)
"""What stands between the bracket of a figure and its name: "9,261 EUR (50.1 %) came from customers in DE"."""
_BEFORE_BRACKET = 40
"""This many characters before a bracket may name what the bracket is about."""


class OwnLabels:
    """Finds the labels that a claim may be about. `see` is what the report mentions."""

    def __init__(self, see: Mentions) -> None:
        self._see = see
        self._memory: dict[tuple[int, int], frozenset[Label] | None] = {}

    def of(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The labels of this family that the claim may be about; None when nothing says."""
        key = (id(claim), id(family))
        if key not in self._memory:
            self._memory[key] = self._allowed(claim, family)
        return self._memory[key]

    def beside_unit(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The labels that the words around a claim name when its own unit is only a unit, and not the row "EUR" of a
        table by currency: SEK of the second figure in "487,738 SEK are worth 45,232 EUR"."""
        if claim.in_table:
            return None
        unit = tuple(m for m in self._see.within(claim.numeral.digits_end, claim.end) if m.end <= claim.end)
        return self._named(claim, family, unit) if unit else None

    def _allowed(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        outer = self._before_own_bracket(claim)
        if outer is not None and not chosen(family, self._see.within(*claim.clause)):
            return self.of(outer, family)
        if claim.in_table or not any(isinstance(label, Day) for label in family.labels):
            return self._named(claim, family)
        first, second, turn = self._course(claim)
        if first is not None and second is not None:
            start, end = (first.end, turn) if first is claim else (turn, second.start)
            if found := chosen(family, [m for m in self._see.within(start, end) if isinstance(m.label, Day)]):
                return found
            other = self._see.within(*((turn, second.start) if first is claim else (first.end, turn)))
            named = self._named(claim, family, tuple(m for m in other if isinstance(m.label, Day)))
        elif since := self._since(claim, family):
            named = self._named(claim, family, (*since, *self._bases(claim, family)))
        elif bases := self._bases(claim, family):
            named = self._named(claim, family, bases) or _other_days(family, bases)
        else:
            named = self._named(claim, family)
        if named and _PERIOD_BEFORE.search(self._see.reading.text, claim.span[0], claim.start):
            return _former(family, named) or named
        if named and _CONTRAST.search(self._see.reading.text, claim.clause[0], claim.start):
            return named | _former(family, named)  # "89 more in 2024: 1,411 instead of 1,322"
        if first is not claim or not named or self._stands_before(claim, family):
            return named
        return named | _former(family, named)

    def _before_own_bracket(self, claim: Claim) -> Claim | None:
        """The figure right before the bracket that a figure begins: 80,505 in "80,505 EUR (30 orders) in Q1". Both are
        of one thing."""
        start, text = claim.clause[0], self._see.reading.text
        if (
            claim.in_table
            or text[start - 1 : start] not in ("(", "（")
            or text[start : claim.start].strip(" +-−\u2060")
        ):
            return None
        before = [other for other in self._see.figures(claim) if other.end < start]
        return before[-1] if before and not text[before[-1].end : start - 1].strip(" \u2060") else None

    def _bases(self, claim: Claim, family: Family) -> tuple[Mention, ...]:
        """The dates that the claim's sentence only compares with: "compared to 2023". The figure is not of them."""
        text, start = self._see.reading.text, claim.span[0]
        return tuple(
            m
            for m in self._see.within(*claim.span)
            if isinstance(m.label, Day)
            and chosen(family, [m])
            and not (m.label.day and _PERCENT_ON.search(text, max(start, m.start - _COMPARED_CHARS), m.start))
            and not _TELLS.fullmatch(text, m.end, max(m.end, claim.start))
            and (
                _COMPARED.search(text, max(start, m.start - _COMPARED_CHARS), m.start)
                or _COMPARED_BEHIND.match(text, m.end)
            )
        )

    def _since(self, claim: Claim, family: Family) -> tuple[Mention, ...]:
        """The dates with which a time begins or at which it ends. The figure may be of any date."""
        text, start = self._see.reading.text, claim.span[0]
        return tuple(
            m
            for m in self._see.within(*claim.span)
            if isinstance(m.label, Day)
            and chosen(family, [m])
            and not _TELLS.fullmatch(text, m.end, max(m.end, claim.start))
            and (_SINCE.search(text, max(start, m.start - _COMPARED_CHARS), m.start) or _ONWARDS.match(text, m.end))
        )

    def _stands_before(self, claim: Claim, family: Family) -> bool:
        """Whether a name stands right before a figure, and so is its own: "2月の19,936", "February's 19,936"."""
        before = [m for m in self._see.within(claim.clause[0], claim.start) if chosen(family, [m])]
        return bool(before) and _OWN.fullmatch(self._see.reading.text, before[-1].end, claim.start) is not None

    def _course(self, claim: Claim) -> tuple[Claim | None, Claim | None, int]:
        """The figures of a change that is told "from the first to the second", if the claim is one of them, and where
        the words of the second begin. With words such as "down from" or "after" the first may stand alone."""
        text = self._see.reading.text
        clause = [
            one for one in self._see.figures(claim) if one.clause == claim.clause or self._is_behind_remarks(one, claim)
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
        start = self._see.reading.text.rfind("(", claim.span[0], claim.start)
        if start < 0 or self._see.reading.text.find(")", start, claim.start) >= 0:
            return None
        before = [other for other in self._see.figures(claim) if other.end <= start]
        return before[-1] if before else None

    def _is_behind_remarks(self, one: Claim, other: Claim) -> bool:
        """Whether only brackets part the clauses of two figures: "from 80,505 EUR (30 orders) to 41,818 EUR"."""
        if any(self._before_own_bracket(each) for each in (one, other)):
            return False
        first, second = sorted((one, other), key=lambda each: each.start)
        between = _REMARK.sub("", self._see.reading.text[first.end : second.start])
        return not _ENDS_CLAUSE.search(between)

    def _named(self, claim: Claim, family: Family, others: Sequence[Mention] = ()) -> frozenset[Label] | None:
        """The labels of this family that the words around a claim name, except the mentions of `others`."""
        if claim.in_table:
            return (
                self._behind_a_figure(claim, family) or self._of_table(claim, family) or self._by_heading(claim, family)
            )
        if (own := self._in_order(claim, family) or self._behind_remark(claim, family)) is not None:
            return own
        inside = [m for m in self._inside(claim, family) if m not in others]
        if len(inside) > 1 and len(inside) == self._see.in_clause(claim):
            inside = [inside[self._rank(claim)]]
        if inside and self._see.in_clause(claim) > len(inside):
            contrast = _CONTRAST.search(self._see.reading.text, claim.clause[0], claim.start)
            if contrast and not any(contrast.start() <= m.start for m in inside):
                return None
        if inside:
            return chosen(family, inside)
        if self._is_the_compared(claim):
            return None
        if own := self._respective(claim, family):
            return own
        if own := chosen(family, [m for m in self._own_remark(claim) if m not in others]):
            return own
        if self._is_of_others(claim):
            return None
        before = [
            m for m in self._see.within(claim.span[0], claim.clause[0]) if m not in others and chosen(family, [m])
        ]
        if (
            before
            and self._see.in_clause(claim) == 1
            and self._see.reading.text[claim.clause[0] - 1 : claim.clause[0]] in ("(", "（")
        ):
            before = before[-1:]
        if before:
            return chosen(family, before)
        part = _PART_END.search(self._see.reading.text, claim.clause[1], claim.span[1])
        behind = (
            m for m in self._see.within(claim.clause[1], part.start() if part else claim.span[1]) if m not in others
        )
        after = [m for m in behind if not self._has_own_figure(m, claim)]
        return chosen(family, after) or self._by_heading(claim, family)

    def _of_table(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """What the row of a table of the report names, else what its column does. A row of totals has the name of the
        output's column of totals as well, and says nothing of the others."""
        row, column = (chosen(family, self._see.of_text(text)) for text in (claim.row, claim.column))
        if row and column and family.columns and all(is_total_of(label, family) for label in row):
            return column
        return row or column

    def _inside(self, claim: Claim, family: Family) -> list[Mention]:
        """The names of a claim's clause; none where all stand behind the one that it is compared with: "46.5 % against
        41.0 % with B"."""
        inside = [m for m in self._see.within(*claim.clause) if chosen(family, [m])]
        after = (other for other in self._see.figures(claim) if claim.end <= other.start < claim.clause[1])
        other = next(after, None)
        is_compared = other is not None and _CONTRAST.search(self._see.reading.text, claim.end, other.start)
        return [] if is_compared and all(m.start > claim.end for m in inside) else inside

    def _behind_a_figure(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The name in a cell before this one that stands behind another figure: Madrid of -34.9 in "| NPS | Galicia |
        -12.0 | Madrid | -34.9 |"."""
        named = [m for m in self._see.within(claim.span[0], claim.start) if chosen(family, [m])]
        if not named or not any(other.end <= named[-1].start for other in self._see.figures(claim)):
            return None
        return chosen(family, named[-1:]) if not self._see.figures_between(claim, named[-1]) else None

    def _is_of_others(self, claim: Claim) -> bool:
        """Whether words beside a figure give it to something else than the clause before names."""
        text = self._see.reading.text
        before = _ANOTHER.search(text, self._before_bracket(claim), claim.start)
        return before is not None or _OF_OTHERS.search(text, claim.end, claim.clause[1]) is not None

    def _is_the_compared(self, claim: Claim) -> bool:
        """Whether a figure is what the first one of its bracket is compared with: 46.11 in "less with B (43.52 against
        46.11)"."""
        text = self._see.reading.text
        before = next((other for other in reversed(self._see.figures(claim)) if other.end < claim.start), None)
        if before is None or not _CONTRAST.fullmatch(text[before.end : claim.start].lstrip()):
            return False
        return text[before.clause[0] - 1 : before.clause[0]] in ("(", "（")

    def is_the_other(self, claim: Claim, family: Family) -> bool:
        """Whether the figure is of the label not named: with two labels, 2.54 in "B rises from 2.54 to 2.77"."""
        if (
            next(islice((label for label in family.labels if not is_total_of(label, family)), 2, None), None)
            is not None
        ):
            return False  # there are more than two labels
        if all(label in _BEFORE_AND_AFTER for label in family.labels):
            before = [other for other in self._see.figures(claim) if other.end < claim.start]
            return bool(before) and _AND.fullmatch(self._see.reading.text, before[-1].end, claim.start) is not None
        return _FROM.search(self._see.reading.text, claim.clause[0], claim.start) is not None

    def _before_bracket(self, claim: Claim) -> int:
        """Where a claim's clause begins. For a claim in brackets, the clause includes the words before the bracket."""
        start = claim.clause[0]
        if self._see.reading.text[start - 1 : start] not in ("(", "（"):
            return start
        return max(claim.span[0], start - _BEFORE_BRACKET)

    def _in_order(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The claim's own label in a sentence that first gives all names, and then as many figures: "North and South
        are at 8 % and 7 %"."""
        figures = self._see.figures(claim)
        if len(figures) < 2:
            return None
        named = [m for m in self._see.within(*claim.span) if chosen(family, [m])]
        if not 1 < len(named) == len(figures) or named[-1].end > figures[0].start or claim not in figures:
            return None
        text = self._see.reading.text
        if any(_COMPARED_BEHIND.match(text, m.end) or _CONTRAST.search(text, claim.span[0], m.start) for m in named):
            return None  # "B is 1.5 warmer than A": the figure is of both
        return chosen(family, [named[figures.index(claim)]])

    def _behind_remark(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The claim's own label where each of several figures has a bracket and then its name: "9,261 EUR (50.1 %) from
        DE and 1,554 EUR (8.4 %) from CA"."""
        text, named = self._see.reading.text, {}
        for other in self._see.figures(claim):
            if remark := _REMARK.match(text, other.end):
                found = [m for m in self._see.within(remark.end(), claim.span[1]) if chosen(family, [m])][:1]
                if found and _TO_NAME.fullmatch(text, remark.end(), found[0].start):
                    named[id(other)] = found[0]
        if len({mention.label for mention in named.values()}) < 2 or id(claim) not in named:
            return None
        return chosen(family, [named[id(claim)]])

    def _respective(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        """The claim's own label where a bracket has a figure for each name before it: "B and C about half (120 and
        127)"."""
        start = self._see.reading.text.rfind("(", claim.span[0], claim.start)
        end = self._see.reading.text.find(")", claim.end, claim.span[1])
        if start < 0 or end < 0 or self._see.reading.text.find(")", start, claim.start) >= 0:
            return None
        inside = [other for other in self._see.figures(claim) if start < other.start < end]
        if len(inside) == 2 and _CONTRAST.fullmatch(self._see.reading.text[inside[0].end : inside[1].start].lstrip()):
            both = chosen(family, self._see.within(claim.span[0], start))
            if both and len(both) == 2:
                return both  # "2026Q1 brought 1.9 % more than 2025Q1 (376,063 against 368,987)"
        last = max((other.end for other in self._see.figures(claim) if other.end <= start), default=claim.span[0])
        named = [m for m in self._see.within(last, start) if chosen(family, [m])]
        if not 1 < len(inside) == len(named) or chosen(family, self._see.within(start, end)):
            return None
        return chosen(family, [named[inside.index(claim)]])

    def _has_own_figure(self, mention: Mention, claim: Claim) -> bool:
        """Whether a name behind a claim stands in a clause with a figure of its own. Then it says nothing about the
        claim."""
        if _OWN_REMARK.match(self._see.reading.text, mention.end):
            return True
        return any(
            other is not claim and other.clause[0] <= mention.start < other.clause[1] and other.clause != claim.clause
            for other in self._see.figures(claim)
        )

    def _own_remark(self, claim: Claim) -> Sequence[Mention]:
        """The mentions in the brackets right behind a figure: "15,416 (order SO-1, 27 pieces)". Others are compared
        there, each with a figure of the same kind: "39.64 % (ads 32.40 %, organic 31.23 %)"."""
        per = _PER.match(self._see.reading.text, claim.end)
        per = per or _OF_COUNT.match(self._see.reading.text, claim.end)
        found = _REMARK.match(self._see.reading.text, per.end() if per else claim.end)
        if found is None:
            return ()
        inside = [other for other in self._see.figures(claim) if found.start() < other.start < found.end()]
        return () if any(_is_alike(claim, other) for other in inside) else self._see.within(*found.span())

    def _rank(self, claim: Claim) -> int:
        inside = [c for c in self._see.reading.claims if c.clause == claim.clause and c.numeral.kind == "number"]
        return inside.index(claim) if claim in inside else 0

    def _by_heading(self, claim: Claim, family: Family) -> frozenset[Label] | None:
        above = [span for span in self._see.reading.headings if span[1] <= claim.start]
        return _with_days_between(chosen(family, self._see.within(*above[-1])), family) if above else None


def _is_alike(one: Claim, other: Claim) -> bool:
    """Whether two figures are written in one way: with the same unit and the same number of decimals."""
    decimals = ({places for _, places in each.numeral.readings} for each in (one, other))
    return bool(one.numeral.unit) and one.numeral.unit == other.numeral.unit and not set.isdisjoint(*decimals)


def _other_days(family: Family, bases: Sequence[Mention]) -> frozenset[Label] | None:
    """The dates of a family without those that a figure is only compared with. None where no date is left."""
    compared = chosen(family, bases) or frozenset()
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
