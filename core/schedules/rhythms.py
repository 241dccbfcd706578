"""Says five fields of cron as people say them: “every Monday at 09:00”. Pure."""

from __future__ import annotations

import re

from core.phrases import listed, say
from core.values import Language

_TIME = re.compile(r"(\d{1,2}) (\d{1,2}) (\d{1,2}|L|\*) \* (\*|[0-7](?:,[0-7])*|1-5)")
_HOURS = re.compile(r"0 \*(?:/(\d{1,2}))? \* \* \*")


def rhythm(cron: str, language: Language) -> str:
    """The times of a schedule: hourly, daily, on weekdays, weekly or monthly in words, any others as cron."""
    if found := _HOURS.fullmatch(cron):
        return say("rhythm_hours", language, hours=int(found[1] or 1))
    found = _TIME.fullmatch(cron)
    if found is None or "*" not in (found[3], found[4]):
        return f"cron {cron}"
    time = f"{int(found[2]):02}:{int(found[1]):02}"
    if found[3] != "*":
        day = "" if found[3] == "L" else found[3]
        return say("rhythm_monthly", language, day=day, time=time)
    if found[4] in ("*", "1-5"):
        return say("rhythm_daily" if found[4] == "*" else "rhythm_weekdays", language, time=time)
    names = say("rhythm_days", language).split("|")
    days = listed([names[int(day) % 7] for day in found[4].split(",")], language)
    return say("rhythm_weekly", language, days=days, time=time)
