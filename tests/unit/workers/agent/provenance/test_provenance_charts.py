"""A figure that differs from the chart of its answer is found; one that agrees, or is of something else, passes."""

from __future__ import annotations

import pytest

from core.steps import CellRan, ChartData, SeriesData
from workers.agent.provenance import Traced, facts_of, trace

PRINTED = "region revenue\nNorth 130\nSouth 100\n"


def charted(
    *points: tuple[str, float], y: str = "revenue", series: str = "", more: tuple[SeriesData, ...] = ()
) -> CellRan:
    own = SeriesData(kind="bar", name=series, points=points, total_points=len(points))
    chart = ChartData(figure="a.png", title="By region", x="region", y=y, series=(own, *more))
    return CellRan(
        call_id="1", cell_id="c1", title="Revenue", code="draw()", status="ok", stdout=PRINTED, charts=(chart,)
    )


def traced(report: str, cell: CellRan) -> list[Traced]:
    return [one for one in trace(report, facts_of([[cell]])).figures if one.state != "left"]


def test_a_figure_that_a_chart_shows_otherwise_is_unsourced_with_the_charts_value() -> None:
    (one,) = traced("North earned a revenue of 130.", charted(("North", 120), ("South", 100)))
    assert (one.state, one.reason) == ("unsourced", "chart")
    assert one.near[0].startswith("120 (cell 1: a.png")


def test_a_row_of_a_table_is_compared_too() -> None:
    north, south = traced(
        "| region | revenue |\n|---|---|\n| North | 130 |\n| South | 100 |", charted(("North", 120), ("South", 100))
    )
    assert (north.reason, south.state) == ("chart", "sourced")


@pytest.mark.parametrize(
    "cell",
    [
        charted(("North", 130), ("South", 100)),
        charted(("North", 0.13), ("South", 0.1)),
        charted(("North", 120), ("South", 100), y="orders"),
        charted(("East", 120), ("South", 100)),
        charted(("North", 120), ("North", 10), ("South", 100)),
        charted(
            ("North", 120),
            ("South", 100),
            series="2023",
            more=(SeriesData(kind="bar", name="2024", points=(("North", 130), ("South", 100)), total_points=2),),
        ),
    ],
    ids=["the same", "in thousands", "another measure", "another region", "two points of a name", "one of two series"],
)
def test_a_chart_that_agrees_or_is_of_something_else_says_nothing(cell: CellRan) -> None:
    assert [one.state for one in traced("North earned a revenue of 130.", cell)] == ["sourced"]


def test_another_column_of_the_same_row_is_no_disagreement() -> None:
    printed = "        revenue  share  change\nNorth       120   0.55      20\nSouth       100   0.45     -10\n"
    cell = charted(("North", 120), ("South", 100)).model_copy(update={"stdout": printed})
    report = "North leads with a revenue of 120 (55 %), a change of 20; South fell by 10."
    assert [one.reason for one in traced(report, cell)] == ["", "", "", ""]


def test_a_figure_that_only_the_chart_shows_is_sourced_by_it() -> None:
    cell = charted(("North", 120), ("South", 100)).model_copy(update={"stdout": ""})
    assert [one.state for one in traced("North earned a revenue of 120.", cell)] == ["sourced"]


def test_a_chart_of_all_says_nothing_of_one_of_them() -> None:
    printed = (
        "shop   month  bikes\nNorth  July     130\nNorth  August    90\nSouth  July      70\nSouth  August    80\n"
    )
    cell = charted(("July", 0.2), ("August", 0.17), y="bikes").model_copy(update={"stdout": printed})
    assert [one.state for one in traced("In North, July had 130 bikes.", cell)] == ["sourced"]
    table = "| shop | bikes in July |\n|---|---|\n| North | 130 |\n"
    assert [one.state for one in traced(table, cell)] == ["sourced"]
