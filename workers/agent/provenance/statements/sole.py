"""Sentences that call a row the only one that rose or fell, while another row of the table did so, too.

A sentence is judged if it has one figure, names one row, and says nothing else: a word that is in none of the lists is
a doubt, as for ranks.
"""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.words import CHANGE_WORDS, FALL, RISE, has_word, stem, tokens
from workers.agent.provenance.outputs.facts import Fact, Facts
from workers.agent.provenance.ranks.clauses import LONGEST, Clause, is_restricted_above, unknown_words
from workers.agent.provenance.ranks.leading import Row, is_narrowed, row_of
from workers.agent.provenance.ranks.places import Ranked
from workers.agent.provenance.ranks.row_order import is_aside
from workers.agent.provenance.ranks.words import KINDS, RESTRICTS

_ONLY = re.compile(
    r"\b(?:the (?:only|sole)|die einzige|der einzige|das einzige|la seule|le seul|la única|el único)\b|唯一|"
    r"\b(?P<before>only|nur|einzig|seule?|solo|sólo|solamente)\s+(?:the |der |die |das |le |la |l['’]|el )?|"
    r"(?P<cjk>只有|仅有|仅)|(?P<behind>だけ|のみ)",
    re.IGNORECASE,
)
"""Words that say that nothing else did so. `before` and `cjk` stand before a name, `behind` stands behind one."""
_AGAIN = re.compile(
    r"\b(?:again|still|wieder|weiterhin|noch|encore|nouveau|toujours|"
    r"otra vez|aún|todavía|sigue|nuevo)\b|再|仍|还|また|まだ",
    re.IGNORECASE,
)
"""Words that compare with an earlier time: "the only one that grew again"."""
_RELATIVE = frozenset(
    "that which who to with have has die der das mit ist hat hatte qui que ait a est à en avec ha con tuvo one "
    "went by um de un た ま す る".split()
)


class Shared(NamedTuple):
    """A figure whose sentence calls its row the only one, its value, and that of another row which did so, too."""

    claim: Claim
    own: Fact
    other: Fact


def shared(scene: Scene, facts: Facts, backed: Mapping[int, Fact]) -> Iterator[Shared]:
    """The figures of sentences that wrongly call a row the only one that rose or fell. `backed`: facts by id of
    claim."""
    for claim in scene.reading.claims:
        fact = backed.get(id(claim))
        if fact is None or fact.turn or claim.in_table or len(scene.figures(claim)) != 1:
            continue
        if claim.span[1] - claim.span[0] <= LONGEST and (other := _other(claim, fact, scene, facts)) is not None:
            yield Shared(claim, fact, other)


def _other(claim: Claim, fact: Fact, scene: Scene, facts: Facts) -> Fact | None:
    text, span = scene.reading.text, claim.span
    found = list(_ONLY.finditer(text, *span))
    way, verbs = _way(scene, span)
    mentions = scene.within(*span)
    row = row_of(fact, mentions) if len(found) == 1 and way else None
    if row is None or not _means_all(found[0], row, scene) or not _is_change(row) or fact.value * way <= 0:
        return None
    only = found[0].span()
    rest = f"{text[span[0] : only[0]]} {text[only[1] : span[1]]}"
    clause = Clause(text, *span, Ranked(*only, found[0][0], "level", way > 0), claim)
    if (
        RESTRICTS.search(rest)
        or _AGAIN.search(rest)
        or is_restricted_above(text, span, scene)
        or is_narrowed(row, clause, scene)
    ):
        return None
    taken = [only, *verbs, (row.name.start, row.name.end), (claim.start, claim.end)]
    heading = frozenset(word for name in (fact.grid.names if fact.grid else ()) for word in name)
    if unknown_words(text, span, taken, row.words | heading | _RELATIVE):
        return None
    others = [each for each in row.column if each is not fact and each.value * way > each.slack and not is_aside(each)]
    return None if not others or is_aside(fact) or _is_alone_elsewhere(row, way, facts) else others[0]


def _way(scene: Scene, span: tuple[int, int]) -> tuple[int, list[tuple[int, int]]]:
    """Which way the verbs of a sentence point, and where they stand; 0 for none or both."""
    rises, falls = ([match.span() for match in cue.finditer(scene.bare, *span)] for cue in (RISE, FALL))
    return bool(rises) - bool(falls), [*rises, *falls]


def _means_all(match: re.Match[str], row: Row, scene: Scene) -> bool:
    """Whether a word means that no other row did so. "Only" may mean "merely", unless it stands right beside a name."""
    if match["before"] or match["cjk"]:
        return row.name.start == match.end() or _is_kind(scene.reading.text[match.end() :])
    return row.name.end == match.start() if match["behind"] else True


def _is_kind(behind: str) -> bool:
    words = tokens(behind[:40])
    return bool(words) and stem(words[0][2]) in KINDS and words[0][0] == 0


def _is_change(row: Row) -> bool:
    """Whether a column holds changes: it is called so, or one of its values is written with a plus."""
    names = row.fact.grid.names if row.fact.grid is not None else ()
    name = names[row.fact.column] if 0 <= row.fact.column < len(names) else tuple(row.words)
    return has_word(name, _CHANGES) or any(each.plus for each in row.column)


_CHANGES = CHANGE_WORDS | frozenset(
    "évolution variation croissance variación cambio crecimiento 増減 伸び 成長 涨".split()
)


def _is_alone_elsewhere(row: Row, way: int, facts: Facts) -> bool:
    """Whether this row is the only one that went this way in another column, which may be meant."""
    columns: dict[tuple[int, int], list[Fact]] = {}
    for each in facts.facts:
        if each.grid is not None and not each.given and not is_aside(each):
            columns.setdefault((id(each.grid), each.column), []).append(each)
    for column in columns.values():
        went = [each for each in column if each.value * way > 0]
        if len(went) == 1 < len(column) and any(label == row.label for _, label in went[0].keys):
            return True
    return False
