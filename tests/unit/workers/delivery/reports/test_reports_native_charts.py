"""A chart with few points is drawn by Slack too; one that would say something else there is a picture alone."""

from __future__ import annotations

from typing import Any

import pytest
from report_cases import CHART, LOAD, SUMMED, case

from core.slack.blocks import broken_limits
from core.slack.charts import chart, pie, without_charts
from core.steps import ChartData, Scalar, SeriesData
from playground.blocks import check_blocks
from playground.errors import SlackError
from workers.delivery.reports import render_report
from workers.delivery.reports.native_charts import native_chart, native_charts


def series(*points: tuple[Scalar, Scalar], name: str = "2026", kind: Any = "bar", total: int = 0) -> SeriesData:
    return SeriesData(kind=kind, name=name, points=points, total_points=total or len(points))


def drawn(*given: SeriesData, title: str = "Units by region") -> ChartData:
    return ChartData(figure=CHART.name, title=title, x="region", y="units", series=given)


NORTH, SOUTH = ("North", 3), ("South", 4.5)
BARS = drawn(series(NORTH, SOUTH, name="2025"), series(("North", 5), ("South", 6)))


def test_a_small_chart_is_drawn_by_slack_with_its_words_and_values() -> None:
    block = native_chart(BARS, SUMMED)
    assert block is not None
    check_blocks([block], lambda _: False)
    assert block["title"] == "Units by region"
    assert block["chart"]["axis_config"] == {"categories": ["North", "South"], "x_label": "region", "y_label": "units"}
    assert [(each["name"], [point["value"] for point in each["data"]]) for each in block["chart"]["series"]] == [
        ("2025", [3.0, 4.5]),
        ("2026", [5.0, 6.0]),
    ]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (drawn(series((2024, 1), (2025, 2), (2026.0, 3), kind="line")), "line"),
        (drawn(series(("2026-01-01T00:00:00", 1), ("2026-02-01T00:00:00", -2), name="", kind="line")), "line"),
        (drawn(series(NORTH, SOUTH, name="", kind="pie")), "pie"),
        (drawn(series(*((f"r{n}", n) for n in range(20)))), "bar"),
        (drawn(*(series(NORTH, SOUTH, name=f"s{n}") for n in range(6)), title="x" * 90), "bar"),
    ],
    ids=["years", "days", "slices", "twenty points", "six series"],
)
def test_what_slack_can_draw_keeps_its_limits(data: ChartData, kind: str) -> None:
    block = native_chart(data, SUMMED)
    assert block is not None
    check_blocks([block], lambda _: False)
    assert block["chart"]["type"] == kind
    assert broken_limits([block]) == []


@pytest.mark.parametrize(
    "data",
    [
        drawn(series(("2024-01", 1), (19_754.0, 2), ("2024-03", 3))),
        drawn(),
        drawn(series(NORTH, SOUTH, kind="scatter")),
        drawn(series(NORTH)),
        drawn(series(NORTH, SOUTH, total=300)),
        drawn(series(*((f"r{n}", n) for n in range(21)))),
        drawn(*(series(NORTH, SOUTH, name=f"s{n}") for n in range(7))),
        drawn(series(NORTH, SOUTH), series(NORTH, ("East", 1), name="2025")),
        drawn(series(NORTH, SOUTH), series(NORTH, SOUTH)),
        drawn(series(NORTH, SOUTH), series(NORTH, SOUTH, name="")),
        drawn(series(NORTH, ("South", None))),
        drawn(series(NORTH, ("South", float("nan")))),
        drawn(series(NORTH, ("North", 2))),
        drawn(series(NORTH, ("a region with a very long name", 2))),
        drawn(series((0.25, 1), (0.5, 2), kind="line")),
        drawn(series((2020, 1), (2021, 2), (2026, 3), kind="line")),
        drawn(series(NORTH, ("South", 0), kind="pie")),
        drawn(series(NORTH, SOUTH), series(NORTH, SOUTH, name="trend", kind="line")),
    ],
    ids=[
        "a place on the axis as a label",
        *("nothing", "points in a plane", "one point", "cut", "too many points", "too many series", "other places"),
        *("one name twice", "no name", "a gap", "no number", "one label twice", "a long label", "fractions"),
        *("years with a gap", "an empty slice", "two kinds"),
    ],
)
def test_what_slack_would_draw_otherwise_is_a_picture_alone(data: ChartData) -> None:
    assert native_chart(data, SUMMED) is None


def test_a_report_has_at_most_two_and_they_stand_before_its_buttons() -> None:
    cell = SUMMED.model_copy(update={"charts": (drawn(*BARS.series, title="first"), BARS, BARS)})
    given = case("North leads.", cells=(LOAD, cell), pictures={CHART.sha256: b"PNG"})
    assert [block["title"] for block in native_charts(given)] == ["Units by region"] * 2
    (message,) = render_report(given).messages
    check_blocks(message.blocks, lambda _: False)
    kinds = [block["type"] for block in message.blocks]
    assert kinds.index("markdown") < kinds.index("data_visualization") < kinds.index("actions")
    assert "data_visualization" not in [block["type"] for block in without_charts(message.blocks)]


@pytest.mark.parametrize(
    "block",
    [
        {**chart("bar", "t", ["a"], [("s", [1])]), "title": "x" * 51},
        chart("bar", "t", [f"c{n}" for n in range(21)], [("s", [1] * 21)]),
        chart("line", "t", ["a", "b"], [(f"s{n}", [1, 2]) for n in range(7)]),
        chart("line", "t", ["a", "x" * 21], [("s", [1, 2])]),
        pie("t", [(f"c{n}", 1) for n in range(7)]),
    ],
    ids=["title", "points", "series", "label", "slices"],
)
def test_our_own_check_and_the_local_slack_refuse_the_same_charts(block: dict[str, Any]) -> None:
    assert broken_limits([block])
    with pytest.raises(SlackError):
        check_blocks([block], lambda _: False)


def test_three_charts_in_a_message_are_too_many() -> None:
    assert broken_limits([chart("bar", "t", ["a", "b"], [("s", [1, 2])])] * 3)


def test_what_was_taken_back_or_left_out_is_not_drawn() -> None:
    for change in ({"status": "undone"}, {"left_out": True}):
        cell = SUMMED.model_copy(update={"charts": (BARS,), **change})
        assert native_charts(case("North leads.", cells=(cell,))) == []


@pytest.mark.parametrize("value", [10**400, float("inf"), True])
def test_a_value_that_no_chart_can_show_is_not_drawn(value: float) -> None:
    assert native_chart(drawn(series(NORTH, ("South", value))), SUMMED) is None


def test_a_chart_that_shows_more_than_its_series_stays_a_picture() -> None:
    plain = drawn(series(NORTH, SOUTH))
    assert native_chart(plain, SUMMED) is not None
    assert native_chart(plain.model_copy(update={"more": True}), SUMMED) is None
