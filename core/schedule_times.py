"""When a schedule is due next. `croniter` reads the five fields. RQ already depends on it.

Times are local times. A time that does not exist in spring comes the skipped minutes later. A time that comes twice in
autumn counts only the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter

from core.days_off import DaysOff, days_off
from core.phrases import moment_in
from core.schedules.values import ScheduleOrder
from core.schedules.words import OnDaysOff
from core.team_settings import ScheduleSettings
from core.values import Language

_GAPS = 10
"""The number of pauses between runs that are looked at for the shortest one."""
_MOST_TIMES = 2_000
"""The number of due times that are searched for one that is not over, and not on a day off."""
_CLOCK_CHANGE = timedelta(hours=2)
"""No clock is set forward by more: a time before `after` on the clock may come behind it."""
_FAR = timedelta(days=12 * 366)
"""A time comes within so long: the 29th of February does."""


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


def next_time(
    cron: str, zone: str, after: datetime, on_days_off: OnDaysOff = "", rest: DaysOff | None = None
) -> datetime:
    """The first time behind `after`, in UTC. Raises BadTimes when there is none.

    A time on a day off is left out ("skip"), or comes at the same hour of the next working day ("next").
    """
    if not croniter.is_valid(cron):
        raise BadTimes("schedule_bad_times")
    place = zone_of(zone)
    local = after.astimezone(place).replace(tzinfo=None) - _CLOCK_CHANGE
    off = rest or DaysOff()
    if on_days_off == "next" and off:  # a time before `after` may have been moved behind it
        local = datetime.combine(off.rest_before(local.date()), datetime.min.time()) - timedelta(minutes=1)
    best: datetime | None = None
    for found in _times(cron, local):
        moved = found
        if on_days_off and off.is_off(found.date()):
            if on_days_off == "skip":
                continue
            moved = datetime.combine(off.working_from(found.date()), found.time())
        at = moved.replace(tzinfo=place).astimezone(UTC)
        if at > after and (best is None or at < best):
            best = at
        if best is not None and found.replace(tzinfo=place) >= best:  # none is moved to an earlier day
            break
    if best is None:
        raise BadTimes("schedule_bad_times")
    return best


def following_time(settings: ScheduleSettings, order: ScheduleOrder, after: datetime) -> datetime:
    """The first time of a schedule behind `after`, by the days off of its workspace. Raises BadTimes."""
    return next_time(order.cron, order.zone, after, order.on_days_off, days_off(settings))


def newest_time(settings: ScheduleSettings, order: ScheduleOrder, first: datetime, until: datetime) -> datetime:
    """The last time of a schedule up to `until`; `first` is a time of it that has come. Raises BadTimes.

    It is looked for shortly before `until`, then in ever longer spans: years may have passed since `first`.
    """
    found, back = first, timedelta(hours=1)
    while until - back > first:
        if (later := following_time(settings, order, until - back)) <= until:
            found = later
            break
        back *= 2
    while (later := following_time(settings, order, found)) <= until:
        found = later
    return found


def _times(cron: str, local: datetime) -> Iterator[datetime]:
    times = croniter(cron, local)
    for _ in range(_MOST_TIMES):
        try:
            found: datetime = times.get_next(datetime)
        except (ValueError, KeyError):  # CroniterBadDateError: the 30th of February
            raise BadTimes("schedule_bad_times") from None
        if found - local > _FAR:
            return
        yield found


def least_gap(cron: str, zone: str, after: datetime) -> timedelta:
    """The shortest time between two of the next runs. Raises BadTimes."""
    times = [after]
    for _ in range(_GAPS):
        times.append(next_time(cron, zone, times[-1]))
    return min(later - earlier for earlier, later in pairwise(times[1:]))


def moment(at: datetime, zone: str, language: Language) -> str:
    """A time as people of its zone and language read it, to the minute."""
    try:
        return moment_in(at.astimezone(zone_of(zone)), language)
    except BadTimes:
        return f"{moment_in(at, language)} UTC"
