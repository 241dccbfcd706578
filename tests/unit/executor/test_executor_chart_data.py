"""What bars are of, as the data of a chart says it: all of one kind, never marks beside raw places of the axis."""

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


def test_bars_of_names_are_of_names(axes: Any) -> None:
    axes.bar(["North", "South"], [4, 5])
    assert labels(axes) == ["North", "South"]
