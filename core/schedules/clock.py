"""Reads the time of day in an order to run a report again: “at 5 p.m.”, “um 9 Uhr abends”, “晚上9点半”. Pure.

Texts are case-folded. A word for a part of the day counts only right beside the time: an evening report may run at 9.
"""

from __future__ import annotations

import re
from typing import Literal

_Part = Literal["morning", "noon", "afternoon", "evening", "night"]

_TIME = re.compile(
    r"(?:\bat\s+)?\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b|(?:\bat\s+)?\b(\d{1,2}):(\d{2})\b|\bat\s+(\d{1,2})\b"
)
_TIME_UHR = re.compile(
    r"(?:\b(?:a las|à) )?\b(\d{1,2})(?::(\d{2}))?\s*(?:uhr|heures?|horas?|h)\b\s*(\d{2})?\b|\b(\d{1,2})h(\d{2})\b"
    r"|\b(?:a las|à) (\d{1,2})\b"
)
_TIME_JA = re.compile(r"(\d{1,2})\s*時\s*(半|\d{1,2})?")
_TIME_ZH = re.compile(r"(\d{1,2})\s*(?:点|时|:|：)\s*(半|\d{1,2})?")
_POINT = re.compile(
    r"(?<![\d.,])(?:(?<=\bat )|(?<=\bum )|(?<=\bà )|(?<=\blas )|(?<=day ))(\d{1,2})\.([0-5]\d)(?![\d.,]|\s*%)"
    r"|(?<![\d.,])(\d{1,2})\.([0-5]\d)(?=\s*(?:[ap]m|uhr|h)\b)"
)
_OTHER_ZONE = re.compile(
    r"\d\s*(?:[ap]m|uhr|h|o['’]?clock)?,?\s*\(?(?:"
    r"(?:[ecmp][sd]t|bst|ces?t|ees?t|mesz|mez|ist|jst|kst|sgt|hkt|a[ew][sd]t|nz[sd]t|msk|brt)\b"
    r"|(?:utc|gmt)\s*[+-]\s*\d"
    r"|(?:in )?(?!(?:local|my|our|your|this|that|the|same|each|every|(?:re-?)?run|next|last"
    r"|minutes?|hours?|days?|weeks?|months?|years?)\b)"
    r"[a-z]+(?: (?!the\b|this\b)[a-z]+)? time\b(?! series)"
    r"|\w+er zeit\b|hora de \w+|heure de \w+)"
)
_SHORT_ZONE = re.compile(r"\d\s*(?:[AaPp]\.?[Mm]\.?)?\s*\(?(?:ET|CT|MT|PT)\b")
"""In small letters they are words: “et” is French for “and”."""
_DOTTED = re.compile(r"(?<![^\W\d])([ap])\.\s?m\b\.?")

_BEHIND: dict[_Part, str] = {
    "morning": r"in the morning|morgens|früh|am morgen|(?:de|por) la mañana|de la madrugada|du matin",
    "noon": r"mittags|am mittag|del mediodía",
    "afternoon": r"in the afternoon|nachmittags|am nachmittag|(?:de|por) la tarde|(?:de )?l['’]après-midi",
    "evening": r"in the evening|tonight|abends|am abend|du soir|le soir",
    "night": r"at night|nachts|in der nacht|(?:de|por) la noche|de la nuit",
}
_BEFORE: dict[_Part, str] = {
    "morning": r"mornings?|matins?|凌晨|清晨|早朝",
    "noon": r"mittag|中午|正午|昼",
    "afternoon": r"afternoons?|nachmittag|après-midi|下午|傍晚|午後|夕方",
    "evening": r"evenings?|abend|soirs?",
    "night": r"nights?|nacht|晚上|晚间|夜里|夜间|夜晚|半夜|深夜|夜中|夜|晩",
}
_AFTER_A_TIME = r"\s*(?:o['’]?clock|uhr|heures?|horas?|h)?,?\s*"
_PARTS_BEHIND = {part: re.compile(rf"{_AFTER_A_TIME}(?:{words})\b") for part, words in _BEHIND.items()}
_PARTS_BEFORE = {
    part: re.compile(rf"(?:\b(?:{_BEHIND[part]})|(?:{words})),?\s*(?:の|at|um|gegen|a las?|à)?\s*\Z")
    for part, words in _BEFORE.items()
}
_TIME_WITH_A_PART = re.compile(rf"\d{_AFTER_A_TIME}(?:{'|'.join(_BEHIND.values())})\b")
_HALF_OR_QUARTER = re.compile(
    r"\b(?:half|quarter) (?:past|to|after|before) \d|\b(?:halb|viertel (?:vor|nach)|dreiviertel) \d"
    rf"|\d{_AFTER_A_TIME}(?:y (?:media|cuarto)|menos cuarto|et (?:demie?|quart)|moins le quart)\b"
    r"|[点时]\s*[一三123]刻|差[一三]?刻|\d分前"
)


def without_dots(said: str) -> str:
    """The text with “am” for “a.m.”, “pm” for “p.m.”, and “at 9:30” for “at 9.30”."""
    return _POINT.sub(lambda found: ":".join(filter(None, found.groups())), _DOTTED.sub(r"\1m", said))


def names_another_zone(plain: str) -> bool:
    """Whether a time has a time zone behind it that is no name as in Europe/Berlin: EST, UTC+2, Berlin time."""
    return bool(_SHORT_ZONE.search(plain) or _OTHER_ZONE.search(without_dots(plain.casefold())))


def has_unread_clock(said: str) -> bool:
    """Whether a text names a time that nobody reads here (a quarter past nine), or two times with parts of the day."""
    return bool(_HALF_OR_QUARTER.search(said)) or len(_TIME_WITH_A_PART.findall(said)) > 1


def read_clock(said: str) -> tuple[int, int] | None:
    """The minute and the hour of the first time of day; None when there is none."""
    if re.search(r"\bat noon\b", said):
        return 0, 12
    if found := _TIME.search(said):
        hour, minute = int(found[1] or found[4] or found[6]), int(found[2] or found[5] or 0)
        if found[3]:
            return _checked(minute, hour % 12 + (12 if found[3] == "pm" else 0)) if 1 <= hour <= 12 else None
    elif found := _TIME_UHR.search(said):
        hour, minute = int(found[1] or found[4] or found[6]), int(found[2] or found[3] or found[5] or 0)
    elif found := _TIME_JA.search(said) or _TIME_ZH.search(said):
        hour, minute = int(found[1]), 30 if found[2] == "半" else int(found[2] or 0)
    else:
        return (0, 12) if re.search(r"\bnoon\b", said) else None
    return _checked(minute, _in_part(hour, _part(said[: found.start()], said[found.end() :])))


def _checked(minute: int, hour: int) -> tuple[int, int] | None:
    return (minute, hour) if hour < 24 and minute < 60 else None


def _part(before: str, behind: str) -> _Part | None:
    """The part of the day that is named right behind a time or right before it."""
    named = (part for part, words in _PARTS_BEHIND.items() if words.match(behind))
    return next(named, None) or next((part for part, words in _PARTS_BEFORE.items() if words.search(before)), None)


def _in_part(hour: int, part: _Part | None) -> int:
    """The hour of 24 that an hour of 12 is in a part of the day. At night, one to four are those after midnight."""
    if part is None or not 1 <= hour <= 12:
        return hour
    if hour == 12:
        return 12 if part in ("noon", "afternoon") else 0
    first = {"morning": 12, "noon": 1, "afternoon": 1, "evening": 1, "night": 5}[part]
    last = 4 if part == "noon" else 11
    return hour + 12 if first <= hour <= last else hour
