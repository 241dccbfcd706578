"""The words of a report that rank: as first or last ("the largest"), or at another place ("third-largest", "rank 2").

As in `words.py`, the lists are rules of thumb for six languages. "Third quarter" and "second half" rank nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from workers.agent.provenance.claims.naming import Mention
from workers.agent.provenance.claims.reading import Reading
from workers.agent.provenance.language.numerals import FILLER
from workers.agent.provenance.language.words import stem
from workers.agent.provenance.ranks.words import KINDS, RANK


class Ranked(NamedTuple):
    """Words that rank, with their place in the report.

    `kind` says how: `level`, `size`, `lead`, `verb` or `best`. `up`: the highest is first. `at` is the place in this
    order, from 1. `word` is what says the order: "largest" of "third-largest". `ordered`: the place is all that is
    said, as in "rank 2", so a list may be ordered by anything.
    """

    start: int
    end: int
    word: str
    kind: str
    up: bool
    at: int = 1
    ordered: bool = False

    @property
    def span(self) -> tuple[int, int]:
        """Where the words begin and end."""
        return self.start, self.end


_PLACES = {
    word: place
    for place, words in enumerate(
        (
            "one eins ein uno un 一",
            "second seconde two zweit zwei vor segund dos deuxième deux 二 两",
            "third three dritt drei tercer tres troisième trois 三",
            "fourth four viert vier cuart cuatro quatrième quatre 四",
            "fifth five fünft fünf quint cinco cinquième cinq 五",
            "sixth six sechst sechs sext seis sixième 六",
            "seventh seven siebt siebent sieben séptim siete septième sept 七",
            "eighth eight acht octav ocho huitième huit 八",
            "ninth nine neunt neun noven nueve neuvième neuf 九",
            "tenth ten zehnt zehn décim diez dixième dix 十",
        ),
        1,
    )
    for word in words.split()
}
_DIGITS = r"\d{1,2}(?![\d.,]*\d|\s?[%％€$£¥]|[\w'’])"
_EN = r"second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d{1,2}(?:st|nd|rd|th)"
_EN_COUNT = r"one|two|three|four|five|six|seven|eight|nine|ten"
_DE = r"zweit|dritt|viert|fünft|sechst|siebt|siebent|acht|neunt|zehnt"
_DE_COUNT = r"eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn"
_ES = r"segund|tercer|cuart|quint|sext|séptim|octav|noven|décim"
_ES_COUNT = r"uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez"
_FR = (
    r"deuxième|seconde?|troisième|quatrième|cinquième|sixième|septième|huitième|neuvième|dixième|"
    r"\d{1,2}(?:e|è|ème|ième|nde?)"
)
_FR_COUNT = r"un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix"
_CJK = r"[二两三四五六七八九十]|\d{1,2}"
_ENDS = r"(?=\s*(?:[,.;:()–—，。；（）]|$|\n|(?:with|at|by|in|on|overall|behind|after|mit|bei|hinter|con|en|avec|à)\b))"
"""What may follow an ordinal that stands alone: "is third with 100", but not "is third quarter"."""
_EN_HINTS = (
    "second third fourth fifth sixth seventh eighth ninth tenth 1st 2nd 3rd 0th 1th 2th 3th 4th 5th 6th 7th 8th 9th"
)
_DE_HINTS = _DE.replace("|", " ")
_ES_HINTS = _ES.replace("|", " ")
_FR_HINTS = "ième second 0e 1e 2e 3e 4e 5e 6e 7e 8e 9e 0è 1è 2è 3è 4è 5è 6è 7è 8è 9è 1n 2n"
_NTH = (
    (
        _EN_HINTS,
        rf"\b(?P<n>{_EN})[- ](?:(?P<level_up>highest)|(?P<level_down>lowest)|"
        r"(?P<size_up>largest|biggest|greatest|most)|(?P<size_down>smallest|fewest|least)|"
        r"(?P<lead_up>strongest|best[- ]selling)|(?P<lead_down>weakest)|(?P<best_up>best)|"
        r"(?P<best_down>worst))(?![\w-])",
    ),
    (
        _DE_HINTS,
        rf"\b(?P<n>{_DE})-?(?:(?P<level_up>höchst)|(?P<level_down>niedrigst|tiefst)|(?P<size_up>grö(?:ß|ss)t|meist)|"
        r"(?P<size_down>kleinst|geringst|wenigst)|(?P<lead_up>stärkst)|(?P<lead_down>schwächst)|(?P<best_up>best)|"
        r"(?P<best_down>schlechtest))e[nrsm]?\b",
    ),
    (
        _ES_HINTS,
        rf"\b(?P<n>{_ES})[oa]?s? (?:(?P<noun>[^\W\d_]+) )?(?:(?P<level_up>más (?:alt|elevad)[oa]s?)|"
        r"(?P<level_down>más baj[oa]s?)|(?P<size_up>mayor(?:es)?|más grandes?|con más)|"
        r"(?P<size_down>menor(?:es)?|más pequeñ[oa]s?|con menos)|(?P<lead_up>más fuertes?)|"
        r"(?P<lead_down>más (?:débil|débiles|floj[oa]s?))|(?P<best_up>mejor(?:es)?)|"
        r"(?P<best_down>peor(?:es)?))(?![\w-])",
    ),
    (
        _FR_HINTS,
        rf"\b(?P<n>{_FR}) (?:(?!plus )(?P<noun>[^\W\d_]+) )?(?:l[ea]s? )?(?:"
        r"(?P<level_up>plus (?:élevée?s?|haute?s?))|(?P<level_down>plus bas(?:se)?s?|moins élevée?s?)|"
        r"(?P<size_up>plus (?:grande?s?|gros(?:se)?s?|importante?s?))|(?P<size_down>plus petite?s?)|"
        r"(?P<lead_up>plus fortes?)|(?P<lead_down>plus faibles?)|"
        r"(?P<best_up>meilleure?s?)|(?P<best_down>pires?))(?![\w-])",
    ),
    (
        "第",
        rf"(?<!倒数)(?<!点后)第\s?(?P<n>{_CJK})\s?(?:(?P<level_up>高(?![峰中等级]))|(?P<level_down>低)|"
        r"(?P<size_up>大(?![街道众陆])|多)|(?P<size_down>小(?![时学组节型])|少)|(?P<lead_up>强)|(?P<lead_down>弱)|"
        r"(?P<best_up>好)|(?P<best_down>差))",
    ),
    (
        "番目",
        rf"(?<!から)(?P<n>{_CJK})\s?番目に(?:(?P<level_up>高[いく])|(?P<level_down>低[いく])|"
        r"(?P<size_up>大き[いくな]|多[いく])|(?P<size_down>小さ[いくな]|少な[いく])|(?P<lead_up>強[いく])|"
        r"(?P<lead_down>弱[いく]))",
    ),
)
_PLACED = (
    (
        _EN_HINTS,
        rf"\b(?:ranks?|ranked|(?:comes|came|sits|stands)(?: in)?|finishe[sd]|placed?|places|is|was) "
        rf"(?P<n>{_EN}){_ENDS}",
    ),
    (
        _EN_HINTS,
        rf"\b(?:(?:ranks?|ranked|comes|came|finishe[sd]|is|was) )?(?:in |at )?"
        rf"(?P<n>{_EN})[- ](?:place|position|rank)\b",
    ),
    (
        "rank position place number nr. no. #",
        r"(?:\b(?:ranks?|ranked|ranking|position|(?:is|at) place|(?:is|the|our) number|nr\.|"
        rf"(?<!\w)no\.)\s?#?|(?<![\w#&])#)\s?(?P<n>{_DIGITS}|(?:{_EN_COUNT})\b)",
    ),
    (_DE_HINTS, rf"\b(?:belegte?n? )?(?:d[eo][nr] )?(?P<n>{_DE})e[nrsm]? (?:Stelle|Platz|Rang)\b"),
    (
        "platz rang position nummer",
        rf"\b(?:Platz|Rang|Position|(?:die|als|ist) Nummer) (?P<n>{_DIGITS}|(?:{_DE_COUNT})\b)",
    ),
    ("stelle platz rang", r"(?<![\w.,])(?P<n>\d{1,2})\. (?:Stelle|Platz|Rang)\b"),
    (_ES_HINTS, rf"\b(?:ocup(?:a|ó|an) (?:el |la )?)?(?P<n>{_ES})[oa]? (?:lugar|puesto|posición)\b(?!,)"),
    (
        "puesto posición número nº n° n.º n.°",
        rf"\b(?:puesto|posición|(?:el|la|es) número|n\.?[º°])\s(?P<n>{_DIGITS}|(?:{_ES_COUNT})\b)",
    ),
    (_FR_HINTS, rf"\b(?:(?:se classe|arrive|est|était|termine) )(?P<n>{_FR}){_ENDS}"),
    (_FR_HINTS, rf"\b(?:(?:arrive|occupe) (?:en |à |au )?(?:la |le )?)?(?P<n>{_FR}) (?:place|position|rang)\b"),
    (
        "rang place position numéro n° nº",
        rf"\b(?:rang|place|position|(?:le|la|est) numéro|n[°º])\s(?P<n>{_DIGITS}|(?:{_FR_COUNT})\b)",
    ),
    ("第", rf"(?:排名?(?:在|为)?|[位名]?[居列])第\s?(?P<n>{_CJK})\s?[位名]?(?![季次個个批期年月天组周轮阶\d.,%])"),
    ("第", rf"(?<!倒数)(?<!点后)(?<!小数)(?<!以下)第\s?(?P<n>{_CJK})\s?[名位](?![置数])"),
    ("位", rf"(?<![\d.,第])(?<![上下]位)(?<!トップ)(?<!ワースト)(?P<n>{_CJK})\s?位(?![置数以])"),
)
_FROM_BELOW = (
    ("last", r"\b(?P<n>second|third)[- ](?:to|from)[- ]last\b"),
    ("letzte", r"\b(?P<n>vor|dritt)letzte[nrsm]? (?:Platz|Rang|Stelle)\b"),
    ("倒数第", rf"倒数第\s?(?P<n>{_CJK})(?![季次個个批期年月天组周轮阶\d.,%])"),
    ("下から", rf"下から\s?(?P<n>{_CJK})\s?番目"),
)
_BEHIND = (
    r"\b(?:second only to|nur (?:noch )?hinter|nur (?:noch )?von|(?:solo|sólo) (?:por detrás de|superad[oa]s? por)|"
    r"(?:juste|seulement) derrière|derrière (?:seulement|uniquement))\s+(?:the |der |dem |den |die |el |la |le )?|"
    r"[仅僅]次[于於]\s?"
)
_BEHIND_CJK = r"\s?に次[いぐ]で?"


_FORMS = tuple(
    (re.compile(pattern, re.IGNORECASE), order, hints.split())
    for order, forms in (("", _NTH), ("lead_down", _FROM_BELOW), ("lead_up", _PLACED))
    for hints, pattern in forms
)
"""Each pattern, the order that it says, and parts of words. A text without any of these parts has nothing that the
pattern finds, and looking for them takes less time."""
_NEXT_TO_FIRST = re.compile(_BEHIND, re.IGNORECASE)
_NEXT_TO_FIRST_BEHIND_NAME = re.compile(_BEHIND_CJK)
BEHIND_ROWS = re.compile(
    r",?\s+(?:behind|after|hinter|nach|detrás de|tras|por detrás de|derrière|après)\s+(?:the |der |dem |el |la |le )?|"
    r"\s*[,，]?\s*[仅僅]?次[于於]\s?",
    re.IGNORECASE,
)
"""What stands before the names of rows that are before one: "second, behind North"."""
_AND = re.compile(r"\s*(?:,|、|和|と|\band\b|\bund\b|\by\b|\bet\b)\s*", re.IGNORECASE)
_LEFT_OUT = re.compile(rf"\bno\.\s?\d{{1,2}}\b|第\s?(?:{_CJK})\s?[名位]", re.IGNORECASE)
"""Ranks that a report's text has blanks for, as if they were names of parts: "No. 2"."""


def text_of(reading: Reading) -> str:
    """The report with blanks in place of what claims nothing. Ranks stay in it."""
    chars = list(reading.text.replace(FILLER, " "))
    for match in _LEFT_OUT.finditer(reading.written):
        chars[slice(*match.span())] = match[0]
    return "".join(chars)


def find_ranks(text: str, mentions: Sequence[Mention]) -> list[Ranked]:
    """The words of a text that rank, in order, none inside another. `mentions` are the names in it, in order."""
    found = [*_next_to_first(text, mentions)]
    folded = text.casefold()
    for pattern, order, hints in _FORMS:
        if not any(hint in folded for hint in hints):
            continue
        for match in pattern.finditer(text):
            if (one := _read(match, order)) is not None:
                found.append(one._replace(end=_behind_leaders(one, text, mentions)))
    for match in RANK.finditer(text):
        kind, _, way = (match.lastgroup or "").partition("_")
        found.append(Ranked(*match.span(), match[0], kind, way == "up"))
    kept: list[Ranked] = []
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _read(match: re.Match[str], order: str) -> Ranked | None:
    noun = match.groupdict().get("noun")
    if noun and stem(noun.casefold()) not in KINDS:
        return None  # "la segunda parte más grande"
    groups = {name: text for name, text in match.groupdict().items() if name not in ("n", "noun") and text}
    name = order or next(iter(groups))
    kind, _, way = name.partition("_")
    place = _place(match["n"])
    return None if not place else Ranked(*match.span(), groups.get(name, ""), kind, way == "up", place, bool(order))


def _behind_leaders(one: Ranked, text: str, mentions: Sequence[Mention]) -> int:
    """Where the words end together with the rows that are before this one: "third behind North and West"."""
    end, cue = one.end, BEHIND_ROWS
    for _ in range(one.at - 1):
        match = cue.match(text, end)
        at = bisect_left(mentions, match.end(), key=lambda each: each.start) if match else len(mentions)
        if match is None or at == len(mentions) or mentions[at].start != match.end():
            break
        end, cue = mentions[at].end, _AND
    return end


def _place(text: str) -> int:
    """The place that an ordinal or a number says, 0 for none."""
    digits = "".join(char for char in text if char.isascii() and char.isdigit())
    return int(digits) if digits else _PLACES.get(text.casefold(), 0)


def _next_to_first(text: str, mentions: Sequence[Mention]) -> list[Ranked]:
    """ "Second only to North" and the like, with the name that belongs to it."""
    found = []
    ends = sorted((each.end, each.start) for each in mentions)
    for match in _NEXT_TO_FIRST.finditer(text):
        at = bisect_left(mentions, match.end(), key=lambda each: each.start)
        if at < len(mentions) and mentions[at].start == match.end():
            found.append(Ranked(match.start(), mentions[at].end, "", "lead", up=True, at=2, ordered=True))
    for match in _NEXT_TO_FIRST_BEHIND_NAME.finditer(text):
        at = bisect_left(ends, (match.start(), -1))
        if at < len(ends) and ends[at][0] == match.start():
            found.append(Ranked(ends[at][1], match.end(), "", "lead", up=True, at=2, ordered=True))
    return found
