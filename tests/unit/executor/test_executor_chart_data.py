"""What bars and points are of, as the data of a chart says it: what people read on the axis, never its raw numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.dates as mdates
import pandas as pd
import pytest
from matplotlib.figure import Figure

from executor.inside.chart_data import describe_chart

MONTHS = list(pd.date_range("2024-01-01", periods=7, freq="MS"))
NAMED = [f"{month:%Y-%m}" for month in MONTHS]
DAYS = [f"{month:%Y-%m-%d}" for month in MONTHS]


@pytest.fixture
def axes() -> Iterator[Any]:
    return Figure().subplots()


def labels(axes: Any) -> list[object]:
    return [label for label, _ in describe_chart(axes.figure)[0]["series"][0]["points"]]


@pytest.mark.parametrize(
    ("every", "align", "expected"),
    [(1, "center", NAMED), (2, "center", DAYS), (2, "edge", DAYS)],
    ids=["each month has a mark", "every second has one", "bars begin at their month"],
)
def test_bars_of_months_are_of_months_however_many_have_a_mark(
    axes: Any, every: int, align: str, expected: list[str]
) -> None:
    axes.bar(MONTHS, range(1, 8), width=25, align=align)
    axes.xaxis.set_major_locator(mdates.MonthLocator(interval=every))
    axes.xaxis.set_major_formatter(mdates.DateFormatter("%Y-%m"))
    assert labels(axes) == expected


def test_lying_bars_of_dates_are_of_dates(axes: Any) -> None:
    axes.barh(MONTHS, range(1, 8), height=20)
    axes.yaxis.set_major_locator(mdates.MonthLocator(interval=3))
    assert sorted(map(str, labels(axes))) == DAYS


def test_bars_that_stand_within_a_day_have_their_time(axes: Any) -> None:
    axes.bar(pd.date_range("2024-01-01", periods=3, freq="6h"), [1, 2, 3], width=0.1)
    axes.xaxis.set_major_locator(mdates.DayLocator())
    assert labels(axes) == ["2024-01-01", "2024-01-01 06:00:00", "2024-01-01 12:00:00"]


def test_bars_of_numbers_are_of_numbers_where_not_each_has_a_mark(axes: Any) -> None:
    axes.bar([1, 2, 3], [4, 5, 6])
    axes.set_xticks([1, 3], ["one", "three"])
    assert labels(axes) == [1, 2, 3]


@pytest.mark.parametrize("across", [False, True])
def test_bars_side_by_side_are_of_the_name_that_they_stand_next_to(axes: Any, across: bool) -> None:
    frame = pd.DataFrame(
        {"ROAS": [-14.6, -23.2], "CPA": [10.4, 29.5], "Spend": [23.5, 9.9]}, index=["Search", "Social"]
    )
    frame.plot.barh(ax=axes) if across else frame.plot.bar(ax=axes)
    [chart] = describe_chart(axes.figure)
    points = {series["name"]: sorted(series["points"]) for series in chart["series"]}
    assert points["ROAS"] == [["Search", -14.6], ["Social", -23.2]]
    assert points["Spend"] == [["Search", 23.5], ["Social", 9.9]]


def test_bars_that_stand_far_from_a_mark_are_of_their_places(axes: Any) -> None:
    axes.bar([0.5, 1.5], [1, 2])
    axes.bar([0.5, 1.5], [3, 4], bottom=[1, 2])
    axes.set_xticks([0, 1], ["a", "b"])
    assert [series["points"][0][0] for series in describe_chart(axes.figure)[0]["series"]] == [0.5, 0.5]


def test_a_line_across_the_axes_is_no_series(axes: Any) -> None:
    axes.bar(["Search", "Social"], [23.5, 9.9])
    axes.axhline(0)
    axes.axvline(0.5)
    [chart] = describe_chart(axes.figure)
    assert [series["kind"] for series in chart["series"]] == ["bar"]
    assert chart["more"]


def test_bars_of_names_are_of_names(axes: Any) -> None:
    axes.bar(["North", "South"], [4, 5])
    assert labels(axes) == ["North", "South"]


@pytest.mark.parametrize(
    ("freq", "expected"),
    [
        ("MS", ["2024-01", "2024-02", "2024-03"]),
        ("ME", ["2024-01", "2024-02", "2024-03"]),
        ("QS", ["2024Q1", "2024Q2", "2024Q3"]),
        ("YS", ["2024", "2025", "2026"]),
        ("W", ["2024-01-07", "2024-01-14", "2024-01-21"]),
        ("D", ["2024-01-01", "2024-01-02", "2024-01-03"]),
        ("B", ["2024-01-01", "2024-01-02", "2024-01-03"]),
        ("15min", ["2024-01-01 00:00", "2024-01-01 00:15", "2024-01-01 00:30"]),
    ],
)
def test_a_line_that_pandas_draws_over_time_is_of_its_dates(axes: Any, freq: str, expected: list[str]) -> None:
    """pandas draws a regular series by the numbers of its periods: January 2024 is 648."""
    days = pd.date_range("2024-01-01", periods=3, freq=freq)
    pd.Series([1, 2, 3], index=days).plot(ax=axes)
    assert labels(axes) == expected


def test_a_missing_value_of_a_line_is_missing(axes: Any) -> None:
    pd.Series([1, None, 3], index=MONTHS[:3]).plot(ax=axes)
    assert [value for _, value in describe_chart(axes.figure)[0]["series"][0]["points"]] == [1, None, 3]


def test_dots_of_dates_are_of_dates_and_those_of_names_of_names(axes: Any) -> None:
    axes.scatter(MONTHS[:2], [1, 2])
    assert labels(axes) == DAYS[:2]
    axes.clear()
    axes.scatter(["north", "south"], [1, 2])
    assert labels(axes) == ["north", "south"]


def test_a_line_is_of_the_marks_that_stand_below_its_points(axes: Any) -> None:
    axes.plot(range(3), [4, 5, 6])
    axes.set_xticks(range(3), ["Jan", "Feb", "Mar"])
    assert labels(axes) == ["Jan", "Feb", "Mar"]


def test_a_line_with_marks_below_some_of_its_points_is_not_drawn_again(axes: Any) -> None:
    axes.plot(range(4), [4, 5, 6, 7])
    axes.set_xticks([0, 2], ["Jan", "Mar"])
    assert labels(axes) == [0, 1, 2, 3]
    assert describe_chart(axes.figure)[0]["more"]


def test_years_below_a_line_stay_numbers(axes: Any) -> None:
    axes.plot([2015, 2016, 2017], [1, 2, 3])
    axes.set_xticks([2015, 2017])
    assert labels(axes) == [2015, 2016, 2017]
    assert not describe_chart(axes.figure)[0]["more"]


def test_an_axis_whose_marks_say_other_numbers_says_so(axes: Any) -> None:
    axes.plot([4e6, 6e6])
    axes.set_ylabel("Revenue (M EUR)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:.1f}")
    axes.set_yticks([4e6, 5e6])
    assert describe_chart(axes.figure)[0]["y"] == "Revenue (M EUR) [5.0 = 5000000]"
