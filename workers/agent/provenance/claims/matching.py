"""Whether a fact can be what a claim says: by value, unit, sign and label."""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.claims.statistic_words import is_of_another_statistic
from workers.agent.provenance.language.numerals import Day, month_of
from workers.agent.provenance.language.words import (
    ABOUT,
    BACK,
    CHANGE_WORDS,
    CJK_GOOD,
    CURRENCIES,
    DOWN,
    FALL,
    GOOD,
    LEVEL_BEFORE,
    MAGNITUDE,
    NEARLY,
    NEGATION,
    OF_LESS,
    OVER,
    PERCENT_WORDS,
    STEPS,
    UNDER,
    UNITS,
    UP,
    has_word,
    key_of,
    says,
    stem,
    tokens,
    words_in,
)
from workers.agent.provenance.outputs.facts import Fact, Facts, Label

Reason = Literal["", "row", "unit", "sign", "earlier", "unknown", "tag", "chart", "rank", "only", "memory"]
"""Why no fact backs a claim: its value is of another row, unit, sign or turn, or nowhere; its token is wrong; a chart
shows another value; its sentence gives its row a rank, and another row has it; it calls its row the only one, and
another row is like it; it stands only in an entry of the team's memory, and the report does not say so."""

_SHOWN_SO = 0.5
"""Between two that fit as well, a number that is shown with just these digits comes before one that rounds to them."""
_PLAN = re.compile(r"\b(?:budget|plan|target|limit|soll|ziel)|预算|目标", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"[\s\u2060]*\([^()]*\)[\s\u2060]*")
"""A cell of a table that is all in brackets: accountants write a loss so, others a standard error."""
_MONEY = set(CURRENCIES.values())


class Candidate(NamedTuple):
    """A fact with the claim's value, and the reason against it ("" for none). `score` ranks those that fit."""

    fact: Fact
    against: Reason
    score: float
    strong: bool


class Bounds(NamedTuple):
    """The sizes that a claim's figure may stand for."""

    value: float
    slack: float
    coarse: bool


def bounds(claim: Claim, text: str) -> list[Bounds]:
    """What a claim's digits may stand for, with its scale and without its sign. The exact size comes first. The size
    that is rounded to its zeros comes last."""
    one = claim.numeral
    found = []
    for value, decimals in one.readings:
        fine = max(decimals, 0) if decimals < 0 else decimals
        found.append(Bounds(value * one.scale, 0.5 * 10.0**-fine * one.scale, False))
        digits = f"{value:.0f}" if decimals <= 0 and value == int(value) else ""
        zeros = len(digits) - len(digits.rstrip("0"))
        loose = _loosely(
            text, one.start, value * one.scale, 10.0 ** (zeros if digits else -decimals) * one.scale, one.scale
        )
        if loose is not None:
            found.append(loose)
        elif zeros >= 3 and len(digits) - zeros >= 2:
            found.append(Bounds(value * one.scale, 0.5 * 10.0**zeros * one.scale, True))
    return found


_ROUND = 5
"""A whole figure that ends with 5 or 0 is a round one: "about 75" may be 74.2."""


def _loosely(text: str, start: int, value: float, step: float, scale: float) -> Bounds | None:
    """The sizes that a figure stands for by the words before it ("about 1,000", "over 1,000"); None without any.

    `step` is the size of its last digit that is no zero. "About" and "nearly" reach no further than half the figure,
    however few digits it has. "About 77" is rounded to what it shows: 76.3 is 76. On the wrong side of "over" or
    "under" a real figure may be a tenth away.
    """
    near, wrong = min(step, value / 2), min(step, value / 10)
    is_round = step > scale or (step == scale and round(value / scale) % _ROUND == 0)
    about = near if is_round else min(near, step / 2)
    reaches = ((OVER, wrong, step), (UNDER, value, wrong), (NEARLY, near, wrong), (ABOUT, about, about))
    for cue, down, up in reaches:
        if cue.search(text, max(0, start - 16), start):
            return Bounds(value + (up - down) / 2, (down + up) / 2, True)
    return None


def candidates(claim: Claim, scene: Scene, facts: Facts, only_cell: int = 0) -> list[Candidate]:
    """The facts with the claim's value, best first. `only_cell`: only those of this cell."""
    text = scene.reading.text
    found: dict[int, Candidate] = {}
    words = scene.words_of(claim)
    for bound in bounds(claim, text):
        for fact, told in _of_value(claim, bound, facts, text):
            if id(fact) in found or (only_cell and fact.place.cell != only_cell):
                continue
            found[id(fact)] = _judged(claim, fact, scene, facts, words, told=told, coarse=bound.coarse)
    return sorted(found.values(), key=lambda each: (each.against != "", -each.score))


Told = Literal["", "fraction", "converted"]
"""How a claim states a fact: as it is, a fraction in percent or points, or in a smaller or larger unit."""


def _of_value(claim: Claim, bound: Bounds, facts: Facts, text: str) -> Iterator[tuple[Fact, Told]]:
    """The facts within these bounds, and how the claim states each."""
    value, slack = bound.value, bound.slack
    margin = 1e-9 * max(abs(value), slack)
    for fact in facts.near(value - slack, value + slack, percent=False):
        if _is_within(abs(fact.scaled), value, slack, fact.slack, margin):
            yield fact, ""
    if bound.coarse and value - slack <= margin:
        yield from ((fact, "") for fact in facts.near(0, 0, percent=False) if fact.value == 0 and "p" in fact.words)
    if claim.numeral.scale != 1.0 or facts.scales:
        for scale in facts.scales:
            for fact in facts.near((value - slack) / scale, (value + slack) / scale, percent=False):
                if fact.scale == 1.0 and _is_within(abs(fact.value) * scale, value, slack, fact.slack * scale, margin):
                    yield fact, ""
    if claim.numeral.unit in STEPS:
        yield from _converted(claim, bound, facts)
    if claim.numeral.unit in ("%", "pp") or in_points(claim, text):
        for fact in facts.near(value - slack, value + slack, percent=True):
            if _is_within(abs(fact.value) * 100, value, slack, fact.slack * 100, margin):
                yield fact, "fraction"


def in_points(claim: Claim, text: str) -> bool:
    """Whether the words around a number make it one of points: "0.49 points", 0.07 in "0.07 to 0.91 points", and both
    bounds in "38.7 points (37.0 to 40.5)"."""
    if claim.numeral.unit:
        return False
    return _IN_POINTS.match(text, claim.end) is not None or _is_bound_of_points(claim, text)


def _is_bound_of_points(claim: Claim, text: str) -> bool:
    start = text.rfind("(", max(0, claim.start - _LONGEST_REMARK), claim.start)
    end = text.find(")", claim.end, claim.end + _LONGEST_REMARK)
    if start < 0 or end < 0 or _POINTS_BEFORE.search(text, max(0, start - 24), start) is None:
        return False
    return _FROM_TO.search(text, start, end) is not None


_LONGEST_REMARK = 80
_POINTS_BEFORE = re.compile(r"(?:[%％]|\bpp|\bpoints?|[Pp]unkten?|\bpuntos?(?: porcentuales)?)[\s\u2060]*$")
_FROM_TO = re.compile(r"\d[\s\u2060]*(?:to|bis|and|und|à|a|y|et|,|–|-|～|~|至|到)[\s\u2060]*[-−+]?\d")


_IN_POINTS = re.compile(
    r"[\s\u2060]*(?:(?:to|and|bis|und|–|-|à|a|y|et)[\s\u2060]*[\d.,]+[\s\u2060]*)?(?:points?|Punkten?|puntos?)\b",
    re.IGNORECASE,
)
_FEWEST_DIGITS = 3
"""If the output names no unit, a figure in another unit needs this many digits."""
_NAMED_ONLY = ("time", "data")
"""Kinds of amounts with so many units that an output has to name its own."""


def _converted(claim: Claim, bound: Bounds, facts: Facts) -> Iterator[tuple[Fact, Told]]:
    """The facts that the claim states in another unit of the same kind: 4,240 kWh as 4.24 MWh."""
    kind, own = STEPS[claim.numeral.unit]
    digits = len(re.sub(r"\D", "", claim.numeral.text).strip("0"))
    for unit, (other, size) in STEPS.items():
        if other != kind or size == own:
            continue
        for factor in _factors(kind, own / size):
            value, slack = bound.value * factor, bound.slack * factor
            for fact in facts.near(value - slack, value + slack, percent=False):
                nameless = kind not in _NAMED_ONLY and not fact.unit and not fact.given and digits >= _FEWEST_DIGITS
                known = fact.unit == unit or nameless
                if known and _is_within(abs(fact.scaled), value, slack, fact.slack, 1e-9 * max(value, slack)):
                    yield fact, "converted"


def _factors(kind: str, factor: float) -> Sequence[float]:
    """How many of one unit another one is. A MB has 1,000 kB or 1,024 of them."""
    return (factor, 1024.0 ** (math.log10(factor) / 3)) if kind == "data" else (factor,)


def _is_within(size: float, value: float, slack: float, own: float, margin: float) -> bool:
    """Whether a size rounds to the claim. A fact that is no finer than the claim must be equal to it."""
    if own > slack * 0.99:
        return abs(size - value) <= margin
    return abs(size - value) <= slack + own + margin


def _judged(
    claim: Claim, fact: Fact, scene: Scene, facts: Facts, words: frozenset[str], *, told: Told, coarse: bool
) -> Candidate:
    agrees = scene.agrees(claim, fact)
    shared = len(fact.words & words)
    score: float = agrees * 4 + shared + (fact.turn == 0) * 2 - coarse * 3 - fact.given * 1
    score += (claim.in_table and scene.names_row(claim, fact)) * 2
    score += any(value == abs(fact.value) for value, _ in claim.numeral.readings) * _SHOWN_SO
    against: Reason = ""
    if not _unit_fits(claim, fact, scene, facts, words, told=told, agrees=agrees > 0):
        against = "unit"
    elif (
        _is_of_a_longer_name(claim, fact, words)
        or scene.conflict(claim, fact) is not None
        or is_of_another_statistic(claim, fact, scene.reading.text)
    ):
        against = "row"
    elif not sign_fits(claim, fact, scene):
        against = "sign"
    elif fact.turn < 0 and is_stale(claim, fact, scene, facts):
        against = "earlier"
    return Candidate(fact, against, score, agrees > 0)


def _is_of_a_longer_name(claim: Claim, fact: Fact, words: frozenset[str]) -> bool:
    """Whether a column of the report is called exactly like a column of the fact's table, and the fact stands in one
    beside it with more words, which the report does not say: "refund amount" and "refund amount gross"."""
    grid = fact.grid
    if grid is None or not claim.in_table or not 0 <= fact.column < len(grid.names):
        return False
    if {claim.numeral.unit, fact.unit} & {"%", "pp"} or fact.percent:
        return False  # "within SLA %" is no other measure than "within SLA", but its share
    said, own = key_of(claim.column), grid.names[fact.column]
    if not said or said not in grid.names or own[: len(said)] != said or len(own) == len(said):
        return False
    more = set(own[len(said) :]) - {claim.numeral.unit}
    beside = [other for other in grid.row(fact.row) if grid.names[other.column] == said]
    return bool(more) and more.isdisjoint(words) and len(beside) == 1


def _unit_fits(
    claim: Claim, fact: Fact, scene: Scene, facts: Facts, words: frozenset[str], *, told: Told, agrees: bool
) -> bool:
    unit, own, fraction = claim.numeral.unit, fact.unit, told == "fraction"
    if told == "converted":
        return True
    if not own and (unit in UNITS or unit in _KINDS or unit in _MONEY) and _is_of_ids(fact, unit):
        return False
    if unit in ("%", "pp") or fraction:
        if own in _MONEY or (own in UNITS and not fraction):
            return False
        titled = fact.grid is not None and fact.column in fact.grid.in_percent
        if fraction:
            return (
                own != "%"
                and not titled
                and abs(fact.value) <= 20
                and (fact.value != int(fact.value) or abs(fact.value) <= 1)
            )
        as_it_stands = (
            claim.in_table and "%" not in claim.numeral.text + claim.column and (agrees or fact.words & words)
        )
        if as_it_stands or titled or "pp" in fact.words:
            return True  # a column called "pct" or "diff pp": its name does not say that 0.31 is no 31 %
        return fact.given or (fact.percent and (own in ("%", "pp") or abs(fact.value) > 1 or fact.value == 0))
    if unit in _MONEY:
        if own in _MONEY:
            return own == unit
        if facts.contradicts(fact, unit, bounds(claim, scene.reading.text)[0].value, fact.value):
            return False
        is_rate = fact.percent and not own and (fact.grid is not None or has_word(tuple(fact.words), PERCENT_WORDS))
        if own in ("%", "pp") or (is_rate and abs(fact.value) <= 100 and not claim.numeral.scale > 1):
            return False
        return not facts.currencies or unit in facts.currencies
    if own in ("%", "pp") and not unit:
        return (
            claim.in_table
            or has_word(tuple(words), PERCENT_WORDS)
            or "%" in scene.reading.text[claim.start : claim.end + 24]
        )
    if unit and own and unit != own:
        return not (own in ("%", "pp") or (UNITS.get(unit) is not None and _kind(unit) == _kind(own)))
    return True


_KINDS = {"d": "time", "w": "time", "mo": "time", "a": "time", "b": "data"}
_COUNTED = {"d": "day", "w": "week", "mo": "month", "a": "year"}


def _kind(unit: str) -> str:
    return UNITS.get(unit) or _KINDS.get(unit, unit)


def _is_of_ids(fact: Fact, unit: str) -> bool:
    """Whether a number is an id, or a count of ids: its column is called so. A count of ids has no unit, except that
    28 in "day_id" may be 28 days."""
    names = [label for _, label in fact.keys if not isinstance(label, Day)]
    if fact.grid is not None and 0 <= fact.column < len(fact.grid.names):
        names.append(fact.grid.names[fact.column])
    return any(name[-1:] == ("id",) and _COUNTED.get(unit) not in name for name in names)


def direction(claim: Claim, scene: Scene) -> int:
    """Which way the words around a claim point: -1 for down, 1 for up, 0 for neither or both."""
    if id(claim) not in scene.directions:
        scene.directions[id(claim)] = _direction(claim, scene)
    return scene.directions[id(claim)]


def _direction(claim: Claim, scene: Scene) -> int:
    text = scene.bare
    start, end = claim.clause
    clause = text[start:end]
    if not claim.in_table:
        word = _NEXT_WORD.match(text, claim.end)
        beside = {way for way in (_way(word[1]) if word else 0, _way_before(claim, scene)) if way}
        if beside:
            return beside.pop() if len(beside) == 1 else 0  # "more orders, but 11.7 % below the mean"
    if claim.in_table:
        clause = claim.column
    elif not _way(clause) and (way := _way_at_the_end(text, claim)):
        return way
    elif text[start - 1 : start] in ("(", "（", ",", ":") or not (says(DOWN, clause) or says(UP, clause)):
        before = text[claim.span[0] : start]
        cut = max((m.end() for m in re.finditer(r"[;；]|\b(?:and|whereas|while|und|während)\b", before)), default=0)
        clause = before[cut:] + clause
    return _way(clause)


def _way_before(claim: Claim, scene: Scene) -> int:
    """Which way the verb points that stands right before a figure: "after a fall in orders, revenue rose by 8 %"."""
    text, start = scene.bare, max(claim.clause[0], claim.start - _LONGEST_LEAD)
    led = _LED.search(text, start, claim.start)
    word = (led["verb"] or led["sign"]) if led else ""
    return 0 if _COMPARES.fullmatch(word) else _way(word)


_LONGEST_LEAD = 48
_LED = re.compile(
    r"(?:(?P<verb>[^\W\d_]+)(?:[\s\u2060]+(?:by|of|um|von|de|en|un|just|only|about|around|nearly|almost|some|nur|rund|"
    r"etwa|fast|knapp|environ|presque|unos|casi))*?[\s\u2060]+(?:d['’])?|"
    r"(?<![少多未没不])(?P<sign>增长|增加|上升|提高|上涨|下降|减少|下滑|降低|下跌)[了约近]{0,2}[\s\u2060]*)[*_(（$€£¥~≈]*$"
)
"""A word right before a figure, with what may stand between."""
_COMPARES = re.compile(
    r"over\w*|above|below|under\w*|more|less|fewer|higher|lower|up|plus|minus|mehr|weniger|über\w*|unter\w*|"
    r"moins|menos",
    re.IGNORECASE,
)
"""Words that stand before a bound or a level: "fell over 8 %"."""


_NEXT_WORD = re.compile(r"[\s\u2060*_]*([A-Za-zÀ-ÿ]+|[\u3040-\u30ff\u4e00-\u9fff]{1,2})")


def _way_at_the_end(text: str, claim: Claim) -> int:
    """Which way the verb points that a Japanese list ends with: "Aは1,672、Bは239、Cは90減りました"."""
    behind = text[claim.end : claim.span[1]]
    if not _KANA.search(behind):
        return 0
    found = [(match.start(), way) for cue, way in ((DOWN, -1), (UP, 1)) if (match := cue.search(behind))]
    return min(found, default=(0, 0))[1]


_KANA = re.compile(r"[\u3040-\u30ff]")


def _way(text: str) -> int:
    """Which way the words of a text point."""
    down, up = says(DOWN, text), says(UP, text)
    return 0 if up and down else int(up) - int(down)


def is_level(claim: Claim, scene: Scene) -> bool:
    """Whether a claim is the level that something reached ("fell to 58"), not the size of a change."""
    if _way_before(claim, scene):
        return False
    return LEVEL_BEFORE.search(scene.reading.text, max(claim.span[0], claim.start - 14), claim.start) is not None


def sign_fits(claim: Claim, fact: Fact, scene: Scene) -> bool:
    """Whether the claim's sign, or the direction of its words, is that of the fact."""
    if fact.value == 0:
        return True
    positive = fact.value > 0
    sign = claim.numeral.sign
    if sign:
        return (sign > 0) == positive or (positive and sign < 0 and _is_magnitude(fact))
    way = 0 if is_level(claim, scene) else direction(claim, scene)
    if positive:
        changes = has_word(tuple(fact.words), CHANGE_WORDS) and fact.words.isdisjoint(_PARTS)
        told_down = way < 0 and not _is_magnitude(fact) and not _is_in_doubt(claim, scene)
        return not (told_down and (_falls(claim, fact, scene) or (changes and claim.numeral.unit in ("%", "pp"))))
    if claim.in_table and _IN_BRACKETS.fullmatch(scene.reading.text, *claim.clause):
        return True
    text = scene.reading.text[claim.span[0] : claim.span[1]]
    if way > 0:
        return _PLAN.search(text) is not None  # over budget: a variance may count either way
    if _PLAN.search(text) is None:
        text = _MORE_THAN.sub(" ", text)  # what exceeds a plan may be a negative variance
    return way < 0 or MAGNITUDE.search(text) is not None or DOWN.search(text) is not None


_MORE_THAN = re.compile(r"\bexceed\w*|超过|超出", re.IGNORECASE)
_PARTS = frozenset(("part", "share", "contribution", "anteil", "beitrag", "parte", "contribución", "proportion"))
"""Words that make a percentage a part of a change: it has the sign of the whole."""


def _falls(claim: Claim, fact: Fact, scene: Scene) -> bool:
    """Whether the words around a claim say that something fell by it, while the fact is a rise: it is written with a
    plus, or is a change by its name. A fall of what is bad may be a rise of the fact: "losses fell by 1,559". Beside a
    plan a variance may count either way."""
    rises = fact.plus or has_word(tuple(fact.words), _RISES)
    if not rises or not fact.words.isdisjoint(_PARTS) or not _fell_by(claim, fact, scene):
        return False
    text = scene.reading.text[slice(*claim.span)]
    if not _is_subject(text, fact):
        return False
    return not (_PLAN.search(text) or _PLAN.search(fact.place.about) or OF_LESS.search(text))


def _is_subject(text: str, fact: Fact) -> bool:
    """Whether a sentence may speak of what a fact measures: it says a word of it, the fact is only called a change, or
    both are of income, which a report may call otherwise."""
    names = _measure(fact) - CHANGE_WORDS - _NO_VERBS
    said = words_in(text)
    if not names or names & said:
        return True
    return bool(
        (names & GOOD or CJK_GOOD.search(fact.place.about)) and (said & GOOD or CJK_GOOD.search(text) is not None)
    )


def _is_in_doubt(claim: Claim, scene: Scene) -> bool:
    """Whether the words around a figure deny its fall, or may say that something came back: "gewann 8 zurück"."""
    if NEGATION.search(scene.bare, *claim.clause):
        return True
    return _BACKWARDS.search(scene.bare, *claim.clause) is not None and not _WENT.search(scene.bare, *claim.clause)


_BACKWARDS = re.compile(r"\bzurück\b", re.IGNORECASE)
_WENT = re.compile(r"\b(?:geh\w*|ging\w*|gegangen|f[aä]ll\w*|fiel\w*|gefallen|s[ai]nk\w*|gesunken)\b", re.IGNORECASE)
"""German verbs that mean a fall with "zurück"."""


def _fell_by(claim: Claim, fact: Fact, scene: Scene) -> bool:
    """Whether a figure is the size of a fall: "fell by 8", "fell in May by 8", "um 8 zurück", "8減少". "Recovered by 8
    after the fall" is none, nor is "fell and recovered by 8"."""
    text, (start, end) = scene.bare, claim.clause
    if (word := _NEXT_WORD.match(text, claim.end)) and FALL.match(text, word.start(1)):
        return True
    for match in FALL.finditer(text, start, end):
        if match.start() < claim.start < match.end():
            return True
        size = _BY_SO_MUCH.fullmatch(text, match.end(), claim.start) if match.end() <= claim.start else None
        if size is not None:
            return _AFTER.search(text, start, match.start()) is None and _has_no_verb(size["gap"] or "", fact)
    return False


def _has_no_verb(gap: str, fact: Fact) -> bool:
    """Whether all words between a fall and its size are known to be no verbs. A word with a capital is a name."""
    return all(
        word in _NO_VERBS or word in fact.words or word.endswith(_ADVERBS) or gap[start].isupper() or month_of(word)
        for start, _, word in tokens(gap)
    )


_ADVERBS = ("ly", "ment", "mente")
_NO_VERBS = frozenset(
    map(
        stem,
        "in the a an its of from to on at during since this that last same again month quarter year week day by over "
        "im in der die das dem den des vom zum am seit auch noch wieder nur stark leicht deutlich "
        "du de la le les l d en un une au ce cette mois trimestre année el los las del al mes año este esta se "
        "sich".split(),
    )
)


_BY_SO_MUCH = re.compile(
    r"(?:(?P<gap>[^\d,;:.()，；：（）]{0,30})[\s\u2060](?:by|of|um|von|de|en)(?:[\s\u2060]+un)?|"
    r"(?:[\s\u2060]+(?:just|only|about|around|nearly|almost|some|nur|rund|etwa|fast|knapp|environ|presque|unos|"
    r"casi|un))+|"
    r"[了约近]{1,2})?[\s\u2060]*+(?:d['’])?[*_$€£¥~≈\s\u2060]*+"
)
_AFTER = re.compile(
    r"(?:\b(?:after|despite|since|from|of|nach|trotz|seit|von|après|malgré|depuis|tras|pese a|desde)\b[^,;:]{0,16}|"
    r"\b(?:the|its|dem|der|den|la|le|les|el|los)[\s\u2060]+)$",
    re.IGNORECASE,
)
"""Before a fall that was earlier, or that is known already."""
_RISES = CHANGE_WORDS - {"diff", "difference", "delta", "gain", "variance", "abweichung", "differenz"}
"""Words of a label whose positive value is a rise. A difference may be taken either way."""


def _is_magnitude(fact: Fact) -> bool:
    """Whether a fact's own label says which way it goes: "drop 12 %"."""
    return DOWN.search(" ".join(fact.words)) is not None or MAGNITUDE.search(fact.place.about) is not None


def is_stale(claim: Claim, fact: Fact, scene: Scene, facts: Facts) -> bool:
    """Whether this turn computed the same figure again with another value, and the report does not refer to earlier
    turns."""
    if BACK.search(scene.reading.text, *claim.span):
        return False
    now = [other for other in facts.facts if other.turn == 0 and not other.given]
    if not fact.words and not fact.keys:
        return bool(now)
    labels = _rows(fact)
    words = _measure(fact)
    around = scene.words_of(claim)
    anew = [other for other in now if _rows(other) == labels and (labels or other.words)]
    same = [other for other in anew if _measure(other) == words]
    for other in same or anew:
        if around & (_title(fact) - _title(other)):
            continue  # the sentence says which of two tables it means
        if not labels and ("total" in fact.words) != ("total" in other.words):
            continue  # "net, total" was not computed anew by "their net"
        if scene.tells(claim, other):
            continue  # "56 % of the units; in euros it was 75 %": the sentence gives both
        measure = _measure(other)
        shared, every = words & measure, words | measure
        alike = bool(shared) and (bool(labels) or len(shared) * 2 >= len(every))
        if alike or (labels and not (words and measure)) or (not labels and words == measure):
            return True
    return False


def _title(fact: Fact) -> frozenset[str]:
    return fact.grid.title - _measure(fact) if fact.grid is not None else frozenset()


def _rows(fact: Fact) -> frozenset[Label]:
    """The labels of things and dates that a fact has, not those of measures."""
    return frozenset(
        label for family, label in fact.keys if isinstance(label, Day) or (family.binds and not family.columns)
    )


def _measure(fact: Fact) -> frozenset[str]:
    """The words of a fact that name no thing: its measure."""
    things = {word for label in _rows(fact) if not isinstance(label, Day) for word in label}
    return fact.words - things - _COMMON


_COMMON = frozenset(("total", "eur", "usd", "cny"))
