"""The days on which a team does not work: public holidays of a country, and the dates that it names itself.

`holidays` knows the countries (ADR 33). It is read when a schedule cares for days off, and never else.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Protocol

from core.team_settings import ScheduleSettings
from core.telemetry import get_logger

log = get_logger(__name__)

SATURDAY = 5
MOST_DAYS = 60
"""The number of days that are searched for a working day."""


class _Country(Protocol):
    def __contains__(self, day: date) -> bool: ...

    def is_working_day(self, day: date) -> bool: ...


@dataclass(frozen=True, slots=True)
class DaysOff:
    """Which days are off. `country` is "DE" or "DE-BY", "" for none; `days` are off too."""

    country: str = ""
    days: Set[date] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.country or self.days)

    def is_off(self, day: date) -> bool:
        """Whether a run is not to begin on this day. A weekend is no day off: the schedule names its days itself."""
        country = _country(self.country)
        return day in self.days or (country is not None and day in country)

    def is_working(self, day: date) -> bool:
        """Whether people work on this day. A country may work on single Sundays, and have another weekend."""
        country = _country(self.country)
        usual = day.weekday() < SATURDAY if country is None else country.is_working_day(day)
        return usual and not self.is_off(day)

    def working_from(self, day: date) -> date:
        """The first working day from this one on; the day itself when none is near."""
        days = (day + timedelta(days=n) for n in range(MOST_DAYS))
        return next((each for each in days if self.is_working(each)), day)

    def rest_before(self, day: date) -> date:
        """The first day of the days without work that end right before this one; the day itself when it has none."""
        days = (day - timedelta(days=n) for n in range(MOST_DAYS))
        return next((each for each in days if self.is_working(each - timedelta(days=1))), day)


def days_off(settings: ScheduleSettings) -> DaysOff:
    """The days off of a workspace."""
    return DaysOff(settings.holidays, frozenset(settings.days_off))


def is_known(country: str) -> bool:
    """Whether there are holidays of this country, or of this part of it."""
    return not country or _country(country) is not None


@lru_cache(maxsize=64)
def _country(code: str) -> _Country | None:
    if not code:
        return None
    import holidays  # noqa: PLC0415 - 16 MB, for schedules that care for days off alone

    country, _, part = code.partition("-")
    try:
        found: _Country = holidays.country_holidays(country, subdiv=part or None)
    except NotImplementedError:
        log.warning("holidays_not_known", country=code)
        return None
    return found
