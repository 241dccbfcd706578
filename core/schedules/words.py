"""Reads the words that schedule a report: “every Monday 9:00 run this again”. Pure.

A text counts only if it has both: a repeating time, and the order to run this again. “Every region's total?” is
a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from core.schedules.clock import has_unread_clock, names_another_zone, read_clock, without_dots
from core.schedules.narrowing import (
    WEEKS,
    are_narrowed,
    name_further_days,
    name_further_days_of_a_month,
    names_a_part_of_a_month,
    names_a_part_of_a_week,
    repeat,
)
from core.schedules.thresholds import Threshold, read_threshold
from core.values import Value

OnDaysOff = Literal["", "skip", "next"]
"""What becomes of a run that falls on a day off: it is made all the same, left out, or made on the next working day."""


class ScheduleWords(Value):
    """A schedule from a sentence: five fields of cron, the time zone if one was named, and when a run is posted.

    `unread` says what of it cannot be read: its times (“every Monday until June”; `cron` is "" then), its time zone
    (“9:00 EST”) or its limit (“only when sales fall by more than 10 %”). `pattern` is the file name pattern with `*`,
    if the sentence has one.
    """

    cron: str
    zone: str = ""
    threshold: Threshold | None = None
    pattern: str = ""
    on_days_off: OnDaysOff = ""
    unread: Literal["", "times", "zone", "limit"] = ""


_MOST_CHARS = 400
_LAST_DAY = 31
_STEPS = (1, 2, 3, 4, 6, 8, 12)
"""Hours that divide a day: cron begins each day anew, so others would not be as far apart as people say."""
_DAYS = {
    **{name: str(number) for week in WEEKS.values() for number, name in enumerate(week)},
    **{name[:3]: str(number) for number, name in enumerate(WEEKS["en"])},
    **dict(zip("日一二三四五六", "0123456", strict=True)),
    "天": "0",
    **dict(zip("日月火水木金土", "0123456", strict=True)),
}
_NAMES = "|".join(sorted((name for name in _DAYS if len(name) > 1), key=len, reverse=True))
_AGAIN = re.compile(
    r"\b(?:re-?run|run|repeat|refresh|redo)\b[^.?!\n]{0,30}\b(?:this|it|again|that|report)\b|重新(?:运行|执行|跑)"
    r"|再(?:次)?(?:运行|执行|跑)|重跑"
    r"|(?:自动)?(?:运行|执行)一?次"
    r"|\b(?:noch ?ein ?mal|erneut|wieder)\s+(?:ausführen|laufen|berechnen|erstellen)\b"
    r"|\b(?:führe?|lass)\b[^.?!\n]{0,30}\b(?:noch ?ein ?mal|erneut|wieder)\b"
    r"|\b(?:ejecut\w+|repet\w+|repit\w+|actuali[zc]\w+)\b[^.?!\n]{0,30}\b(?:de nuevo|otra vez|esto|informe)\b"
    r"|\b(?:relanc\w+|réexécut\w+|recalcul\w+)\b|\bexécut\w+\b[^.?!\n]{0,30}\bà nouveau\b"
    r"|(?:もう一度|再度?|また)\s*(?:実行|計算|作成)"
)
_ZONE = re.compile(r"\b((?:[A-Z][A-Za-z]+/[A-Za-z_]+(?:/[A-Za-z_]+)?)|(?i:utc|gmt))\b")
_WEEKLY = re.compile(rf"\bevery\s+((?:(?:{_NAMES})s?)(?:(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+)(?:{_NAMES})s?)*)\b")
_WEEKLY_WORDS = re.compile(
    rf"\b(?:jeden|cada|todos los|chaque|tous les)\s+"
    rf"((?:(?:{_NAMES})s?)(?:(?:\s*,\s*|\s+(?:und|y|et)\s+)(?:{_NAMES})s?)*)\b"
)
_WEEKLY_JA = re.compile(r"毎週\s*([月火水木金土日])(?:曜日?)?((?:[、と・]\s*[月火水木金土日](?:曜日?)?)*)")
_RANGE = re.compile(
    rf"\b(?:every|each|jeden|cada|todos los|chaque|tous les)\s+({_NAMES})s?"
    rf"\s*(?:-|–|to|through|thru|bis|hasta|a|à|au)\s*({_NAMES})s?\b"
    r"|每个?(?:周|星期|礼拜)([一二三四五六日天])\s*[至到\-–~]\s*(?:周|星期|礼拜)?([一二三四五六日天])"
    r"|毎週\s*([月火水木金土日])(?:曜日?)?\s*(?:から|[〜~\-–])\s*([月火水木金土日])(?:曜日?)?(?:まで)?"
)
_WORKDAYS = re.compile(
    r"\b(?:jede[nm] (?:werk|arbeits)tag|werktags|cada día (?:laborable|hábil)|los días (?:laborables|hábiles)"
    r"|(?:chaque jour|tous les jours) (?:ouvré|ouvrable)s?)\b|平日"
)
_DAILY = re.compile(
    r"\b(?:jeden tag|täglich|cada día(?! \d{1,2} (?:a las?|del?)\b)|todos los días|chaque jour"
    r"|tous les jours(?! de la semaine))\b|毎日"
)
_MONTHLY_WORDS = re.compile(
    r"\b(?:jeden monat am|am|el(?: día)?|le) (\d{1,2})(?:\.|er)?(?: (?:jedes monats|de cada mes|(?:de )?chaque mois))\b"
    r"|\bjeden monat am (\d{1,2})\.|毎月\s*(\d{1,2})\s*日"
)
_HOURS_WORDS = re.compile(
    r"\b(?:jede stunde|stündlich|alle (\d{1,2}) stunden|cada (?:(\d{1,2}) )?horas?|chaque heure"
    r"|toutes les (?:(\d{1,2}) )?heures)\b|毎時(?!間)|(\d{1,2})\s*時間ごと|每隔?(\d{1,2})?个?小时"
)
_MONTHLY = re.compile(
    r"\bevery month\b(?:.*?\b(?:on\s+)?(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)\b)?"
    r"|\bon the (\d{1,2})(?:st|nd|rd|th) of every month\b"
)
_DAY_OF_MONTH = re.compile(r"\bday (\d{1,2})(?= of every month\b| at\b)")
_HOURS = re.compile(r"\bevery (?:(\d{1,2}) )?hours?\b|\bhourly\b")
_CRON = re.compile(r"\bcron\s+[`'\"]?((?:[\d*/,\-]+\s+){4}[\d*/,\-]+)(?![\w#?])")
_CRON_BEGINS = re.compile(r"\bcron\s+[`'\"]?[\d*]")
_NEXT_WORKING_DAY = re.compile(
    r"\bnext (?:working|work|business) ?day\b|顺延|下一?个?工作日"
    r"|\bnächste[nrm]? (?:werk|arbeits)tag\b|\bsiguiente día (?:laborable|hábil)\b"
    r"|\bjour (?:ouvré|ouvrable) suivant\b|翌営業日|次の営業日"
)
_NOT_ON_DAYS_OFF = re.compile(
    r"\b(?:not on|except(?: on)?|skip(?:ping)?|but not on|no) (?:(?:public|bank|national) )?(?:holidays?|days? off)\b"
    r"|\bunless (?:it is|it's) a (?:public |bank )?holiday\b|\bholidays? off\b"
    r"|(?:节假日|法定假日|假日|假期|节日)(?:除外|不运行|不执行|不跑|跳过)|(?:除|跳过)(?:了)?(?:法定)?(?:节假日|假日|假期|节日)"
    r"|\b(?:nicht an|ausser an|ohne) feiertagen?\b"
    r"|\b(?:excepto|salvo|no) (?:en |los )?(?:días )?(?:festivos|feriados)\b"
    r"|\b(?:sauf|hors|pas) (?:les )?jours fériés\b|祝日(?:を|は)除"
)
_WORKDAYS_EN_ZH = re.compile(r"\b(?:every|each) (?:weekday|working day|workday)s?\b|每个?工作日")
_MONTHLY_ZH = re.compile(r"每个?月(?:的)?(\d{1,2})(?:日|号)")
_WEEKLY_ZH = re.compile(r"每个?(?:周|星期|礼拜)([一二三四五六日天])((?:[、和,，]?(?:周|星期)?[一二三四五六日天])*)")
_DAILY_EN_ZH = re.compile(r"\bevery ?day\b|\bdaily\b|每天|每日")
_PATTERN = re.compile(r"([\w\-.*?\[\]]*[*?][\w\-.*?\[\]]*\.[A-Za-z0-9]{2,8})")


def read_schedule(text: str) -> ScheduleWords | None:
    """The schedule that a text orders; None when it orders none."""
    if not text or len(text) > _MOST_CHARS:
        return None
    plain = " ".join(text.split())
    if plain.endswith(("?", "？")):
        return None
    said = without_dots(plain.casefold())
    if not _AGAIN.search(said):
        return None
    limited = read_threshold(_without_days_off(said))
    pattern = _PATTERN.search(plain)
    if (cron := _cron(limited.rest)) is None:
        return None
    zone = _ZONE.search(plain)
    return ScheduleWords(
        cron=cron,
        zone=(zone[1] if "/" in zone[1] else zone[1].upper()) if zone else "",
        threshold=limited.threshold,
        pattern=pattern[1] if pattern else "",
        on_days_off="next" if _NEXT_WORKING_DAY.search(said) else "skip" if _NOT_ON_DAYS_OFF.search(said) else "",
        unread="times" if not cron else "zone" if names_another_zone(plain) else "" if limited.is_read else "limit",
    )


def _without_days_off(said: str) -> str:
    return _NOT_ON_DAYS_OFF.sub(" ", _NEXT_WORKING_DAY.sub(" ", said))


def _cron(said: str) -> str | None:
    """Five fields, "" for repeating times that cannot be read, None for none."""
    if found := _CRON.search(said):
        return "" if are_narrowed(_CRON.sub(" ", said)) else " ".join(found[1].split())
    if _CRON_BEGINS.search(said):
        return ""  # a name or a sign of some crons, as in "1#5" or "mon"
    if found := _HOURS.search(said) or _HOURS_WORDS.search(said):
        step = int(next((each for each in found.groups() if each), 1))
        if step not in _STEPS or are_narrowed(said) or names_a_part_of_a_week(said):
            return ""
        return f"0 */{step} * * *" if step > 1 else "0 * * * *"
    if (time := read_clock(said)) is None:
        return None
    minute, hour = time
    if (read := _days(said)) is None:
        return "" if repeat(said) else None
    days, rest = read
    is_monthly = days.split()[0] != "*" if days else False
    if not days or are_narrowed(rest) or name_further_days(rest) or has_unread_clock(said):
        return ""
    if is_monthly and name_further_days_of_a_month(rest):
        return ""
    return f"{minute} {hour} {days}"


def _days(said: str) -> tuple[str, str] | None:
    """The last three fields of cron, and the text without the words for them.

    The fields are "" for days of each month that have no number.
    """
    if found := _RANGE.search(said):
        first, last = (int(_DAYS[name]) for name in found.groups() if name)
        return _weekly((str((first + n) % 7) for n in range((last - first) % 7 + 1)), found)
    if found := _WEEKLY.search(said) or _WEEKLY_WORDS.search(said):
        return _weekly((_DAYS[name] for name in re.findall(_NAMES, found[1])), found)
    if _WORKDAYS_EN_ZH.search(said):
        return "* * 1-5", _WORKDAYS_EN_ZH.sub(" ", said)
    if found := _WEEKLY_JA.search(said):
        names = found[1] + re.sub(r"[^月火水木金土日]", "", found[2].replace("曜日", ""))
        return _weekly((_DAYS[name] for name in names), found)
    if _WORKDAYS.search(said):
        return "* * 1-5", _WORKDAYS.sub(" ", said)
    if found := _MONTHLY_WORDS.search(said):
        return _monthly(next(each for each in found.groups() if each), found)
    if _DAILY.search(said):
        return "* * *", _DAILY.sub(" ", said)
    if found := _MONTHLY.search(said):
        named = _DAY_OF_MONTH.search(said)
        day = found[1] or found[2] or (named[1] if named else None)
        if not day and names_a_part_of_a_month(said):
            return "", said
        return _monthly(day or "1", found)
    if found := _MONTHLY_ZH.search(said):
        return _monthly(found[1], found)
    if found := _WEEKLY_ZH.search(said):
        names = found[1] + re.sub(r"[^一二三四五六日天]", "", found[2])
        return _weekly((_DAYS[name] for name in names), found)
    if _DAILY_EN_ZH.search(said):
        return "* * *", _DAILY_EN_ZH.sub(" ", said)
    return None


def _weekly(days: Iterable[str], found: re.Match[str]) -> tuple[str, str]:
    return f"* * {','.join(sorted(set(days)))}", _beside(found)


def _monthly(day: str, found: re.Match[str]) -> tuple[str, str] | None:
    """The fields for a day of every month. Not every month has 31 days: then its last day is meant."""
    number = int(day)
    if not 1 <= number <= _LAST_DAY:
        return None
    return f"{'L' if number == _LAST_DAY else number} * *", _beside(found)


def _beside(found: re.Match[str]) -> str:
    """The text without what was found in it."""
    return f"{found.string[: found.start()]} {found.string[found.end() :]}"
