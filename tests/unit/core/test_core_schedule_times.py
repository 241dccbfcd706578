"""When a schedule is due: by the clock on the wall, once a day also when the clock is changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.schedule_times import BadTimes, least_gap, moment, newest_time, next_time
from core.schedules.values import ScheduleOrder
from core.team_settings import ScheduleSettings
from workers.schedules.drift import fits, pattern_of, patterns_of


def following(cron: str, zone: str, after: str, count: int) -> list[str]:
    at, found = datetime.fromisoformat(after), []
    for _ in range(count):
        at = next_time(cron, zone, at)
        found.append(at.isoformat())
    return found


def test_the_hour_on_the_wall_stays_when_summer_begins_and_ends() -> None:
    assert following("0 9 * * *", "Europe/Berlin", "2026-03-28T00:00:00+00:00", 2) == [
        "2026-03-28T08:00:00+00:00",
        "2026-03-29T07:00:00+00:00",
    ]


def test_a_time_that_is_skipped_comes_later_and_one_that_comes_twice_counts_once() -> None:
    assert following("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+00:00", 2) == [
        "2026-03-29T01:30:00+00:00",
        "2026-03-30T00:30:00+00:00",
    ]
    assert following("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+00:00", 2) == [
        "2026-10-25T00:30:00+00:00",
        "2026-10-26T01:30:00+00:00",
    ]


def test_a_time_is_found_from_within_a_change_of_the_clock_too() -> None:
    assert following("*/5 * * * *", "Europe/Berlin", "2026-10-25T01:00:30+00:00", 1) == ["2026-10-25T02:00:00+00:00"]
    assert following("30 2 * * *", "Europe/Berlin", "2026-03-29T01:10:00+00:00", 1) == ["2026-03-29T01:30:00+00:00"]


def test_the_last_day_comes_in_every_month() -> None:
    assert following("0 9 L * *", "UTC", "2028-01-31T10:00:00+00:00", 3) == [
        "2028-02-29T09:00:00+00:00",
        "2028-03-31T09:00:00+00:00",
        "2028-04-30T09:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("until", "newest"),
    [
        ("2026-11-02T09:00:00+00:00", "2026-11-02T09:00:00+00:00"),
        ("2026-11-09T08:59:00+00:00", "2026-11-02T09:00:00+00:00"),
        ("2026-11-17T10:00:00+00:00", "2026-11-16T09:00:00+00:00"),
        ("2029-11-05T09:20:00+00:00", "2029-11-05T09:00:00+00:00"),
    ],
)
def test_the_newest_time_that_has_come_is_found_however_long_ago_the_first_one_was(until: str, newest: str) -> None:
    order = ScheduleOrder(cron="0 9 * * 1", zone="UTC", language="en")
    first = datetime(2026, 11, 2, 9, tzinfo=UTC)
    found = newest_time(ScheduleSettings(), order, first, datetime.fromisoformat(until))
    assert found.isoformat() == newest


@pytest.mark.parametrize(
    ("cron", "zone"),
    [("0 0 30 2 *", "UTC"), ("61 * * * *", "UTC"), ("0 9 * * 1", "Mars/Base"), ("x", "UTC"), ("0 9 * * 1", "../etc")],
)
def test_times_that_never_come_are_refused(cron: str, zone: str) -> None:
    with pytest.raises(BadTimes):
        next_time(cron, zone, datetime(2026, 1, 1, tzinfo=UTC))


def test_the_shortest_gap_counts() -> None:
    assert least_gap("0,5 9 * * *", "UTC", datetime(2026, 1, 1, tzinfo=UTC)) == timedelta(minutes=5)
    at = datetime(2026, 1, 2, 8, tzinfo=UTC)
    assert moment(at, "Asia/Shanghai", "zh") == moment(at, "Asia/Shanghai", "en") == "2026-01-02 16:00"
    assert moment(at, "Europe/Berlin", "de") == "02.01.2026 09:00"
    assert moment(at, "Europe/Paris", "fr") == moment(at, "Europe/Madrid", "es") == "02/01/2026 09:00"
    assert moment(at, "Asia/Tokyo", "ja") == "2026/01/02 17:00"


def test_numbers_in_the_name_of_a_file_may_be_others() -> None:
    assert pattern_of("sales_2026-01.csv") == "sales_*-*.csv"
    assert fits("Sales_2026-02.csv", "sales_*-*.csv")
    assert not fits("sales_2026-02.csv.exe", "sales_*-*.csv")
    assert not fits("costs_2026-02.csv", "sales_*-*.csv")
    assert fits("a(1).csv", "a(?).csv")


@pytest.mark.parametrize(
    ("names", "pattern", "patterns"),
    [
        (["sales_2.csv", "sales_1.csv"], "", ["sales_*.csv", "sales_1.csv"]),
        (["sales_9.csv", "sales_10.csv", "plan.csv"], "", ["sales_9.csv", "sales_*.csv", "plan.csv"]),
        (["data.csv", "data.csv"], "", ["", "data.csv"]),
        (["north.csv", "south.csv"], "*.csv", ["north.csv", "*.csv"]),
        (["sales_1.csv", "sales_total.csv"], "", ["sales_*.csv", "sales_total.csv"]),
    ],
)
def test_one_pattern_counts_for_one_of_several_inputs(names: list[str], pattern: str, patterns: list[str]) -> None:
    assert patterns_of(names, pattern) == patterns
