"""Statistics that sentences and labels name: mean, median, maximum, minimum, standard deviation."""

from __future__ import annotations

import re

from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.outputs.facts import Fact, Family, Label

_IN_TEXT = re.compile(
    r"(?P<mean>\b(?:means?|averages?|avg|durchschnitt\w*|mittelwert\w*|im (?:schnitt|mittel)|moyen(?:ne)?s?|"
    r"promedios?|(?:la|una?|de) media)\b|平均)|"
    r"(?P<median>\b(?:medians?|mediane?[ns]?|médianes?|mediana)\b|中位数|中央値)|"
    r"(?P<max>\b(?:max|maxim(?:um|al\w*)|máxim[ao])\b|最大值|最大値|最高值)|"
    r"(?P<min>\b(?:min(?=\.? )|minim(?:um|al\w*)|mínim[ao])\b|最小值|最小値|最低值)|"
    r"(?P<std>\b(?:std|standard deviation|standardabweichung|écart[- ]type|desviación (?:estándar|típica))\b|"
    r"标准差|標準偏差)",
    re.IGNORECASE,
)
_IN_LABELS = {
    "mean": "mean", "avg": "mean", "average": "mean", "mittelwert": "mean", "durchschnitt": "mean", "moyenne": "mean",
    "promedio": "mean", "median": "median", "p50": "median", "mediane": "median", "médiane": "median",
    "mediana": "median", "max": "max", "maximum": "max", "largest": "max", "highest": "max", "min": "min",
    "minimum": "min", "smallest": "min", "lowest": "min", "std": "std", "stdev": "std", "stddev": "std",
}  # fmt: skip
_QUARTILES = frozenset((("25",), ("50",), ("75",)))
_PERCENTILE = re.compile(r"p\d\d")
_GAP = re.compile(r"[^\d,;:()（）]{0,32}[:=]?[\s\u2060]*(?:[$€£¥][\s\u2060]*)?")
_APART = re.compile(
    r"\b(?:than|below|under|above|over|unter|über|als|de plus|de moins|inférieur\w*|supérieur\w*|que|and|und|et|y|but|"
    r"aber|by|um)\b|低于|高于|超过|以下|以上|より|和|与",
    re.IGNORECASE,
)
"""Words that make a figure another one than the statistic before it: "the average is above 19.90"."""
_BEHIND = re.compile(
    r"\W{0,3}(?:times|mal|[x×]|-?fach\w*|fois|veces)[\s\u2060]+(?:the|der|des|die|das|la|le|el|as)?\W{0,2}",
    re.IGNORECASE,
)
_BEFORE_CHARS, _BEHIND_CHARS = 48, 24


def statistic_told(claim: Claim, text: str) -> str:
    """The statistic that a sentence says its figure is: "the median order costs 31.50". "" for none."""
    if claim.in_table:
        return ""
    found = list(_IN_TEXT.finditer(text, max(claim.clause[0], claim.start - _BEFORE_CHARS), claim.start))
    if not found:
        return ""
    gap = text[found[-1].end() : claim.start]
    return (found[-1].lastgroup or "") if _GAP.fullmatch(gap) and not _APART.search(gap) else ""


def statistic_compared(claim: Claim, text: str) -> str:
    """The statistic that a figure is a multiple of: "12.7 times the median", "中位数的12.7倍". "" for none."""
    if behind := _BEHIND.match(text, claim.end):
        match = _IN_TEXT.match(text, behind.end(), behind.end() + _BEHIND_CHARS)
        return (match.lastgroup or "") if match else ""
    found = list(_IN_TEXT.finditer(text, max(claim.span[0], claim.start - 8), claim.start))
    near = found and re.fullmatch(r"[的の][\s\u2060]*", text[found[-1].end() : claim.start])
    return (found[-1].lastgroup or "") if near and text[claim.end : claim.end + 2].strip()[:1] == "倍" else ""


def statistics_named(text: str) -> frozenset[str]:
    """All statistics that a sentence names."""
    return frozenset(match.lastgroup or "" for match in _IN_TEXT.finditer(text))


def statistic_of(fact: Fact) -> str:
    """The statistic that the labels of a fact name; "" for none or for several."""
    kinds = {kind for family, label in fact.keys for kind in _kinds(label, family)}
    if not fact.keys:
        kinds = {_IN_LABELS[word] for word in fact.words if word in _IN_LABELS}
    return kinds.pop() if len(kinds) == 1 else ""


def _kinds(label: Label, family: Family) -> set[str]:
    if isinstance(label, Day):
        return set()
    if label in _QUARTILES and family.labels.keys() >= _QUARTILES:
        return {"median"} if label == ("50",) else {"quartile"}
    return {_IN_LABELS[word] for word in label if word in _IN_LABELS} | {
        "percentile" for word in label if word not in _IN_LABELS and _PERCENTILE.fullmatch(word)
    }


def is_of_another_statistic(claim: Claim, fact: Fact, text: str) -> bool:
    """Whether a sentence says that its figure is the mean, and the fact is the median of the same measure, whose mean
    the table holds too."""
    told = statistic_told(claim, text)
    if not told or fact.grid is None or statistic_of(fact) in ("", told):
        return False
    beside = (one for one in fact.grid.facts if one.column == fact.column or one.row == fact.row)
    return any(statistic_of(one) == told for one in beside)
