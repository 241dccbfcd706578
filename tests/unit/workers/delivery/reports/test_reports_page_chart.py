"""Charts of the page: drawn from their data where the data is all that the picture shows."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.steps import ChartData, Scalar, SeriesData
from workers.delivery.reports.page_chart import NARROW, WIDE, svg, ticks

Points = list[tuple[Scalar, Scalar]]
REGIONS: Points = [("North", 120), ("South", 100.5), ("West", -30)]


def chart(kind: str, *series: Points, names: tuple[str, ...] = (), more: bool = False) -> ChartData:
    told = [
        SeriesData(kind=kind, name=name, points=tuple(points), total_points=len(points))  # type: ignore[arg-type]
        for name, points in zip(names or ("",) * len(series), series, strict=True)
    ]
    return ChartData(figure="a.png", title="Units", x="region", y="units", series=tuple(told), more=more)


def drawn(one: ChartData, width: int = WIDE) -> ElementTree.Element:
    return ElementTree.fromstring(svg(one, "en", width, "Chart: Units"))


def said(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in root.iter("title")]


def numbers(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.attrib[name]) for name in names]


def test_a_bar_is_as_long_as_its_value_and_says_it() -> None:
    root = drawn(chart("bar", REGIONS))
    north, south, west = root.iter("rect")
    assert said(root) == ["North · units: 120", "South · units: 100.5", "West · units: -30"]
    (tall, less, below) = (numbers(each, "height")[0] for each in (north, south, west))
    assert less / tall == pytest.approx(100.5 / 120, rel=0.01)
    assert below / tall == pytest.approx(30 / 120, rel=0.01)
    assert numbers(west, "y")[0] == pytest.approx(sum(numbers(north, "y", "height")), abs=0.2)


def test_bars_with_long_names_lie_and_begin_at_one_line() -> None:
    root = drawn(chart("bar", [(f"Product number {place} of ours", place + 1) for place in range(5)]))
    bars = list(root.iter("rect"))
    assert len({each.attrib["x"] for each in bars}) == 1
    widths = [numbers(each, "width")[0] for each in bars]
    assert [wide / widths[0] for wide in widths] == pytest.approx([1, 2, 3, 4, 5], rel=0.02)


def test_values_below_lying_bars_do_not_overlap_on_a_phone() -> None:
    large: Points = [(f"Product number {place} of ours", 205_000 * place) for place in range(6)]
    below = [
        each for each in drawn(chart("bar", large), NARROW).iter("text") if (each.text or "").replace(",", "").isdigit()
    ]
    at = [float(each.attrib["x"]) for each in below]
    longest = max(len(each.text or "") for each in below)
    assert len(below) >= 2
    assert min(b - a for a, b in itertools.pairwise(at)) > 6.5 * longest


def test_a_line_whose_points_stand_nowhere_is_left_to_its_picture() -> None:
    """Days that no program could read are no days: pandas makes NaT of them."""
    assert svg(chart("line", [(None, 1), (None, 2)]), "en", WIDE, "Chart: Units") == ""


@pytest.mark.parametrize(
    ("low", "high", "lowest"), [(80.0, 83.4, "79"), (0.0, 10.0, "0"), (1.0, 100.0, "0"), (-8.0, -5.0, "-9")]
)
def test_the_lowest_point_of_a_line_lies_above_the_axis_and_no_axis_passes_zero(
    low: float, high: float, lowest: str
) -> None:
    texts = [each.text for each in drawn(chart("line", [("2023", low), ("2024", high), ("2025", low)])).iter("text")]
    assert lowest in texts
    assert not any((text or "").startswith("-") for text in texts) or low < 0


def test_months_stand_at_their_time_and_a_missing_one_breaks_the_line() -> None:
    points: Points = [("2024-01-01T00:00:00", 1), ("2024-02-01T00:00:00", None), ("2024-12-01T00:00:00", 3)]
    root = drawn(chart("line", [*points, ("2024-12-31T00:00:00", 4)]))
    (path,) = (each.attrib["d"] for each in root.iter("path") if "line" in each.attrib.get("class", ""))
    assert path.count("M") == 2
    january, december, last = (numbers(each, "cx")[0] for each in root.iter("circle"))
    assert (december - january) / (last - january) == pytest.approx(335 / 365, abs=0.01)


def test_each_series_has_a_colour_and_its_name_above() -> None:
    root = drawn(chart("line", [(1, 2), (2, 3)], [(1, 5), (2, 4)], names=("net", "plan")))
    assert [each.text for each in root.iter("text")][:2] == ["net", "plan"]
    kinds = [each.attrib["class"] for each in root.iter("path") if "line" in each.attrib.get("class", "")]
    assert kinds == ["line s0", "line s1"]
    assert said(root) == ["1 · net: 2", "2 · net: 3", "1 · plan: 5", "2 · plan: 4"]


@pytest.mark.parametrize(
    "one",
    [
        chart("bar", REGIONS, more=True),
        chart("pie", [("a", 0.4), ("b", 0.6)]),
        chart("bar", [("North", math.inf)]),
        chart("bar", [("North", 10**400)]),
        chart("bar", [("North", None)]),
        ChartData(
            figure="a",
            title="",
            x="",
            y="",
            series=(SeriesData(kind="line", name="", points=((1, 2),), total_points=9),),
        ),
    ],
)
def test_what_the_data_does_not_tell_wholly_is_not_drawn(one: ChartData) -> None:
    assert svg(one, "en", WIDE, "x") == ""


def test_names_from_the_data_stay_text_and_no_colour_needs_a_style() -> None:
    hostile = '<script>alert(1)</script>"&'
    bars = chart("bar", [(hostile, 1)], [(hostile, 2)], names=(hostile, hostile))
    text = svg(bars.model_copy(update={"x": hostile, "y": hostile}), "en", WIDE, hostile)
    root = ElementTree.fromstring(text)
    assert root.attrib["aria-label"] == hostile
    assert "<script" not in text
    assert not re.search(r"\sstyle=|<style|href=|url\(", text)


def test_an_axis_of_large_numbers_tells_its_values_apart() -> None:
    root = drawn(chart("line", [(100_000 + at * 0.5, 1) for at in range(5)]))
    labels = [each.text for each in root.iter("text") if (each.text or "").startswith("100,00")]
    assert "100,000.5" in labels
    assert len(set(labels)) == len(labels)


def test_a_place_on_the_axis_is_no_label_of_a_bar() -> None:
    months: Points = [("2024-01", 1), (19_754.0, 2), ("2024-03", 3), (19_814.0, 4)]
    assert svg(chart("bar", months), "en", WIDE, "Units") == ""
    numbered = drawn(chart("bar", [(1.0, 1), ("2", 2), (3.0, 3), ("4", 4)]))
    assert [each.split(" ")[0] for each in said(numbered)] == ["1", "2", "3", "4"]


def test_years_along_a_line_are_no_amounts() -> None:
    root = drawn(chart("line", [(2018, 1.5), (2019, 2), (2021, 3.5)]))
    assert [each.text for each in root.iter("text")][-5:] == ["2018", "2019", "2020", "2021", "region"]
    assert said(root)[0] == "2018 · units: 1.5"


def test_values_are_written_as_the_language_writes_them() -> None:
    text = svg(chart("bar", [("Nord", 1234.5)]), "de", WIDE, "x")
    assert "Nord · units: 1.234,5" in text


SCALARS = st.none() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=4) | st.booleans()
SERIES = st.lists(st.lists(st.tuples(SCALARS, SCALARS), max_size=6), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["line", "bar", "scatter"]),
    SERIES | st.lists(st.lists(st.tuples(st.floats(), st.floats()), min_size=1, max_size=6), min_size=1, max_size=2),
    st.sampled_from([WIDE, NARROW]),
)
def test_any_chart_of_a_sandbox_is_drawn_inside_its_frame_or_left_out(
    kind: str, series: list[Points], width: int
) -> None:
    text = svg(chart(kind, *series), "en", width, "x")
    if not text:
        return
    root = ElementTree.fromstring(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]", "", text))
    height = float(root.attrib["height"])
    for each in root.iter("circle"):
        x, y = numbers(each, "cx", "cy")
        assert -1 <= x <= width + 1
        assert -1 <= y <= height + 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 120, [0, 25, 50, 75, 100, 125]),
        (-30, 120, [-50, 0, 50, 100, 150]),
        (0, 0.003, [0, 0.001, 0.002, 0.003]),
        (7, 7, [2, 4, 6, 8, 10, 12]),
        (0, 0, [-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6]),
    ],
)
def test_an_axis_has_round_values_around_its_data(low: float, high: float, expected: list[float]) -> None:
    found = ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    assert found == pytest.approx(expected)
