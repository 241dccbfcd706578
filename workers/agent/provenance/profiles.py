"""Which figures a number of a file's profile proves.

A profile is what is told of a file before any cell runs: hundreds of counts, quantiles and samples. Many figures of two
or three digits are among them by chance, so such a number proves only what the sentence says of it.
"""

from __future__ import annotations

import re

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.naming import inflected
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.claims.statistic_words import statistic_told, statistics_named
from workers.agent.provenance.derivations.columns import significant
from workers.agent.provenance.language.words import half_said, says, words_in
from workers.agent.provenance.outputs.facts import Fact, Facts, Told
from workers.agent.provenance.ranks.words import RANK

_SURE_DIGITS = 4
"""A value with so many digits is hardly there by chance."""
_COUNTED = frozenset(("", "d", "w", "mo", "a"))
"""The units of a count: none, or those of rows that are days, weeks, months or years."""
_COLUMNS = re.compile(
    r"\b(?:columns?|fields?|variables?|features?|spalten?|felde?r?n?|merkmalen?|colonnes?|champs?|columnas?|campos?)\b"
    r"|列|字段|变量|カラム|項目|変数",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"\b(?:missing|empty|blank|null|nan|without|lack\w*|no|none|not|fehl\w*|leere?[nrsm]?|ohne|keine?[nrsm]?|nicht|"
    r"manqu\w*|vides?|sans|pas|non|aucune?|faltan?\w*|vac[ií][oa]s?|sin|ningun[oa]?)\b"
    r"|缺|空|没有|无|未|欠|ない|なし|ありません",
    re.IGNORECASE,
)
_ENDS = {"level_up": "max", "size_up": "max", "level_down": "min", "size_down": "min"}
_SAID = {"columns": _COLUMNS, "missing": _MISSING, "share": _MISSING}
"""Words that say what is counted, in six languages."""


_TO = re.compile(r"\s*(?:to|and|bis|und|à|et|a|y|[-–—~～〜]|至|到|和|から)\s*", re.IGNORECASE)


def proves(claim: Claim, fact: Fact, scene: Scene, facts: Facts) -> bool:
    """Whether a fact is of no profile, or the claim says what it is.

    A count has no unit, and only that of rows a scale ("1.2 million"). A number of rows stands for itself, as rows go
    by any noun. A number of columns or of missing values has a word for these. "3.5 to 98" says both ends of a column.
    Everything else has the name of its column, level or sample row in its sentence or
    heading. This may be translated where the sentence names the statistic, or the figure has many digits.
    """
    if fact.told is None:
        return True
    what, names = fact.told
    one = claim.numeral
    is_count = what in ("rows", "columns", "missing", "count")
    if is_count and (one.unit not in _COUNTED or one.sign or (one.scale != 1.0 and what != "rows")):
        return False
    told = statistic_told(claim, scene.reading.text)
    if told and what != told:
        return False
    text = _text_around(claim, scene)
    if what == "rows" or (what in _SAID and says(_SAID[what], text)):
        return True
    if significant(claim) >= _SURE_DIGITS or what in _statistics(text) or _is_an_end(claim, fact.told, scene, facts):
        return True
    words = scene.words_of(claim) | words_in(_heading(claim, scene))
    return any(half_said(form, words) for name in names if name for form in (name, *inflected(name)))


def _is_an_end(claim: Claim, told: Told, scene: Scene, facts: Facts) -> bool:
    """Whether the claim is one end of a range in a sentence, and the other end is that of the same column."""
    if claim.in_table or told.what not in ("min", "max"):
        return False
    for other in scene.figures(claim):
        first, second = (claim, other) if told.what == "min" else (other, claim)
        if _TO.fullmatch(scene.reading.text, first.end, max(second.start, first.end)):
            wanted = Told("max" if told.what == "min" else "min", told.names)
            ends = (value * other.numeral.scale for value, _ in other.numeral.readings)
            return any(each.told == wanted for end in ends for each in facts.near(end, end, percent=False))
    return False


def _text_around(claim: Claim, scene: Scene) -> str:
    return f"{claim.row} {claim.column} " if claim.in_table else scene.reading.text[slice(*claim.span)]


def _heading(claim: Claim, scene: Scene) -> str:
    above = [span for span in scene.reading.headings if span[1] <= claim.start]
    return scene.reading.text[slice(*above[-1])] if above else ""


def _statistics(text: str) -> set[str]:
    """The statistics that a sentence names; the highest value is the maximum."""
    ranks = (match.lastgroup or "" for match in RANK.finditer(text))
    return {*statistics_named(text), *(_ENDS[rank] for rank in ranks if rank in _ENDS)}
