"""Numbers and dates in a text, in the marks of several languages: where they stand and what they may mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from workers.agent.provenance.language.words import CURRENCIES, SAME_UNIT, SCALES, UNITS

Marks = Literal["point", "comma", "unsure"]
"""Which mark stands before the decimals."""
FILLER = "\u2060"
"""Replaces Markdown's own signs, so that places stay the same."""
MAX_NUMBERS = 20_000
_LONGEST = 40
"""The most characters of a number. A longer one is a key or a hash."""
_BLANKS = f" \u00a0\u202f\u2009{FILLER}"


class Day(NamedTuple):
    """A date, as far as a text gives it. A part that the text does not give is None. `quarter` is 1 to 4."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None

    def fits(self, whole: Day) -> bool:
        """Whether `whole` lies in what this date says: 2024 covers 2024-03-15, and March does too."""
        quarter = whole.quarter or ((whole.month + 2) // 3 if whole.month else None)
        return (
            self.year in (None, whole.year)
            and self.month in (None, whole.month)
            and self.day in (None, whole.day)
            and self.quarter in (None, quarter)
        )


_NO_DAY = Day()


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number or date in a text, from `start` to `end` with its unit.

    `readings` are (value, decimals) pairs without the scale: two where the marks allow both. `decimals` is negative for
    round numbers. `sign` is 0 when none is written. `unit` is "%", "pp", a currency ("eur"), another unit, or "".
    """

    start: int
    end: int
    text: str
    kind: Literal["number", "date", "time", "ordinal"]
    readings: tuple[tuple[float, int], ...] = ()
    sign: int = 0
    unit: str = ""
    scale: float = 1.0
    day: Day = _NO_DAY
    digits_end: int = 0
    bare: bool = False


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan jänner jän", "february februar feb", "march märz mär mar mrz", "april apr", "may mai",
            "june juni jun", "july juli jul", "august aug ago", "september sep sept", "october oktober oct okt",
            "november nov", "december dezember dec dez",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_AGO = r"(?-i:Ago|AGO)|(?<!year )(?<!month )(?<!week )(?<!day )(?<!s )ago(?=\. (?:de )?(?:19|20)\d\d)"
"""Spanish shortens agosto to a word that English needs for something else: "a year ago"."""


def _one_of(months: Iterable[str]) -> str:
    return "|".join(_AGO if name == "ago" else name for name in sorted(months, key=len, reverse=True))


_MONTH_BEFORE_DAY = _one_of(_MONTHS)
_IN_SMALL = {
    name: number
    for number, names in enumerate(
        (
            "janvier janv enero ene", "février fevrier févr fevr febrero", "mars marzo", "avril avr abril abr",
            "mai mayo", "juin junio", "juillet juil julio", "août aout agosto", "septembre septiembre setiembre",
            "octobre octubre", "novembre noviembre", "décembre decembre déc diciembre dic",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
"""French and Spanish months. They are written in small letters, and stand behind the day."""
_MONTHS |= _IN_SMALL
_MONTH = _one_of(_MONTHS)
_RANKS = {
    "fi": 1, "er": 1, "pr": 1, "se": 2, "zw": 2, "de": 2, "th": 3, "dr": 3, "tr": 3, "te": 3, "fo": 4, "vi": 4,
    "qu": 4, "cu": 4,
}  # fmt: skip
"""Ordinal numbers by their first two letters."""
_QUARTERS = {"一": 1, "二": 2, "三": 3, "四": 4}
_YEAR = r"(?:19|20)\d\d"
_SENTENCE_ENDS = rf"\. (?:January|February|March|May|June|July|October|December|Oct|Dec)\b(?!,? {_YEAR})"
"""English puts no mark behind a day: “Q2 had 18. March was unusually high” are two sentences."""
_DAY_IN_YEAR = r"([0-3]?\d)\.\s?(0?[1-9]|1[0-2])\."
_BEFORE_DAY = r"(?:(?<=\b[Aa]b )|(?<=\b[Dd]e[mnr] )|(?<=\b[Bb]is ))"
"""Words that stand before numbers, too: at the end of a sentence, 12.5. is a number behind them."""
_DATES = (
    ("ymd", re.compile(rf"(?<![A-Za-z0-9_.,-])({_YEAR})([-/.])(\d{{1,2}})\2(\d{{1,2}})(?:T[\d:.]+)?(?![\d-])")),
    ("dmy", re.compile(rf"(?<![A-Za-z0-9_,-])(\d{{1,2}})\.\s?(\d{{1,2}})\.\s?({_YEAR}|\d\d(?!\d))(?![A-Za-z0-9_])")),
    (
        "dm",  # without a word such as "am" before it, 28.10. may be a number at the end of a sentence
        re.compile(
            rf"(?:(?<=\b[Aa]m )|(?<=\b[VvZz][ou]m )|(?<=\d\. [Bb]is )){_DAY_IN_YEAR}(?!\s?\d)(?![A-Za-z_])"
        ),
    ),
    ("dm", re.compile(rf"{_BEFORE_DAY}{_DAY_IN_YEAR}(?=[,;:]| +[a-zäöü])")),
    ("slash", re.compile(rf"(?<![A-Za-z0-9_.,/])(\d{{1,2}})/(\d{{1,2}})/({_YEAR})(?![A-Za-z0-9_])")),
    ("zh", re.compile(rf"({_YEAR})\s?年\s?(\d{{1,2}})\s?月(?:\s?(\d{{1,2}})\s?[日号])?")),
    ("zhq", re.compile(rf"(?:({_YEAR})\s?年)?\s?第?([一二三四1-4])\s?季度")),
    ("zhmd", re.compile(r"(?<![\d年])(\d{1,2})\s?月(?:\s?(\d{1,2})\s?[日号])?(?!份?均)")),
    ("zhy", re.compile(rf"({_YEAR})\s?年")),
    ("yq", re.compile(rf"(?<![A-Za-z0-9_.,])({_YEAR})[ /-]?Q([1-4])(?![A-Za-z0-9_])")),
    ("qy", re.compile(rf"(?<![A-Za-z0-9])Q([1-4])[ /-]?({_YEAR})?(?![A-Za-z0-9_])")),
    ("gq", re.compile(rf"(?<![A-Za-z0-9_.,])([1-4])\. Quartal(?: ({_YEAR}))?")),
    (
        "wq",
        re.compile(
            r"\b(first|second|third|fourth|erste[rsn]?|zweite[rsn]?|dritte[rsn]?|vierte[rsn]?|premier|deuxième|troisième"
            r"|quatrième|primer|segundo|tercer|cuarto) (?:quarter|Quartals?|trimestre)"
            rf"(?:(?: of| in| de)? ({_YEAR}))?\b",
            re.IGNORECASE,
        ),
    ),
    (
        "mdy",
        re.compile(
            rf"\b({_MONTH_BEFORE_DAY})\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? ({_YEAR}))?(?![\d.,]*\d|\s?%)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "dmonthy",
        re.compile(
            rf"(?<![A-Za-z0-9_.,])(?<![A-Za-z_]-)(\d{{1,2}})(?!{_SENTENCE_ENDS})(?:st|nd|rd|th|er|\.)?(?: of| de)? "
            r"(?!(?-i:may|march)\b)"
            rf"({_MONTH})\b\.?"
            rf"(?:,?(?: del?)? ({_YEAR}))?",
            re.IGNORECASE,
        ),
    ),
    ("my", re.compile(rf"\b({_MONTH})\.?,?(?:[ -]| del? )({_YEAR})\b", re.IGNORECASE)),
    ("ym", re.compile(rf"(?<![A-Za-z0-9_.,-])({_YEAR})[-/](0[1-9]|1[0-2])(?![\d/-])")),
    ("time", re.compile(r"(?<![\d:.,])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?![\d:])")),
    ("y", re.compile(rf"(?<![A-Za-z0-9_.,$€£¥+−-])({_YEAR})(?![\d]|[.,]\d|\s?[%$€£¥元万]|-\d|[A-Za-z_])")),
)  # fmt: skip
_MAYBE_DATE = re.compile(
    rf"{_YEAR}|\d\.\s?\d?\d\.|\d/\d|\d:\d\d|月|季|Q[1-4]|Quart|trimestre|\b(?:{_MONTH})", re.IGNORECASE
)
"""A text in which this finds nothing has no date. This quick search often makes the patterns above unnecessary."""
_SIGNS = {
    "dmy": ".",
    "dm": ".",
    "slash": "/",
    "zh": "月",
    "zhq": "季",
    "zhmd": "月",
    "zhy": "年",
    "yq": "Q",
    "qy": "Q",
    "gq": "Quartal",
    "time": ":",
}
"""Each date of such a form contains this sign, in any case. Looking for it takes less time than a pattern."""
_MONTH_ALONE = re.compile(rf"\b({_MONTH})\b", re.IGNORECASE)
_UNIT_WORDS = "|".join(
    # A long word may begin with a capital ("Stunden"). A short word with a capital is another unit.
    f"(?i:{re.escape(unit)})" if len(unit) > 3 else re.escape(unit)
    for unit in sorted(UNITS, key=len, reverse=True)
)
_SCALE_WORDS = (
    r"k|K|T(?=\s?[€$])|Tsd\.?|tsd|thousand|Tausend|千|M(?![a-zA-Z])|Mio\.?|mio|mn|m(?=\s?[€$])|"
    r"[Mm]illionen|[Mm]illions?|百万|"
    r"(?<=\d)B(?![a-zA-Z])|B(?=\s?(?:[€$£¥]|[A-Z]{3}\b))|"  # "512 B" are bytes
    r"bn|Mrd\.?|[Bb]illions?|Milliarden?|十亿|万|亿|"
    r"萬|億|兆|lakhs?|crores?|milliers|milliards?|Mds?(?![A-Z])|mil millones|mil|millón|millones|trn|tn|[Tt]rillions?|"
    r"Billionen|billón|billones"
)
_CURRENCY = r"US\$|[$€£¥￥₹₩]|(?:EUR|USD|GBP|CNY|RMB|JPY|CHF|INR)(?![A-Za-z])"
_CURRENCY_WORD = rf"{_CURRENCY}|euros?\b|dollars?\b|美元|欧元|元|人民币"
_GAP = rf"[ {FILLER}\u00a0\u202f\u2009]{{0,4}}"
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.\u00c0-\u024f])(?<![^\u3400-\u9fff],)(?<![A-Za-z_\u00c0-\u024f][-–])(?<![A-Za-z0-9]/)"
    rf"(?P<sign>[-−–+±](?=\d|\.\d|{_CURRENCY}))?(?P<before>{_CURRENCY})?{_GAP}(?P<sign2>(?<![\w\s])[-−+])?"
    r"(?P<digits>\d{1,2}(?:,\d\d)+,\d{3}(?![\d,])(?:\.\d+)?|"  # 12,34,567 in India
    r"\d{1,3}(?:(?P<mark>[,.'’\u00a0\u202f\u2009 ])\d{3}(?!\d))(?:(?P=mark)\d{3}(?!\d))*(?:[.,]\d+)?|"
    r"\d+(?:[.,]\d+)?|\.\d+)"
    rf"(?P<exp>[eE][+-]?\d{{1,3}}|{_GAP}(?:\\?[*×⋅·]|\\times|\\cdot|x){_GAP}10"
    r"(?:\^\{?(?P<caret>[-−–+]?\d{1,2})\}?|(?P<small>[⁻⁺]?[⁰¹²³⁴-⁹]{1,2})))?"
    rf"(?P<tail>{_GAP}(?:(?P<scale>(?(before)[TB]\b|(?!))|{_SCALE_WORDS})(?![a-zäöü]|W|Hz|VA|Pa|B\b|V\b|J\b|N\b))?{_GAP}"
    rf"(?:(?P<pp>(?:percentage points?|pp|ppt|Prozentpunkte?n?|%-Punkte?)(?![a-z])|个?百分点)"
    r"|(?P<percent>%|％|percent(?!a)|Prozent(?!p)|pct\b)"
    rf"|(?P<after>{_CURRENCY_WORD})"
    rf"|(?P<unit>°[CFKcfk]|(?:{_UNIT_WORDS})(?![A-Za-zäöü°]))"
    r"|(?P<ordinal>(?:st|nd|rd|th)(?![a-z])|\. (?=Platz|Rang|Stelle)))?)"
)  # fmt: skip
_POINT = re.compile(
    r"(?<![\d.,])\d{1,3}(?:,\d{3})+\.\d|(?<![\d.,])\d+\.\d{1,2}(?![\d.,]*\d)|(?<![\d.,])\d+\.\d{4,}|"
    r"(?<![\d.,])0\.\d{3}\b|,\d{3},\d{3}"
)
_COMMA = re.compile(
    r"(?<![\d.,])\d{1,3}(?:\.\d{3})+,\d|(?<![\d.,])\d+,\d{1,2}(?![\d.,]*\d)|(?<![\d.,])\d+,\d{4,}|"
    r"(?<![\d.,])0,\d{3}\b|\.\d{3}\.\d{3}"
)
_MONTHS_AS_NUMBERS = re.compile(rf"(?<![\w.,])(?:0[1-9]|1[0-2])\.{_YEAR}(?![\d.,])")
_COMMA_WORDS = re.compile(
    r"\b(?:der|die|das|und|ist|bei|mit|für|les|des|est|avec|los|las|una|della|sono|het|een)\b", re.IGNORECASE
)


def marks_of(text: str) -> Marks:
    """Which mark a text writes before decimals, as far as its numbers and words tell."""
    text = _MONTHS_AS_NUMBERS.sub("", text)
    point, comma = len(_POINT.findall(text)), len(_COMMA.findall(text))
    if point != comma:
        return "point" if point > comma else "comma"
    if not point and len(_COMMA_WORDS.findall(text)) > max(2, len(text) // 200):
        return "comma"
    return "unsure"


def scan(text: str, marks: Marks) -> list[Numeral]:
    """The numbers and dates of a text, in order, none inside another."""
    found, rest = _dates(text, day_first=marks == "comma")
    found += _joined(list(_numbers(rest, marks)), text)
    return sorted(found, key=lambda one: one.start)


def _joined(numbers: list[Numeral], text: str) -> list[Numeral]:
    """The numbers with each one that is written in parts as one: 1億2000万, 12亿3456万7890."""
    found: list[Numeral] = []
    for one in numbers:
        before = found[-1] if found else None
        if before is None or not _goes_on(before, one):
            found.append(one)
            continue
        (larger, _), (smaller, decimals) = before.readings[0], one.readings[0]
        value = larger * before.scale / one.scale + smaller
        found[-1] = replace(
            one,
            start=before.start,
            text=text[before.start : one.end],
            readings=((value, max(decimals, 0)),),
            sign=before.sign,
            unit=one.unit or before.unit,
            bare=False,
        )
    return found


RANGE = re.compile(r"^[\s\u2060]*(?:to|and|bis|und|à|a|et|y|hasta|–|-|—|~|～|〜|から|至|到)[\s\u2060]*$", re.IGNORECASE)
"""What stands between two figures of one unit in a sentence."""
SPAN = re.compile(r"^[\s\u2060]*(?:to|bis|à|hasta|–|—|~|～|〜|から|至|到)[\s\u2060]*$", re.IGNORECASE)
"""What stands between the ends of a span in an output, where "and" only lists."""
_SHARED_UNITS = ("%", "pp", "eur", "usd", "gbp", "cny")
_ALIKE = 20
"""The ends of a span with one scale differ by no more than this factor: "3.2 to 4.1 million", not "800 to 1.2
million"."""


def with_shared_units(numerals: list[Numeral], text: str, between: re.Pattern[str]) -> list[Numeral]:
    """ "from 0.15 to 1.26 percentage points": the first figure has the unit and the scale of the second."""
    found = list(numerals)
    for at in range(len(found) - 2, -1, -1):
        one, behind = found[at], found[at + 1]
        shares = one.kind == behind.kind == "number" and not one.unit and one.scale == 1.0
        if not shares or not (behind.unit in _SHARED_UNITS or behind.scale != 1.0):
            continue
        if between.match(text[one.end : behind.start]):
            sizes = sorted(each.readings[0][0] for each in (one, behind))
            scale = behind.scale if sizes[1] <= sizes[0] * _ALIKE else 1.0
            unit = behind.unit if behind.unit in _SHARED_UNITS else ""
            found[at] = replace(one, unit=unit, scale=scale, bare=False)
    return found


def _goes_on(before: Numeral, one: Numeral) -> bool:
    """Whether a number stands right behind a Chinese or Japanese scale that is larger than its own."""
    return before.end == one.start and before.text[-1:] in "亿億兆万萬" and before.scale > one.scale and not one.sign


def month_of(text: str) -> int | None:
    """The month that has this text as its name."""
    name = text.rstrip(".")
    return _MONTHS.get(name.casefold()) if name[:1].isupper() or name in _IN_SMALL else None


def scan_dates(text: str) -> list[Numeral]:
    """The dates and times of a text."""
    return _dates(text)[0]


def scan_days(text: str) -> list[Numeral]:
    """The dates of a text, and its months that stand alone, in order."""
    found, rest = _dates(text)
    found = [one for one in found if one.kind == "date"] + [
        Numeral(m.start(), m.end(), m[0], "date", day=Day(month=_MONTHS[m[1].casefold()]), digits_end=m.end())
        for m in _MONTH_ALONE.finditer(rest)
        if m[0][0].isupper() or m[0] in _IN_SMALL
    ]
    return sorted(found, key=lambda one: one.start)


def day_at_the_end(text: str, start: int) -> Day | None:
    """The German date without a year that a number at the end of a sentence may be: "bis 28.10."."""
    match = _DAY_AT_THE_END.match(text, start)
    return _day("dm", list(match.groups())) if match else None


_DAY_AT_THE_END = re.compile(_BEFORE_DAY + _DAY_IN_YEAR)


def _dates(text: str, *, day_first: bool = False) -> tuple[list[Numeral], str]:
    """The dates of a text, and the text without them. `day_first`: 04/01/2022 is in January."""
    found: list[Numeral] = []
    rest = text
    for name, pattern in _DATES if _MAYBE_DATE.search(text) else ():
        if _SIGNS.get(name, "") not in text:
            continue
        if name == "dmonthy":
            found, rest = _with_days_before(pattern, rest, found)
        own = [one for match in pattern.finditer(rest) if (one := _date(name, match, day_first=day_first)) is not None]
        if own:
            found += own
            rest = pattern.sub(partial(_blank, name), rest)
    return found, rest


_DAYS_BEFORE = re.compile(
    r"(?<![\w.,/-])((?:\d{1,2}(?:st|nd|rd|th|\.)?(?:, (?:and )?| (?:and|und|et|y|&) )){1,6})$", re.IGNORECASE
)
"""The days before the last one of a list: "17, 18 and 19 September"."""


def _with_days_before(pattern: re.Pattern[str], rest: str, found: list[Numeral]) -> tuple[list[Numeral], str]:
    """The dates with those that share the month of the date behind them, and the text without these."""
    for match in pattern.finditer(rest):
        last = _date("dmonthy", match)
        before = _DAYS_BEFORE.search(rest, max(0, match.start() - 40), match.start())
        if last is None or before is None:
            continue
        days = list(re.finditer(r"\d{1,2}", before[1]))
        if not all(1 <= int(day[0]) <= 31 for day in days):
            continue
        for day in days:
            start, end = before.start(1) + day.start(), before.start(1) + day.end()
            own = last.day._replace(day=int(day[0]))
            found = [*found, Numeral(start, end, day[0], "date", day=own, digits_end=end)]
            rest = f"{rest[:start]}{chr(0) * (end - start)}{rest[end:]}"
    return found, rest


def _blank(name: str, match: re.Match[str]) -> str:
    """What stands in place of a date, so that no number is found inside it."""
    return "\x00" * len(match[0]) if _date(name, match) else match[0]


def _date(name: str, match: re.Match[str], *, day_first: bool = False) -> Numeral | None:
    day = _day("slash_dm" if day_first and name == "slash" else name, list(match.groups()))
    if name != "time" and day is None:
        return None
    kind: Literal["date", "time"] = "time" if name == "time" else "date"
    return Numeral(
        match.start(), match.end(), match[0], kind, day=day or Day(), digits_end=match.end(), bare=name == "y"
    )


def _day(name: str, given: list[str | None]) -> Day | None:  # noqa: PLR0912 - one case for each way to write a date
    def number(place: int) -> int | None:
        text = given[place]
        return int(text) if text and text.isdigit() else None

    match name:
        case "ymd":
            day = Day(number(0), number(2), number(3))
        case "dmy":
            year = number(2) or 0
            day = Day(year if year > 99 else 2000 + year, number(1), number(0))
        case "dm":
            day = Day(None, number(1), number(0))
        case "slash_dm":
            day = Day(number(2), number(1), number(0))
        case "slash":
            first, second = number(0) or 0, number(1) or 0
            day = Day(number(2), second, first) if first > 12 else Day(number(2), first, second)
        case "zh":
            day = Day(number(0), number(1), number(2))
        case "zhq":
            day = Day(number(0), None, None, number(1) or _QUARTERS.get(given[1] or ""))
        case "zhmd":
            day = Day(None, number(0), number(1))
        case "yq":
            day = Day(number(0), None, None, number(1))
        case "qy" | "gq":
            day = Day(number(1), None, None, number(0))
        case "wq":
            day = Day(number(1), None, None, _RANKS[(given[0] or "")[:2].casefold()])
        case "mdy":
            day = Day(number(2), _MONTHS[(given[0] or "").casefold()], number(1))
        case "dmonthy":
            day = Day(number(2), _MONTHS[(given[1] or "").casefold()], number(0))
        case "my":
            day = Day(number(1), _MONTHS[(given[0] or "").casefold()])
        case "ym":
            day = Day(number(0), number(1))
        case "y" | "zhy":
            day = Day(number(0))
        case _:
            return None
    return day if (day.month is None or 1 <= day.month <= 12) and (day.day is None or 1 <= day.day <= 31) else None


def _numbers(text: str, marks: Marks) -> Iterator[Numeral]:
    for count, match in enumerate(_NUMBER.finditer(text)):
        if count > MAX_NUMBERS:
            return
        end = match.end()
        is_million = match["before"] and match["unit"] == "m"  # "€4.2 m": no amount of money is in metres
        is_trillion = match["before"] and match["scale"] == "T"  # "$3.4T"; "500 T€" are thousands
        scale = "m" if is_million else "tn" if is_trillion else match["scale"] or ""
        unit = _unit(match)
        if not unit and not scale and not match["ordinal"]:
            end = match.end("exp") if match["exp"] else match.end("digits")
            if re.match(r"[A-Za-z_\u00c0-\u024f]", text[end : end + 1]) and not re.match(r"[x×](?![a-z])", text[end:]):
                continue
        exponent = _exponent(match)
        if len(match["digits"]) > _LONGEST or len(exponent) > 4:
            continue
        readings = tuple(_readings(match["digits"], match["mark"], exponent, marks))
        written = match["sign"] or match["sign2"] or ""
        behind_digit = match.start() and text[match.start() - 1].isdigit()
        negative = written in ("-", "−", "–") and bool(written) and not behind_digit
        sign = -1 if negative else 1 if written == "+" else 0
        start = match.start("digits") if written and not sign else match.start()
        start += len(text[start:end]) - len(text[start:end].lstrip(_BLANKS))
        end -= len(text[start:end]) - len(text[start:end].rstrip(_BLANKS))
        yield Numeral(
            start,
            end,
            text[start:end],
            "ordinal" if match["ordinal"] else "number",
            readings,
            sign,
            unit,
            SCALES.get(scale.rstrip(".").casefold(), 1.0) if scale else 1.0,
            digits_end=match.end("digits"),
            bare=not (
                unit
                or scale
                or sign
                or match["exp"]
                or match["ordinal"]
                or "." in match["digits"]
                or "," in match["digits"]
            ),
        )


_PER_MONEY = re.compile(r"\s?(?:per|je|pro|par|por|a)\s(?:each\s)?(?:US\$|[$€£¥]|(?:EUR|USD|GBP|euros?|dollars?)\b)")
"""What follows a ratio of two amounts, such as 3.78 € per €: it has no unit."""


def _unit(match: re.Match[str]) -> str:
    if _PER_MONEY.match(match.string, match.end()):
        return ""
    if match["pp"]:
        return "pp"
    if match["percent"]:
        return "%"
    if currency := match["after"] or match["before"]:
        return CURRENCIES.get(currency.casefold(), "")
    unit = (match["unit"] or "").casefold()
    return SAME_UNIT.get(unit, unit)


def _exponent(match: re.Match[str]) -> str:
    """The power of ten behind the digits, as Python writes it: "e-5", also for "× 10^-5" and "× 10⁻⁵"."""
    written = match["caret"] or match["small"]
    return "e" + written.translate(_SMALL_DIGITS) if written else match["exp"] or ""


_SMALL_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−–", "0123456789-+--")


def _readings(digits: str, mark: str | None, exp: str, marks: Marks) -> Iterator[tuple[float, int]]:
    """The values that these digits may have, the likelier one first."""
    power = max(min(int(exp[1:]) if exp else 0, 200), -200)
    for plain in _plain(digits, mark, marks):
        decimals = len(plain.partition(".")[2])
        if not decimals and not exp:
            whole = plain.lstrip("0")
            zeros = len(whole) - len(whole.rstrip("0"))
            decimals = -zeros if zeros >= 2 and len(whole) - zeros >= 2 else 0
        yield float(plain) * 10.0**power, decimals - power


def _plain(digits: str, mark: str | None, marks: Marks) -> Iterator[str]:
    if mark is None:
        yield digits.replace(",", "." if digits.count(",") == 1 else "")
        return
    groups = digits.replace(mark, "") if mark not in ".," else digits
    if mark not in ".,":
        yield groups.replace(",", ".")
        return
    other = "," if mark == "." else "."
    if other in digits or digits.count(mark) > 1:
        yield digits.replace(mark, "").replace(other, ".")
        return
    grouped, decimal = digits.replace(mark, ""), digits.replace(mark, ".")
    decimal_mark = {"point": ".", "comma": ","}.get(marks)
    if decimal_mark == mark or digits.startswith("0"):
        yield decimal
    elif decimal_mark is not None:
        yield grouped
    else:
        yield from (grouped, decimal) if mark == "," else (decimal, grouped)
