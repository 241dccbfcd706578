"""Changes that contradict the two levels beside them: "from 100 to 120, up 25 %"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from workers.agent.provenance.claims.matching import bounds
from workers.agent.provenance.claims.reading import Claim, Reading
from workers.agent.provenance.consistency.amounts import PERCENT, Amount, Contradiction, as_number, text_of, where
from workers.agent.provenance.language.numerals import FILLER
from workers.agent.provenance.language.words import DOWN, UP, says

_FROM = re.compile(r"(?:\b(?:from|von|de|depuis|desde)|从|由)[\s*_]*$", re.IGNORECASE)
_TO = re.compile(r"[^\d.;:!?()|,、，]{0,40}?(?:\b(?:to|auf|à|a)|到|至|升至|降至|增至|增到|降到)[\s*_]*", re.IGNORECASE)
_ARROW = re.compile(r"[^\d.;:!?()|,]{0,25}?(?:→|->|⟶|➔|=>)[\s*_]*")
_KARA = re.compile(r"[^\d。、（）]{0,12}から[^\d。、（）]{0,12}")
_KARA_ENDS = re.compile(r"[^\d。、（）]{0,4}?(?:へ|に|まで)")
_BETWEEN = re.compile(r"[^\d;:!?|()（）]{0,24}[,(（，、–—]?[^\d;:!?|()（）]{0,30}")
_BRACKET = re.compile(r"[^\d.;:!?|()（）]{0,16}[,(（，、–—]?[\s]*")
_LINK = re.compile(
    r"\s*(?:(?:へ|に|まで)[^\d。、（）]{0,6})?[,(（，、–—]?\s*"
    r"(?:(?:i\.e\.|that is|also|d\.h\.|soit|es decir|つまり|即|是)\s*)?"
)
_BY_SO_MUCH = re.compile(r"\s*[,(（–—]?\s*(?:also\s|soit\s|es decir,?\s|i\.e\.\s)?\s*(?:by|um|de|en un|un)\s+")
_FROM_HERE = re.compile(r"\s*[,(（]?\s*(?:(?:from|von|de|depuis|desde)\s*|从|由)?")
_BY = re.compile(r"\b(?:by|um|de|un|en(?: un)?|d[’']|of|plus|minus|moins|más|menos)[\s*_]*$", re.IGNORECASE)
_ELSE = re.compile(
    r"[\s)）]*(?:(?:of|off|der|des|von|vom|aller|du|del|las|los|der|dieser)\b|de (?:la|los|las|l|plus de|ces)\b|の|"
    r"p\. ?a\b|per\b|pro\b|par\b|por\b|a (?:year|month)|each\b|above|below|over\b|under\b|than|as\b|vs\b|share|"
    r"über\b|unter\b|im Jahr|im Monat|pts?\b|points?\b|p\.p)",
    re.IGNORECASE,
)
"""What stands behind a percentage that is of something else."""
_OF_MEANS = re.compile(
    r"\b(?:CAGR|annual\w*|annuali[sz]ed|yearly|monthly|per (?:year|month|week|day)|a (?:year|month)|averag\w*|"
    r"compound\w*|adjust\w*|inflation|real(?:ly)?|like.for.like|weighted|respectively|each|ranges?|between|"
    r"jährlich\w*|monatlich\w*|pro (?:Jahr|Monat|Woche|Tag)|durchschnitt\w*|im (?:Schnitt|Mittel)|bereinigt\w*|"
    r"jeweils|zwischen|beziehungsweise|bzw|par (?:an|mois)|annuel\w*|mensuel\w*|en moyenne|moyenne|corrig\w*|"
    r"respectivement|chacun\w*|entre|por año|al año|anual\w*|mensual\w*|promedio|media|ajustad\w*|"
    r"respectivamente|cada|confidence|interval\w*|CI|KI|IC|log|index\w*)\b|平均|年均|年率|毎|每|分别|それぞれ|区间|区間",
    re.IGNORECASE,
)
"""Words of a sentence whose percentage may rest on more than its two levels."""
_REACH = 64
_SHARP = 3.0


def in_sentences(reading: Reading) -> Iterator[Contradiction]:
    """The changes of a report's sentences that do not follow from the two levels beside them."""
    spans: dict[tuple[int, int], list[Claim]] = {}
    for claim in reading.claims:
        if not claim.in_table:
            spans.setdefault(claim.span, []).append(claim)
    for span, figures in spans.items():
        claims = [claim for claim in figures if claim.numeral.kind == "number"]
        if len(claims) < 3 or _OF_MEANS.search(reading.text, *span):
            continue
        for at in range(len(claims) - 1):
            old, new = claims[at], claims[at + 1]
            if not _are_levels(old, new, reading.text, figures):
                continue
            for change in _changes(claims, at, reading):
                if (given := _contradicted(old, new, change, reading)) is not None:
                    by = f"{text_of(old)} → {text_of(new)}"
                    yield Contradiction("change", text_of(change), where(change, reading)[:300], given, by)


def _are_levels(old: Claim, new: Claim, text: str, figures: Sequence[Claim]) -> bool:
    """Whether a sentence with these figures goes from one to another."""
    if old.numeral.unit != new.numeral.unit or old.numeral.sign < 0 or new.numeral.sign < 0:
        return False
    between = text[old.end : new.start].replace(FILLER, " ")
    before = text[max(old.span[0], old.start - 20) : old.start].replace(FILLER, " ")
    if any(other.start >= old.end and other.end <= new.start for other in figures):
        return False
    led = _FROM.search(before)
    if led and _TO.fullmatch(between) and before[: led.start()].strip():
        return True  # a sentence that begins with "From 100 to 120" may speak of a range
    if _KARA.fullmatch(between) and _KARA_ENDS.match(text, new.end):
        return True
    return _ARROW.fullmatch(between) is not None


def _changes(claims: Sequence[Claim], at: int, reading: Reading) -> Iterator[Claim]:
    """The figure right behind two levels, or right before them, that tells how much lies between them."""
    old, new, text = claims[at], claims[at + 1], reading.text
    if at + 2 < len(claims):
        change = claims[at + 2]
        between = text[new.end : change.start].replace(FILLER, " ")
        if change.start - new.end <= _REACH and _is_free(change, reading):
            behind = text[change.end : change.end + 14]
            signed = change.numeral.sign != 0 and _BRACKET.fullmatch(between) is not None
            led = _BETWEEN.fullmatch(between) is not None and _points(between)
            followed = _LINK.fullmatch(between) is not None and _points(_until_stop(behind))
            before = text[change.span[0] : old.start]
            worded = led or followed or (_BY_SO_MUCH.fullmatch(between) is not None and _points(before))
            if signed or worded:
                yield change
    if at and not (at + 2 < len(claims) and claims[at + 2].start - new.end <= 3):
        change = claims[at - 1]
        between = text[change.end : old.start].replace(FILLER, " ")
        before = text[max(change.span[0], change.start - 40) : change.start].replace(FILLER, " ")
        closed = any(sign in between for sign in ",;:.!?、，。|(（")
        if len(between) > 30 or (closed and not _FROM_HERE.fullmatch(between)):
            return
        signed = change.numeral.sign != 0
        if signed or (_BY.search(before) and _points(before)) or re.search(rf"(?:{_WAY})[\s*_]*$", before):
            yield change


_WAY = (
    r"\b(?:up|down|plus|minus|rose|fell|grew|increased|decreased|declined|dropped|gained|lost)|"
    r"增长|上升|下降|减少|增加|上涨|下跌"
)


def _points(text: str) -> bool:
    return says(UP, text) or says(DOWN, text)


def _until_stop(text: str) -> str:
    return re.split(r"[,.;:()（）、，。]", text)[0]


def _is_free(change: Claim, reading: Reading) -> bool:
    """Whether nothing behind a change says that it is of something else."""
    return _ELSE.match(reading.text[change.end : change.end + _REACH].replace(FILLER, " ")) is None


def _contradicted(old: Claim, new: Claim, change: Claim, reading: Reading) -> str | None:
    """What the change between two levels is, when the one that is told is clearly another; else None."""
    told = _widest(change, 0, reading)
    given = [
        _given(old.numeral.unit, change, told, (_widest(old, way, reading), _widest(new, way, reading)))
        for way in range(max(len(old.numeral.readings), len(new.numeral.readings)))
    ]
    if len(change.numeral.readings) != 1 or not given or None in given:
        return None
    return as_number(given[-1] or 0.0, change)


def _given(own: str, change: Claim, told: Amount, levels: tuple[Amount, Amount]) -> float | None:
    """What two levels give in place of a change; None where it fits, or where rounding leaves too much open."""
    unit, (a, b) = change.numeral.unit, levels
    if a.value - a.slack <= 0:
        return None
    ratio = b.value / a.value
    corners = [(b.value + y * b.slack) / (a.value + x * a.slack) for x in (-1, 1) for y in (-1, 1)]
    reach = max(abs(each - ratio) for each in corners) * 100
    difference, growth = (b.value - a.value, a.slack + b.slack), ((ratio - 1) * 100, reach)
    if unit == "%":
        kinds = [difference, growth] if own == "%" else [growth, (ratio * 100, reach)]
    elif (unit == "pp" and own == "%") or (unit == own and unit not in PERCENT):
        kinds = [difference]
    else:
        return None
    if any(abs(abs(value) - abs(told.value)) <= room + _SHARP * told.slack for value, room in kinds):
        return None
    if not (change.numeral.sign or unit):
        return None  # a bare number may be anything
    value, room = kinds[0]
    return None if room > max(abs(value) / 2, told.slack * 2) else value


def _widest(claim: Claim, way: int, reading: Reading) -> Amount:
    """The widest size that a figure may stand for: "about 1,200", or rounded to its zeros."""
    one = claim.numeral
    value, decimals = one.readings[min(way, len(one.readings) - 1)]
    size = value * one.scale
    slack = max((each.slack for each in bounds(claim, reading.text) if math.isclose(each.value, size)), default=0.0)
    loose = [each for each in bounds(claim, reading.text) if each.coarse]
    fine = 0.5 * 10.0 ** -min(decimals, 0) * one.scale if decimals < 0 else 0.5 * 10.0**-decimals * one.scale
    return Amount(size, max(slack, fine, *(each.slack + abs(each.value - size) for each in loose)))
