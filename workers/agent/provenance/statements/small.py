"""Small whole numbers in sentences. Most cannot be told from words, but some surely are the value of another row.

"9 cancelled in May" is judged if the sentence says nothing but the column, the row and the number, and the table has
another value there, and this one in another row of the same column. In doubt nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import Candidate
from workers.agent.provenance.claims.mentions import chosen
from workers.agent.provenance.claims.naming import Mention
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.words import CHANGE, DOWN, RATIO, UP, Key, says, tokens
from workers.agent.provenance.outputs.facts import Fact, Label, is_statistic, is_total
from workers.agent.provenance.ranks.clauses import intro_of, is_cjk, is_restricted_above, unknown_words
from workers.agent.provenance.ranks.words import CJK_FUNCTION, CJK_INTRO, INTRO, RESTRICTS
from workers.agent.provenance.statements.people import PEOPLE

_SEVERAL = re.compile(
    r"\b(?:by|until|till|since|through|before|after|from|to|between|every|each|per|not|no|never|"
    r"an? (?:day|week|month|quarter|year)|bis|seit|ab|vor|nach|von|zwischen|je|pro|nicht|kein\w*|"
    r"depuis|avant|après|jusqu\W?\w*|entre|chaque|par|pas|"
    r"desde|hasta|antes|después|cada|por|nunca)\b|"
    r"まで|から|以来|以降|以前|毎|ない|截至|至|前|后|每|未|没|不",
    re.IGNORECASE,
)
"""Words of a sentence whose number may be of several rows, or of what did not happen."""


def of_another_row(claim: Claim, found: Sequence[Candidate], scene: Scene) -> Fact | None:
    """The value of another row that a small number is, where its sentence surely speaks of a row with another value."""
    one = claim.numeral
    if claim.in_table or not one.bare or one.sign or not all(each.against == "row" for each in found):
        return None
    start, end = claim.clause if scene.in_clause(claim) == 1 else (claim.start, claim.start)
    if not any(scene.is_of_rows(mention) for mention in scene.within(start, end)) and len(scene.figures(claim)) == 1:
        start, end = claim.span
    text = scene.reading.text[start:end]
    if not text or RESTRICTS.search(scene.reading.text, *claim.span) or _SEVERAL.search(text):
        return None
    if any(says(cue, scene.bare[start:end]) for cue in (CHANGE, UP, DOWN, RATIO)):
        return None
    taken = [(claim.start, claim.end), *((each.start, each.end) for each in scene.within(start, end))]
    for fact in (each.fact for each in found):
        if not fact.given and fact.turn == 0 and _has_another(claim, fact, scene):
            known = frozenset(word for name in fact.grid.names for word in name) if fact.grid else frozenset[str]()
            known |= PEOPLE
            if unknown_words(scene.reading.text, (start, end), taken, known) or _is_narrowed(claim, fact, known, scene):
                return None
            return fact
    return None


def _is_narrowed(claim: Claim, fact: Fact, known: frozenset[str], scene: Scene) -> bool:
    """Whether a heading, an introduction, or a part of the sentence without a figure may say of what the number is:
    "Large customers:"."""
    text, own = scene.reading.text, _labels(fact)
    if is_restricted_above(text, claim.span, scene):
        return True
    line = text.rfind("\n", 0, claim.span[0]) + 1
    for start, end in ((intro_of(text, line, _FURTHEST), line), *_headings(claim, scene)):
        names = [(each.start, each.end) for each in scene.within(start, end) if each.label in own]
        names += [match.span() for match in CJK_INTRO.finditer(text, start, end)]
        if unknown_words(text, (start, end), names, known | INTRO):
            return True
    taken = [(each.start, each.end) for each in scene.within(*claim.span)]
    taken += [one.clause for one in scene.figures(claim) if one.clause != claim.clause]
    return bool(unknown_words(text, claim.span, [*taken, (claim.start, claim.end)], known))


_FURTHEST = 4_000
"""Characters between a number and the introduction of its list."""


def _labels(fact: Fact) -> frozenset[Label]:
    """The labels of the table of a fact."""
    return frozenset(label for one in (fact.grid.facts if fact.grid else (fact,)) for _, label in one.keys)


def _headings(claim: Claim, scene: Scene) -> Iterator[tuple[int, int]]:
    """The heading that a sentence stands under, and the higher ones above it."""
    lowest = 7
    for start, end in reversed(scene.reading.headings):
        level = scene.reading.text.count("#", start, end)
        if end <= claim.span[0] and level < lowest:
            lowest = level
            yield start, end


def _has_another(claim: Claim, fact: Fact, scene: Scene) -> bool:
    """Whether the sentence says the whole name of a fact's column, and one row of its table, which has another value
    there."""
    grid = fact.grid
    if grid is None or not grid.whole or not 0 <= fact.column < len(grid.names) or is_total(fact):
        return False
    name = grid.names[fact.column]
    if not name or is_statistic(name) or not _counts(claim, name, scene):
        return False
    rows = [one for one in grid.column(fact.column) if scene.names_row(claim, one)]
    if any(not _has_figure(each, claim, scene) for each in scene.within(*claim.span) if _names(each, fact, rows)):
        return False  # "9 cancelled in April and May"
    return len(rows) == 1 and rows[0].value != fact.value and scene.conflict(claim, rows[0]) is None


def _names(mention: Mention, fact: Fact, rows: Sequence[Fact]) -> bool:
    """Whether a mention names a row of a fact's table that is none of these."""
    families = [family for family, _ in fact.keys if not family.columns]
    named = [chosen(family, [mention]) or frozenset() for family in families]
    own = {label for one in rows for _, label in one.keys}
    return any(labels and labels.isdisjoint(own) for labels in named)


def _has_figure(mention: Mention, claim: Claim, scene: Scene) -> bool:
    """Whether a name stands in the clause of another figure of the sentence."""
    others = (one for one in scene.figures(claim) if one is not claim and one.clause != claim.clause)
    return any(one.clause[0] <= mention.start < one.clause[1] for one in others)


def _counts(claim: Claim, name: Key, scene: Scene) -> bool:
    """Whether a number counts what a column is called: the name stands right behind it, or behind its people, or right
    before it: "9 cancelled", "9 customers cancelled", "cancelled in May: 9"."""
    text, end = scene.reading.text, claim.span[1]
    for said in (each for each in scene.within(*claim.span) if each.label == name):
        if claim.end <= said.start:
            between = _words(text[claim.end : said.start])
            if _is_of_a_thing(text[claim.end : said.start]):
                continue  # "9个城市退订"
            if not between or (len(between) == 1 and between[0] in PEOPLE):
                return True
        elif not _words(text[claim.end : end]) and not _is_of_a_thing(text[said.end : end]):
            names = [each[:2] for each in scene.within(said.end, claim.start)]
            if not unknown_words(text, (said.end, claim.start), names):
                return True
    return False


def _is_of_a_thing(text: str) -> bool:
    """Whether Chinese or Japanese words beside a number may say that it counts other things than people."""
    return is_cjk(text) and _PLAIN_CJK.fullmatch(text) is None


_PLAIN_CJK = re.compile(
    r"(?:客户|顾客|顧客|用户|达到|大约|一共|共计|合计|でした|です|だった|である|[件个個名位人有了的是为為在于共达约がはのを]|"
    r"[\s\u2060\d。．.、，,:：!！*])*+"
)


def _words(text: str) -> list[str]:
    return [word for _, _, word in tokens(CJK_FUNCTION.sub(" ", text))]
