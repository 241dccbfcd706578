"""Charts that a later cell of the turn drew again."""

from __future__ import annotations

import pytest
from agent_kit import FIGURE, cell

from core.steps import OWN_CALL, CellRan, ChartData, SeriesData
from workers.agent.redrawn import as_last_drawn, titles_drawn_again

TITLE = "Revenue by month"


def drew(
    number: int, *titles: str, y: str = "EUR", series: tuple[str, ...] = ("EMEA",), call_id: str = "", **fields: object
) -> CellRan:
    """A cell with a figure for each title."""
    names = [f"chart-{number}-{place}.png" for place, _ in enumerate(titles)]
    lines = tuple(SeriesData(kind="line", name=name, points=(("Jan", number),), total_points=1) for name in series)
    return cell(
        "plot()",
        call_id or f"c{number}",
        number,
        figures=tuple(FIGURE.model_copy(update={"name": name}) for name in names),
        charts=tuple(
            ChartData(figure=name, title=title, x="month", y=y, series=lines)
            for name, title in zip(names, titles, strict=True)
        ),
        **fields,
    )


def left(*cells: CellRan) -> list[str]:
    return [figure.name for each in as_last_drawn(cells) for figure in each.figures]


def test_a_chart_that_is_drawn_again_replaces_the_first_one_alone() -> None:
    first, second = drew(1, TITLE, "Returns by month"), drew(2, TITLE)
    assert left(first, second) == ["chart-1-1.png", "chart-2-0.png"]
    assert titles_drawn_again(second, [first]) == [TITLE]
    assert [chart.title for each in as_last_drawn([first, second]) for chart in each.charts] == [
        "Returns by month",
        TITLE,
    ]


def test_a_second_drawing_may_have_a_line_more_and_other_blanks_in_its_title() -> None:
    first, second = drew(1, TITLE), drew(2, f" {TITLE}\n", series=("EMEA", "target"))
    assert left(first, second) == ["chart-2-0.png"]


@pytest.mark.parametrize(
    "second",
    [
        drew(2, "Revenue by week"),
        drew(2, TITLE, y="pieces"),
        drew(2, TITLE, series=("APAC",)),
        drew(2, TITLE, status="error"),
        drew(2, TITLE, call_id=f"{OWN_CALL}2"),
    ],
)
def test_another_chart_and_one_of_a_failed_or_a_persons_cell_replaces_nothing(second: CellRan) -> None:
    first = drew(1, TITLE)
    assert left(first, second) == ["chart-1-0.png", "chart-2-0.png"]
    assert titles_drawn_again(second, [first]) == []


def test_charts_without_a_title_and_those_of_one_cell_stand_beside_each_other() -> None:
    assert left(drew(1, ""), drew(2, "")) == ["chart-1-0.png", "chart-2-0.png"]
    assert left(drew(1, TITLE, TITLE)) == ["chart-1-0.png", "chart-1-1.png"]
