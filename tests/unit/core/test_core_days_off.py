"""Days off: public holidays of a country and dates of the team; what becomes of a time on such a day."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest

from core.days_off import DaysOff, is_known
from core.schedule_times import BadTimes, next_time
from core.schedules.words import OnDaysOff

GERMANY = DaysOff("DE")


def following(cron: str, after: str, count: int, on_days_off: OnDaysOff, rest: DaysOff) -> list[str]:
    at, found = datetime.fromisoformat(after).replace(tzinfo=UTC), []
    for _ in range(count):
        at = next_time(cron, "UTC", at, on_days_off, rest)
        found.append(f"{at:%Y-%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("country", "day", "is_off"),
    [
        ("DE", "2026-12-25", True),
        ("DE", "2026-12-24", False),
        ("DE", "2026-01-06", False),
        ("DE-BY", "2026-01-06", True),
        ("CN", "2026-10-01", True),
        ("", "2026-12-25", False),
    ],
)
def test_the_holidays_of_a_country_or_a_part_of_it_are_days_off(country: str, day: str, is_off: bool) -> None:
    assert DaysOff(country).is_off(date.fromisoformat(day)) is is_off


def test_dates_of_the_team_are_days_off_too() -> None:
    rest = DaysOff("DE", frozenset({date(2026, 12, 24)}))
    assert rest.is_off(date(2026, 12, 24))
    assert rest.is_off(date(2026, 12, 25))


def test_a_time_on_a_day_off_is_left_out() -> None:
    # Easter Monday is 2026-04-06
    assert following("0 9 * * 1", "2026-03-31", 2, "skip", GERMANY) == ["2026-04-13 09:00", "2026-04-20 09:00"]
    assert following("0 9 * * 1", "2026-03-31", 1, "", GERMANY) == ["2026-04-06 09:00"]


def test_a_time_on_a_day_off_comes_on_the_next_working_day() -> None:
    assert following("0 9 * * 1", "2026-03-31", 2, "next", GERMANY) == ["2026-04-07 09:00", "2026-04-13 09:00"]
    # Good Friday, a weekend and Easter Monday
    assert following("0 9 * * 5", "2026-04-02", 2, "next", GERMANY) == ["2026-04-07 09:00", "2026-04-10 09:00"]


def test_a_time_that_was_moved_is_found_from_each_moment_before_it() -> None:
    assert following("0 9 * * 1", "2026-04-06T12:00", 1, "next", GERMANY) == ["2026-04-07 09:00"]
    assert following("0 9 * * 1", "2026-04-07T08:00", 1, "next", GERMANY) == ["2026-04-07 09:00"]
    assert following("0 9 * * 1", "2026-04-07T09:00", 1, "next", GERMANY) == ["2026-04-13 09:00"]


def test_a_day_that_has_its_own_time_gets_no_second_one() -> None:
    found = following("0 9 * * *", "2026-04-02T12:00", 6, "next", GERMANY)
    assert found == [f"2026-04-{day:02} 09:00" for day in (4, 5, 7, 8, 9, 10)]
    assert all(earlier < later for earlier, later in pairwise(found))


def test_china_works_on_single_sundays() -> None:
    assert DaysOff("CN").is_working(date(2026, 10, 10)), "a Saturday that makes up for the holidays"
    assert not DaysOff("CN").is_working(date(2026, 10, 17))


def test_a_country_that_is_not_known_is_no_calendar() -> None:
    assert is_known("")
    assert is_known("DE-BY")
    assert not is_known("XX")
    assert not is_known("DE-ZZ")
    assert not DaysOff("XX").is_off(date(2026, 12, 25))


def test_times_that_are_all_days_off_are_refused() -> None:
    with pytest.raises(BadTimes):
        next_time("0 9 25 12 *", "UTC", datetime(2026, 1, 1, tzinfo=UTC), "skip", GERMANY)
