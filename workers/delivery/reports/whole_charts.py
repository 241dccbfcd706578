"""Charts that can be drawn again from their data: which they are, and what is said along them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from core.steps import ChartData, Scalar
from workers.delivery.reports.tables import are_keys

_MOST_BARS, _MOST_LABELS = 40, 400
_SERIES_LIMIT: Final = 10
"""So many series of a chart are known at most (executor/inside/chart_data.py): with as many there may be more."""
_SLICE_SUM = 1.0001
_LONG, _MANY = 14, 12
_HUGE = 10**18
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FIRST_OF_MONTH = re.compile(r"\d{4}-\d\d-01")


def is_whole(chart: ChartData) -> bool:
    """Whether a chart that is drawn from the data can show all that the picture shows."""
    series = chart.series
    if chart.more or not series or len(series) >= _SERIES_LIMIT or len({one.kind for one in series}) > 1:
        return False
    if any(one.total_points > len(one.points) or not one.points for one in series):
        return False
    if all(x is None for one in series for x, _ in one.points):
        return False
    if any(not is_amount(y) for one in series for _, y in one.points) or is_half_labelled(chart):
        return False
    if all(is_amount(x) and x is not None for one in series for x, _ in one.points) and series[0].kind != "bar":
        return series[0].kind in ("line", "scatter")
    labels = [[str(x) for x, _ in one.points] for one in series]
    most = _MOST_BARS if series[0].kind == "bar" else _MOST_LABELS
    shares = sum(float(y or 0) for _, y in series[0].points)
    return (
        all(each == labels[0] for each in labels)
        and len(labels[0]) <= most
        and series[0].kind in ("line", "bar", "pie")
        and (series[0].kind != "pie" or (len(series) == 1 and 0 < shares <= _SLICE_SUM))
    )


def is_half_labelled(chart: ChartData) -> bool:
    """Whether some bars have the text of a mark on their axis, and others their place as a number: these would be read
    as labels."""
    xs = {x if isinstance(x, str) else float(x) for one in chart.series for x, _ in one.points if x is not None}
    texts = [x for x in xs if isinstance(x, str)]
    return 0 < len(texts) < len(xs) and not all(map(_NUMBER.fullmatch, texts))


def is_amount(value: Scalar) -> bool:
    """Whether a point is a number that can be drawn, or nothing at all."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HUGE)


def is_xy(chart: ChartData) -> bool:
    """Whether both axes of a whole chart are numbers."""
    kind = chart.series[0].kind
    return kind == "scatter" or (kind == "line" and all(is_amount(x) for one in chart.series for x, _ in one.points))


def along_keys(chart: ChartData) -> bool:
    """Whether years or keys stand along the chart."""
    return are_keys(chart.x, (x for one in chart.series for x, _ in one.points))


def labels_along(values: Sequence[Scalar]) -> list[str]:
    """The points along a chart as labels. Midnight is left out, and so is the first day of each month."""
    whole = (int(value) if isinstance(value, float) and value.is_integer() else value for value in values)
    labels = ["" if value is None else str(value).removesuffix("T00:00:00") for value in whole]
    is_months = len(labels) > 1 and all(_FIRST_OF_MONTH.fullmatch(label) for label in labels)
    return [label[:7] for label in labels] if is_months else labels


def bars_lie(labels: Sequence[str]) -> bool:
    """Whether bars with these labels have more room when they lie."""
    return max(map(places, labels), default=0) > _LONG or len(labels) > _MANY


def places(text: str) -> int:
    """How wide a text is, in letters of ours: those of Chinese and Japanese take two."""
    return sum(2 if ord(letter) > 0x2E7F else 1 for letter in text)
