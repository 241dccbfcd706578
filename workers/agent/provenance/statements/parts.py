"""A part of a whole that a sentence gives to the other part: "18 of the 30 left", where 18 stayed and 12 left.

The words right behind the figure have to be the name of the other part, or of the condition whose row "no" the figure
is. The sentence must not say the figure's own name, nor the value of the other part, nor a negation.
"""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import NEGATION, OTHER_ROWS, Key, stem, tokens, words_in
from workers.agent.provenance.outputs.facts import Fact, Facts, is_statistic
from workers.agent.provenance.ranks.clauses import blank, unknown_words
from workers.agent.provenance.ranks.words import CJK_FUNCTION, RESTRICTS
from workers.agent.provenance.statements.people import CJK_PEOPLE, PEOPLE

_NO = frozenset((word,) for word in ("false", "no", "n", "nein", "non", "否", "无"))
_YES = frozenset((word,) for word in ("true", "yes", "y", "ja", "oui", "sí", "si", "是", "有"))
_NEGATION = re.compile(
    rf"{NEGATION.pattern}|\b(?:false|un\w+ed|falsch|faux|falso)\b|\b(?:are|is|were|was|be) left\b", re.IGNORECASE
)
_LEFT = ("left",)
_HAVE = re.compile(
    r"\b(?:have|has|had|having|got|there|with|keeps?|kept|only|just|merely|still)\b|['’]ve\b", re.IGNORECASE
)
_LEFT_OVER = re.compile(r"\bleft[\s\u2060]+over\b", re.IGNORECASE)
_OF = re.compile(
    r"\b(?:of|among|von|unter|der|des|de|parmi|entre)[\s\u2060]+(?:the |our |den |los |las |les )?$", re.IGNORECASE
)
_BETWEEN = PEOPLE.union(
    CJK_PEOPLE,
    map(
        stem,
        "of the our all these those have has had were was are is been already der die das den des unserer haben hat "
        "hatten wurde wurden sind waren ist war von de la los las les nos ont a été sont était étaient se han ha "
        "fueron fue están".split(),
    ),
)
"""Words that may stand between a figure and what it did, beside the whole."""
_AT_THE_END = frozenset("た ま す し ち 了".split())
_INFLECTED = 5


def other_part(claim: Claim, fact: Fact, scene: Scene, facts: Facts) -> Fact | None:
    """The other part, where a sentence has its name behind the value of this fact; else None."""
    text = scene.reading.text
    if claim.in_table or fact.given or fact.turn or claim.numeral.sign or claim.numeral.unit in ("%", "pp"):
        return None
    sentence = text[slice(*claim.span)].replace("のうち", "")
    if _OF.search(text, claim.span[0], claim.start):
        return None  # "half of the 18 customers churned"
    if _NEGATION.search(sentence) or RESTRICTS.search(sentence) or OTHER_ROWS.search(sentence):
        return None
    for other, name in (*_opposite(fact), *_rest(claim, fact, scene, facts)):
        if name == _LEFT and (_HAVE.search(text, claim.span[0], claim.start) or _LEFT_OVER.search(sentence)):
            continue  # "we have 18 of the 30 left": they stayed
        if _says_more(claim, (fact, other), scene, facts):
            continue
        if other.value != fact.value and not scene.tells(claim, other) and _stands_behind(claim, name, scene):
            return other
    return None


def _says_more(claim: Claim, parts: tuple[Fact, Fact], scene: Scene, facts: Facts) -> bool:
    """Whether a sentence names other rows than those of the two parts, or has a figure that is not the whole. Then its
    figure may be a sum of other values: "across plans A and B 18 customers churned"."""
    whole = sum(each.scaled for each in parts)
    figures = [one.numeral for one in scene.figures(claim) if one is not claim]
    if any(all(value * one.scale != whole for value, _ in one.readings) for one in figures):
        return True
    own = {label for each in (*parts, *_beside(parts[0], facts)) for _, label in each.keys}
    return any(scene.is_of_rows(each) and each.label not in own for each in scene.within(*claim.span))


def _opposite(fact: Fact) -> Iterator[tuple[Fact, Key]]:
    """The row "yes" beside a row "no", with the name of the condition: the heading above both."""
    grid = fact.grid
    if grid is None or not grid.whole or len(column := grid.column(fact.column)) != 2:
        return
    labels = [[label for family, label in each.keys if not family.columns] for each in column]
    own = labels[column.index(fact)] if fact in column else []
    numbers = {each.column for each in grid.facts}
    names = [name for at, name in enumerate(grid.names) if at not in numbers and name]
    if len(names) == 1 and len(own) == 1 and own[0] in _NO and all(len(each) == 1 for each in labels):
        other = column[1 - column.index(fact)]
        if labels[column.index(other)][0] in _YES:
            yield other, names[0]


def _rest(claim: Claim, fact: Fact, scene: Scene, facts: Facts) -> Iterator[tuple[Fact, Key]]:
    """The other part of a whole that the sentence gives beside this one, with its name in the output."""
    said = words_in(scene.reading.text[slice(*claim.span)])
    wholes = [value for one in scene.figures(claim) if one is not claim for value, _ in one.numeral.readings[:1]]
    rests = {whole - fact.value for whole in wholes if whole > fact.value}
    found = [one for rest in rests for one in facts.near(rest, rest, percent=False) if one.value in rests]
    for other in (one for one in found if one is not fact and _are_beside(one, fact)):
        beside = _beside(fact, facts)
        own, name = (_name(one, [each for each in (fact, *beside) if each is not one]) for one in (fact, other))
        if own and name and said.isdisjoint(own):
            yield other, name


def _are_beside(one: Fact, other: Fact) -> bool:
    """Whether two values stand in one row, in one list of named figures, or in one line."""
    if one.grid is None or other.grid is None:
        return one.grid is other.grid and one.place[:4] == other.place[:4]
    return one.grid is other.grid and (one.row == other.row or one.grid.record)


def _beside(fact: Fact, facts: Facts) -> Sequence[Fact]:
    """The other values of a fact's row, of its list of named figures, or of its line."""
    among = facts.facts if fact.grid is None else fact.grid.facts
    return [one for one in among if one is not fact and _are_beside(one, fact)]


def _name(fact: Fact, others: Sequence[Fact]) -> Key:
    """What a fact is called, and none of the others beside it; () where that is in doubt, or only names a statistic."""
    theirs = {label for other in others for _, label in other.keys}
    labels = [label for _, label in fact.keys if not isinstance(label, Day) and label not in theirs]
    words = fact.words.difference(*(other.words for other in others))
    name = (labels[0] if len(labels) == 1 else ()) if fact.keys else tuple(words)
    return () if is_statistic(name) or not words.issuperset(name) or (not fact.keys and len(name) > 1) else name


def _stands_behind(claim: Claim, name: Key, scene: Scene) -> bool:
    """Whether a name is what a figure did: "18 customers left", "18 of the 30 customers left"."""
    text, names = scene.reading.text, [each[:2] for each in scene.within(claim.end, claim.clause[1])]
    behind = text[claim.end : claim.clause[1]]
    for one in scene.figures(claim):
        if claim.end <= one.start < claim.clause[1]:
            at = one.start - claim.end
            behind = behind[:at] + " " * (one.end - one.start) + behind[at + one.end - one.start :]
    found = tokens(behind if name[0] > "\u3000" else CJK_FUNCTION.sub(blank, behind))
    words = [word for _, _, word in found]
    for at, word in enumerate(words):
        if len(words) - at >= len(name) and all(map(_is_form, words[at:], name)):
            end = claim.end + found[at + len(name) - 1][1]
            return not unknown_words(text, (end, claim.clause[1]), names, _AT_THE_END)
        if word not in _BETWEEN and not CJK_FUNCTION.fullmatch(word):
            return False
    return False


def _is_form(word: str, name: str) -> bool:
    """Whether a word is a name, or a form of it: "churned" of "churn"."""
    short, long = sorted((word, name), key=len)
    return short == long or (len(short) >= _INFLECTED and long.startswith(short) and len(long) - len(short) < 3)
