"""When a schedule is due next. `croniter` reads the five fields: RQ brings it along, so it is no further dependency.

Times are those of the clock on the wall. A time that the spring skips is the same number of minutes later, one that the
autumn has twice counts the first time only.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter

from core.phrases import moment_in
from core.values import Language

_MOST_STEPS = 10


class BadTimes(Exception):
    """These times cannot be kept. `key` is the phrase for people."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this name. Raises BadTimes."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadTimes("schedule_bad_zone") from None


def next_time(cron: str, zone: str, after: datetime) -> datetime:
    """The first time behind `after`, in UTC. Raises BadTimes when there is none."""
    if not croniter.is_valid(cron):
        raise BadTimes("schedule_bad_times")
    place = zone_of(zone)
    local = after.astimezone(place).replace(tzinfo=None)
    times = croniter(cron, local)
    for _ in range(_MOST_STEPS):
        try:
            found: datetime = times.get_next(datetime)
        except (ValueError, KeyError):  # CroniterBadDateError: the 30th of February
            raise BadTimes("schedule_bad_times") from None
        at = found.replace(tzinfo=place).astimezone(UTC)
        if at > after:
            return at
    raise BadTimes("schedule_bad_times")


def least_gap(cron: str, zone: str, after: datetime) -> timedelta:
    """The shortest time between two of the next runs. Raises BadTimes."""
    times = [after]
    for _ in range(_MOST_STEPS):
        times.append(next_time(cron, zone, times[-1]))
    return min(later - earlier for earlier, later in pairwise(times[1:]))


def moment(at: datetime, zone: str, language: Language) -> str:
    """A time as people of its zone and language read it, to the minute."""
    try:
        return moment_in(at.astimezone(zone_of(zone)), language)
    except BadTimes:
        return f"{moment_in(at, language)} UTC"
