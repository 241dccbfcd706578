"""Reads the limit of a scheduled report: “only when the churn rate goes above 12 %”. Pure. Texts are case-folded."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from core.values import Value

Crossing = Literal["above", "below", "either"]


class Threshold(Value):
    """Say it only when this figure crosses that limit. `name` are words that stand near the figure, "" for the first.

    `percent`: the limit is in percent, and so is the figure.
    """

    name: str = ""
    crossing: Crossing = "either"
    limit: float
    percent: bool = False


class Limited(NamedTuple):
    """What a text says about a limit: the limit, the text without it, and whether all of it could be read."""

    threshold: Threshold | None
    rest: str
    is_read: bool


_SCALES = {
    "k": 1e3, "thousand": 1e3, "千": 1e3, "万": 1e4, "百万": 1e6, "m": 1e6, "mn": 1e6, "million": 1e6, "亿": 1e8,
    "bn": 1e9, "billion": 1e9,
}  # fmt: skip
_CURRENCY = r"(?:us\$|[$€£¥]|(?:eur|usd|gbp|cny|chf)\b)?\s*"
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_NUMBER = (
    rf"{_CURRENCY}(-?(?:\d{{1,3}}(?:,\d{{2,3}})*,\d{{3}}|\d+)(?:\.\d+)?)(?![.,]?\d)"
    rf"\s*(%|percent\b|(?:{_SCALE})(?![a-z]))?(?!\d|\s\d{{3}}\b)"
)
"""Commas stand before groups of digits: “12,5” could be another number than its digits, so it is no number here."""
_ABOVE = r"above|over|exceeds|exceed|more than|greater than|>(?!=)|高于|超过|大于"
_BELOW = r"below|under|less than|<(?!=)|低于|少于|小于|跌破"
_ONLY = re.compile(
    rf"\bonly\s+(?:when|if)\s+(?:the\s+)?(.{{0,80}}?)\s*(?:\b(?:are|is|stays?|goes|go|gets?)\b\s*)?"
    rf"(?:\b(?:rises?|falls?|drops?|climbs?)\s+(?=above|over|below|under))?"
    rf"(crosses|cross|{_ABOVE}|{_BELOW})\s*{_NUMBER}"
)
_ONLY_ZH = re.compile(rf"(?:只|仅)(?:在|当|有)?(.{{0,40}}?)(越过|{_ABOVE}|{_BELOW})\s*{_NUMBER}")
_CHANGES = re.compile(
    r"\b(?:not|never|no longer|by)\b|n't\b"
    r"|\b(?:rises?|rose|falls?|fell|drops?|dropped|grows?|grew|increases?|decreases?|declines?|changes?)$"
    r"|不(?:再|是|会)?$|(?:变化|增长|下降|上升|增加|减少)了?$"
)
"""With such words before it, the number is no limit of the figure itself: “sales fall by more than 10 %”."""
_CONDITION = re.compile(
    r"\b(?:only|when|whenever|if|unless|provided|as long as)\b|如果|除非|[只仅](?:在|当|有)|才"
    r"|\b(?:nur|wenn|falls|sofern)\b|\b(?:s[oó]lo|si|cuando)\b|\b(?:seulement|quand|lorsque|si)\b"
    r"|(?:とき|時|場合)(?:だけ|のみ)"
)
_AND_MORE = re.compile(rf"\b(?:and|or)\b.{{0,60}}\b(?:{_ABOVE}|{_BELOW})|[或且].{{0,30}}(?:{_ABOVE}|{_BELOW})")


def read_threshold(said: str) -> Limited:
    """The limit that a text names. A number in it is no time, so `rest` is to be read for times."""
    found = _ONLY.search(said) or _ONLY_ZH.search(said)
    if found is None:
        return Limited(None, said, _CONDITION.search(said) is None)
    rest = said[: found.start()] + said[found.end() :]
    name, word = found[1].strip(" ,，的"), found[2]
    is_read = not (_CHANGES.search(name) or _AND_MORE.search(rest[found.start() :]) or _CONDITION.search(rest))
    crossing: Crossing = "above" if re.fullmatch(_ABOVE, word) else "below" if re.fullmatch(_BELOW, word) else "either"
    limit = float(found[3].replace(",", "")) * _SCALES.get(found[4] or "", 1.0)
    threshold = Threshold(
        name="" if name in ("it", "它") else name, crossing=crossing, limit=limit, percent=found[4] in ("%", "percent")
    )
    return Limited(threshold, rest, is_read)
