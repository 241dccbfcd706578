"""The charts of a turn that Slack can draw itself. Their pictures are in the thread too."""

from __future__ import annotations

from itertools import pairwise

from core.slack.blocks import Block
from core.slack.charts import CHARTS, LABEL, POINTS, SERIES, UNNAMED, ChartKind, chart, pie
from core.steps import CellRan, ChartData, Scalar, SeriesData
from workers.delivery.reports.values import ReportInput
from workers.delivery.reports.whole_charts import is_amount, is_half_labelled

_MIDNIGHT = "T00:00:00"


def native_charts(given: ReportInput) -> list[Block]:
    """The last charts of this turn that are small enough, at most as many as a message takes.

    None is cut to fit: a chart that lacks points, or whose labels end too early, says something else.
    """
    drawn = [
        block
        for cell in given.drawn
        if cell.status == "ok" and not cell.left_out
        for data in cell.charts
        if (block := native_chart(data, cell)) is not None
    ]
    return drawn[-CHARTS:]


def native_chart(data: ChartData, cell: CellRan) -> Block | None:
    """A chart as Slack's block; None for one that Slack cannot draw as it is."""
    kinds = {series.kind for series in data.series}
    if data.more or not 0 < len(data.series) <= SERIES or len(kinds) > 1 or "scatter" in kinds:
        return None
    if is_half_labelled(data):
        return None
    title = data.title or cell.title
    points = [_points(series) for series in data.series]
    categories = [label for label, _ in points[0]]
    is_whole = all([label for label, _ in each] == categories for each in points)
    if not is_whole or not 2 <= len(categories) <= POINTS or len(set(categories)) < len(categories):
        return None
    if "pie" in kinds:
        fits = len(points) == 1 and len(categories) <= SERIES and all(value > 0 for _, value in points[0])
        return pie(title, points[0]) if fits else None
    names = [_label(series.name or (data.y if len(data.series) == 1 else "")) for series in data.series]
    names = names if len(names) > 1 or names[0] else [UNNAMED]
    if "" in names or len(set(names)) < len(names) or not _is_even(data.series[0]):
        return None
    kind: ChartKind = "line" if "line" in kinds else "bar"
    values = [[value for _, value in each] for each in points]
    return chart(kind, title, categories, list(zip(names, values, strict=True)), x=data.x, y=data.y)


def _points(series: SeriesData) -> list[tuple[str, float]]:
    """The points with their labels; none when one of them cannot be shown as it is, or is missing."""
    found = [(_label(x), y) for x, y in series.points]
    shown = [(x, float(y)) for x, y in found if x and isinstance(y, int | float) and is_amount(y)]
    return shown if len(shown) == series.total_points else []


def _label(given: Scalar) -> str:
    """A label of Slack's charts; "" for what is none, or is too long."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if given is None or isinstance(given, bool | float):
        return ""
    text = " ".join(str(given).removesuffix(_MIDNIGHT).split())
    return text if len(text) <= LABEL else ""


def _is_even(series: SeriesData) -> bool:
    """Whether points on a line of numbers are equally far from each other: Slack draws them so."""
    numbers = [x for x, _ in series.points if isinstance(x, int | float)]
    return len({b - a for a, b in pairwise(numbers)}) <= 1
