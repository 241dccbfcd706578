"""Charts that a later cell of the same turn drew again: a reader wants the last drawing, not both. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.steps import CellRan, ChartData


class _Axes(NamedTuple):
    """What a reader knows a pair of axes by."""

    title: str
    x: str
    y: str


def titles_drawn_again(cell: CellRan, before: Sequence[CellRan]) -> list[str]:
    """The titles of this cell's charts that cells before it drew, too."""
    return list(
        dict.fromkeys(
            _charts(cell, figure.name)[0].title.strip()
            for figure in cell.figures
            if any(_replaces(cell, figure.name, each, old.name) for each in before for old in each.figures)
        )
    )


def as_last_drawn(cells: Sequence[CellRan]) -> tuple[CellRan, ...]:
    """The cells of one turn, each with those of its charts that no later one drew again."""
    return tuple(_without_replaced(cell, cells[place + 1 :]) for place, cell in enumerate(cells))


def _without_replaced(cell: CellRan, later: Sequence[CellRan]) -> CellRan:
    gone = {
        old.name
        for old in cell.figures
        if any(_replaces(each, figure.name, cell, old.name) for each in later for figure in each.figures)
    }
    if not gone:
        return cell
    figures = tuple(figure for figure in cell.figures if figure.name not in gone)
    charts = tuple(chart for chart in cell.charts if chart.figure not in gone)
    return cell.model_copy(update={"figures": figures, "charts": charts})


def _replaces(cell: CellRan, name: str, earlier: CellRan, old: str) -> bool:
    """Whether a chart has the titles, axes and series of an earlier one. Without titles nothing says so.

    The same code with another region has the same title now and then: its series have other names.
    """
    if cell.status != "ok" or cell.is_own != earlier.is_own:
        return False
    new, before = _charts(cell, name), _charts(earlier, old)
    if not before or not all(chart.title.strip() for chart in before):
        return False
    return [_axes(chart) for chart in new] == [_axes(chart) for chart in before] and all(
        _names(had) <= _names(has) for has, had in zip(new, before, strict=True)
    )


def _charts(cell: CellRan, figure: str) -> list[ChartData]:
    return [chart for chart in cell.charts if chart.figure == figure]


def _axes(chart: ChartData) -> _Axes:
    return _Axes(*(" ".join(text.split()) for text in (chart.title, chart.x, chart.y)))


def _names(chart: ChartData) -> set[str]:
    return {name for series in chart.series if (name := series.name.strip())}
