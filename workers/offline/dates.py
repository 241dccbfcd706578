"""The times that a text names: as values of a filter, as code that selects rows, and in words.

A value is one of

    2023  2023Q1  2023-03  2023-03-05      a year, a quarter, a month, a day
    M03  Q2                                this month or quarter of every year
    >=X  >X  <X  <=X  X..Y                 from, after, before, until X (or the latest M03), from X to Y (both included)
    last:3M                                the last three months up to the last day of the data (D, W, M, Q, Y)
    Y-0  Q-1  M-1                          the year, quarter or month of the last day of the data, or the one before
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from workers.offline.lexicon import Span

MONTHS = [name.casefold() for name in month_name[1:]]
_SHORT = "|".join(name[:3] for name in MONTHS)
_YEAR = r"(?:19|20)\d\d"
_DIGITS = {word: n for n, word in enumerate("一二三四五六七八九十", start=1)} | {"十一": 11, "十二": 12, "两": 2}
_COUNTED = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "twelve": 12, **_DIGITS}
_UNITS = {
    **{"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"},
    **{"天": "D", "周": "W", "月": "M", "季度": "Q", "年": "Y"},
}
BOUND = re.compile(r"(>=|>|<=|<)(.+)")
LAST = re.compile(r"last:(\d+)([DWMQY])")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time that a text names, and where."""

    value: str
    span: Span


def _month(word: str) -> int:
    return next(n for n, name in enumerate(MONTHS, start=1) if name.startswith(word.casefold()[:3]))


def count(word: str | None) -> int:
    """The number that digits or a word such as "three" stand for; 1 without any."""
    return (_COUNTED.get(word.casefold()) or int(word)) if word else 1


_PATTERNS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (rf"\b({_YEAR}-\d\d-\d\d)\b", lambda m: m[1]),
    (rf"({_YEAR})年(\d{{1,2}})月(\d{{1,2}})日", lambda m: f"{m[1]}-{int(m[2]):02d}-{int(m[3]):02d}"),
    (rf"\bQ([1-4])\s*(?:of\s*)?({_YEAR})", lambda m: f"{m[2]}Q{m[1]}"),
    (rf"({_YEAR})\s*年?\s*(?:Q|第)?([1-4一二三四])\s*季度", lambda m: f"{m[1]}Q{_DIGITS.get(m[2]) or m[2]}"),
    (rf"({_YEAR})\s*Q([1-4])", lambda m: f"{m[1]}Q{m[2]}"),
    (rf"({_YEAR})年(\d{{1,2}})月份?", lambda m: f"{m[1]}-{int(m[2]):02d}"),
    (rf"\b({_YEAR})-(\d\d)\b", lambda m: f"{m[1]}-{m[2]}"),
    (rf"\b({_SHORT})[a-z]*\.? (?:of )?({_YEAR})", lambda m: f"{m[2]}-{_month(m[1]):02d}"),
    (
        r"(?:\b(?:last|past)|最近|过去|近)\s*(\d{1,2}|two|three|four|five|six|twelve|[一二三四五六七八九十两])\s*个?\s*"
        r"(day|week|month|quarter|year|天|周|月|季度|年)s?",
        lambda m: f"last:{count(m[1])}{_UNITS[m[2].casefold()]}",
    ),
    (r"\bthe\s+(?:last|past)\s+(day|week|month|quarter|year)\b", lambda m: f"last:1{_UNITS[m[1].casefold()]}"),
    (r"\b(?:last|previous)\s+(month|quarter|year)\b", lambda m: f"{_UNITS[m[1].casefold()]}-1"),
    (r"\b(?:this|current)\s+(month|quarter|year)\b", lambda m: f"{_UNITS[m[1].casefold()]}-0"),
    (r"去年|上一年", lambda m: "Y-1"),
    (r"今年|本年", lambda m: "Y-0"),
    (r"上个?月", lambda m: "M-1"),
    (r"(?:本|这个)月", lambda m: "M-0"),
    (r"上个?季度", lambda m: "Q-1"),
    (rf"(?<![\d.,-])({_YEAR})(?![\d.,]\d|\d|-)年?", lambda m: m[1]),
    (r"(?<!\d)(?<!个)(1[0-2]|[1-9])月份?", lambda m: f"M{int(m[1]):02d}"),
    (r"(?<!个)(十一|十二|[一二三四五六七八九十])月份?", lambda m: f"M{_DIGITS[m[1]]:02d}"),
    (
        r"\b(?:in|for|during|of|last|every|each|only|and|to|from|since|until|between|before|after|vs|versus|just|with)\s+"
        rf"(({_SHORT})(?:[a-z]*))\b(?=\W|$)",
        lambda m: f"M{_month(m[2]):02d}" if _names_a_month(m[1]) else "",
    ),
    (r"\bQ([1-4])\b|第([1-4一二三四])季度", lambda m: f"Q{m[1] or _DIGITS.get(m[2]) or m[2]}"),
)


def _names_a_month(word: str) -> bool:
    plain = word.casefold()
    return any(name == plain or (len(plain) <= 4 and name.startswith(plain)) for name in MONTHS)


def moments(text: str) -> list[Moment]:
    """The times that a text names, in its order; longer ways to write one win over shorter."""
    rest, found = text, []
    for pattern, written in _PATTERNS:
        for match in re.finditer(pattern, rest, re.IGNORECASE):
            value = written(match)
            if value and _exists(value):
                found.append(Moment(value, Span(*match.span())))
                rest = rest[: match.start()] + "\x00" * len(match[0]) + rest[match.end() :]
    return sorted(found, key=lambda moment: moment.span.start)


def _exists(value: str) -> bool:
    """False for a month 13 or a 30th of February."""
    if "-" not in value or not value[0].isdigit():
        return True
    try:
        return bool(date.fromisoformat(value if len(value) == 10 else f"{value}-01"))
    except ValueError:
        return False


_TO = re.compile(r"\s*(?:to|until|through|till|-|–|—|到|至)\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|和)\s*", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:,|and|or|&|和|、)\s*", re.IGNORECASE)
_LED_BY = (
    (re.compile(r"(?:\b(?:since|from|starting)(?:\s+in)?|从|自)\s*$", re.I), ">="),
    (re.compile(r"\bafter\s*$", re.I), ">"),
    (re.compile(r"\b(?:before|prior to)\s*$", re.I), "<"),
    (re.compile(r"\b(?:until|up to|till|through)\s*$", re.I), "<="),
)
_FOLLOWED_BY = ((re.compile(r"\s*(?:以来|起|开始)"), ">="), (re.compile(r"\s*(?:之后|以后)"), ">"),
                (re.compile(r"\s*(?:以前|之前)"), "<"))  # fmt: skip


def spans_of_time(text: str, found: Sequence[Moment]) -> tuple[str, ...]:
    """The values that these moments of a text stand for: ranges, "since" and "before" included."""
    values: list[str] = []
    place = 0
    while place < len(found):
        here, after = found[place], found[place + 1] if place + 1 < len(found) else None
        led = text[: here.span.start] + _own_preposition(text, here)
        listed = after and _LISTED.fullmatch(text[here.span.end : after.span.start])
        if after and listed and re.fullmatch(r"M\d\d \d{4}-\d\d", f"{here.value} {after.value}"):
            here = Moment(f"{after.value[:4]}-{here.value[1:]}", here.span)  # "March and April 2022" are of one year
        if after and _is_range(text, here, after, led):
            values += _range(here.value, after.value)
            place += 2
            continue
        sign = next((sign for pattern, sign in _LED_BY if pattern.search(led)), "")
        sign = sign or next((s for pattern, s in _FOLLOWED_BY if pattern.match(text[here.span.end :])), "")
        values.append(f"{sign}{here.value}" if here.value[0] in "12M" and here.value[1].isdigit() else here.value)
        place += 1
    return tuple(dict.fromkeys(values))


def _own_preposition(text: str, moment: Moment) -> str:
    """The word before a bare month, which is part of how it was recognised."""
    return text[moment.span.start : moment.span.end].partition(" ")[0] if moment.value.startswith("M") else ""


def _is_range(text: str, here: Moment, after: Moment, led: str) -> bool:
    between = text[here.span.end : after.span.start] + _own_preposition(text, after)
    dated = after.value[0].isdigit() and here.value[0] in "12M"
    joined = _TO.fullmatch(between) or (_AND.fullmatch(between) and re.search(r"\bbetween\b|介于", led, re.I))
    return bool(dated and joined)


def _range(first: str, last: str) -> list[str]:
    if first.startswith("M"):
        first = f"{last[:4]}-{first[1:]}"
    if first.isdigit() and last.isdigit():
        return [str(year) for year in range(int(first), int(last) + 1)]
    return [f"{first}..{last}"]


# --- as code ----------------------------------------------------------------------------------------------------------


def mask(values: Sequence[str], column: str, whole: str) -> str:
    """The condition, as code, that holds where `column` lies in any of the times; `whole` is the column of all rows."""
    years = [value for value in values if value.isdigit()]
    parts = [f"{column}.dt.year.isin([{', '.join(years)}])"] if years else []
    parts += [_condition(value, column, whole) for value in values if not value.isdigit()]
    return " | ".join(f"({part})" if len(parts) > 1 else part for part in parts)


def _condition(value: str, column: str, whole: str) -> str:
    if relative := LAST.fullmatch(value):
        step = {"D": ("days", 1), "W": ("weeks", 1), "M": ("months", 1), "Q": ("months", 3), "Y": ("years", 1)}
        name, size = step[relative[2]]
        return f"{column} > {whole}.max().normalize() - pd.DateOffset({name}={int(relative[1]) * size})"
    if relative := re.fullmatch(r"([YQM])-(\d)", value):
        return f'{column}.dt.to_period("{relative[1]}") == {whole}.max().to_period("{relative[1]}") - {relative[2]}'
    if value[0] in "MQ":
        return f"{column}.dt.{'month' if value[0] == 'M' else 'quarter'} == {int(value[1:])}"
    if ".." in value:
        first, last = value.split("..")
        return f'{column}.between(pd.Period("{first}").start_time, pd.Period("{last}").end_time)'
    if compared := re.fullmatch(r"(>=|>|<=|<)M(\d\d)", value):  # the latest month of that name
        months = f'{whole}.dt.to_period("M").dropna().unique()'
        latest = f"max((month for month in {months} if month.month == {int(compared[2])}), default=pd.NaT)"
        return f'{column}.dt.to_period("M") {compared[1]} {latest}'
    if compared := BOUND.fullmatch(value):
        edge = "start_time" if compared[1] in (">=", "<") else "end_time"
        return f'{column} {compared[1]} pd.Period("{compared[2]}").{edge}'
    return f'{column}.dt.to_period("{frequency_of(value)}") == "{value}"'


def frequency_of(value: str) -> str:
    """The length of the time that a single value names: D, M, Q or Y."""
    if value[0] in "YQM":
        return value[0]
    return {4: "Y", 6: "Q", 7: "M"}.get(len(value), "D")


def coarser(one: str, other: str) -> str:
    """The longer of two steps of time."""
    return max(one, other, key="DWMQY".index)


def period_named(value: str, index: str) -> str:
    """The period of a series that a single value names, as code; `index` is the series' index of periods.

    A month or quarter without a year is the latest one.
    """
    if value.startswith(("M-", "Q-", "Y-")):
        return f"{index}[-1] - {value[2:]}"
    if value[0] in "MQ":
        part = "month" if value[0] == "M" else "quarter"
        return f"max((period for period in {index} if period.{part} == {int(value[1:])}), default=None)"
    return f'pd.Period("{value}", "{frequency_of(value)}")'
