"""Slides: the answer first, one message each, charts that can be edited, sources in the notes, nothing left out."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from format_cases import CELL, FULL, MONTHS, chart
from pptx import Presentation
from pptx.enum.chart import XL_TICK_LABEL_POSITION
from report_cases import CASES, case, table

from core.steps import ChartData
from workers.delivery.reports.formats.prose import parts_of
from workers.delivery.reports.formats.registry import files_in
from workers.delivery.reports.formats.slides import plan
from workers.delivery.reports.values import ReportInput


def deck(given: ReportInput) -> Any:
    (file,) = files_in("slides", given)
    assert file.name == "report.pptx"
    return Presentation(io.BytesIO(file.data))


def texts(slide: Any) -> str:
    return "\n".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)


def titles(given: ReportInput) -> list[str]:
    return [slide.shapes.title.text_frame.text for slide in deck(given).slides]


def test_the_first_sentence_of_the_answer_is_the_first_message() -> None:
    assert titles(FULL) == [
        "North sold most: 1,234,567 EUR, 62 % of all revenue.",
        "Revenue by month",
        "Revenue by region",
        "Share",
        "Price and volume",
        "Cut",
        "Sum by region",
        "Findings",
        "Findings",
        "Recommendation",
        "How it was done",
    ]
    first = deck(FULL).slides[0]
    assert "South follows with 765,432 EUR." in texts(first)
    assert "Which region sold most?" in texts(first)


@pytest.mark.parametrize("said", ["Der Umsatz stieg um ca. 12 %.", "Revenue of Acme Inc. grew by 5 %."])
def test_an_abbreviation_does_not_end_the_first_message(said: str) -> None:
    assert titles(case(f"{said} More follows."))[0] == said


def test_charts_with_known_data_are_native_and_hold_it() -> None:
    charts = [shape.chart for slide in deck(FULL).slides for shape in slide.shapes if shape.has_chart]
    assert [str(one.chart_type).split()[0] for one in charts] == ["LINE", "BAR_CLUSTERED", "PIE", "XY_SCATTER"]
    line, bar, *_ = charts
    assert [series.name for series in line.plots[0].series] == ["North", "South"]
    assert list(line.plots[0].categories)[:2] == ["2024-01", "2024-02"]
    assert list(line.plots[0].series[0].values) == [float(value) for _, value in MONTHS]
    assert list(bar.plots[0].series[0].values) == [None, 765_432.0, 1_234_567.0]  # counted from below


def drawn_of(kind: str, *values: float) -> Any:
    """The chart of these values."""
    return drawn(chart("Rates", kind, [(f"{number}", value) for number, value in enumerate(values)]))


def drawn(given: ChartData) -> Any:
    """The chart of a slide that is drawn from this data."""
    figure = FULL.cells[2].figures[0].model_copy(update={"name": given.figure})
    cell = FULL.cells[2].model_copy(update={"charts": (given,), "figures": (figure,)})
    slides = deck(case("Done.", cells=(cell,), pictures=FULL.pictures)).slides
    (found,) = (shape.chart for slide in slides for shape in slide.shapes if shape.has_chart)
    return found


def axis(kind: str, *values: float) -> Any:
    """The axis of the values of a chart of these."""
    return drawn_of(kind, *values).value_axis


@pytest.mark.parametrize("kind", ["bar", "line"])
def test_names_along_a_chart_do_not_stand_on_what_is_below_zero(kind: str) -> None:
    assert drawn_of(kind, -12, 30).category_axis.tick_label_position == XL_TICK_LABEL_POSITION.LOW
    assert drawn_of(kind, 12, 30).category_axis.tick_label_position == XL_TICK_LABEL_POSITION.NEXT_TO_AXIS


def test_bars_begin_at_zero() -> None:
    assert [axis("bar", 99.1, 99.9).minimum_scale, axis("bar", 99.1, 99.9).maximum_scale] == [0, None]
    assert [axis("bar", -99.1, -99.9).minimum_scale, axis("bar", -99.1, -99.9).maximum_scale] == [None, 0]
    assert [axis("bar", 3, -4).minimum_scale, axis("line", 99.1, 99.9).minimum_scale] == [None, None]


@pytest.mark.parametrize(
    ("kind", "values", "shown"),
    [
        ("bar", (1_000, 250_000), "#,##0"),
        ("bar", (0.002, 0.0035), "#,##0.0000"),
        ("line", (99.1, 99.9), "#,##0.00"),
        ("line", (5, 5), "#,##0.00"),
        ("line", (1e-9, 3e-9), "0.0E+00"),
    ],
)
def test_the_steps_of_an_axis_are_told_apart(kind: str, values: tuple[float, ...], shown: str) -> None:
    assert axis(kind, *values).tick_labels.number_format == shown


@pytest.mark.parametrize(
    ("years", "low", "high", "step"),
    [((2018, 2019), 2018, 2019, 1), ((1998, 2024), 1998, 2025, 3), ((2024,), 2024, 2025, 1)],
)
def test_an_axis_of_years_has_no_half_years(years: tuple[int, ...], low: int, high: int, step: int) -> None:
    along = drawn(chart("Sales", "line", [(float(year), 1.5) for year in years])).category_axis
    assert (along.minimum_scale, along.maximum_scale, along.major_unit) == (low, high, step)
    assert along.tick_labels.number_format == "0"


def test_a_missing_value_is_a_gap_of_its_line() -> None:
    plot = drawn(chart("Sales", "line", [(2018.0, 1.5), (2019.0, None), (2020.0, 3.5)])).plots[0]
    assert list(plot.series[0].values) == [1.5, None, 3.5]


def test_a_table_ends_above_the_line_that_says_what_is_missing() -> None:
    slides = deck(case(table(200, 3))).slides
    (shapes,) = (slide.shapes for slide in slides if any(shape.has_table for shape in slide.shapes))
    (grid,) = (shape for shape in shapes if shape.has_table)
    (note,) = (shape for shape in shapes if shape.has_text_frame and shape.text_frame.text.startswith("Shown:"))
    assert grid.top + grid.height <= note.top


def test_a_long_text_does_not_break_the_numbers_beside_it() -> None:
    long = "Donaudampfschifffahrtsgesellschaftskapitän and more"
    head = "| Region | Revenue | Share | Growth | When | Price | Note |\n|" + "---|" * 7
    row = f"| North | 1,234,567 | 61.7 % | +3.5 % | 2024-01-01 | $13.7K | {long} |"
    shapes = [shape for slide in deck(case(f"Done.\n\n{head}\n{row}")).slides for shape in slide.shapes]
    (shown,) = (shape.table for shape in shapes if shape.has_table)
    inches = [column.width / 914_400 for column in shown.columns]
    assert all(0.2 + 0.11 * letters <= wide for letters, wide in zip((6, 9, 6, 6, 10, 6), inches, strict=False)), inches
    assert sum(inches) <= 12.04


def test_a_chart_of_which_points_are_missing_stays_a_picture() -> None:
    slides = {slide.shapes.title.text_frame.text: slide for slide in deck(FULL).slides}
    assert [shape.shape_type.name for shape in slides["Cut"].shapes if shape.shape_type.name == "PICTURE"]
    mixed = chart("Mixed", "bar", [("a", 1)])
    mixed = mixed.model_copy(update={"series": (*mixed.series, *chart("x", "line", [("a", 2)]).series)})
    figure = FULL.cells[2].figures[0].model_copy(update={"name": "Mixed.png"})
    cell = FULL.cells[2].model_copy(update={"charts": (mixed,), "figures": (figure,)})
    made = [slide for slide in plan(case("Done.", cells=(cell,), pictures=FULL.pictures)) if slide.title == "Mixed"]
    assert [(slide.chart, bool(slide.picture)) for slide in made] == [(None, True)]


def test_a_picture_that_is_none_is_said_and_not_drawn() -> None:
    given = case("Done.", cells=(FULL.cells[2],), pictures={"heatmap.png": b"<svg>"})
    (slide,) = (slide for slide in plan(given) if slide.title == "Sum by region")
    assert slide.picture == b""
    assert "heatmap.png" in slide.lines[0].text


def test_notes_name_the_sources_of_the_figures_on_the_slide() -> None:
    notes = {
        slide.shapes.title.text_frame.text: slide.notes_slide.notes_text_frame.text
        for slide in deck(FULL).slides
        if slide.has_notes_slide
    }
    assert "1,234,567 ← table of cell 3 “Sum by region”, row 1: North · amount" in notes[titles(FULL)[0]]
    assert "From cell 3: Sum by region" in notes["Revenue by month"]
    assert "50 %" not in notes[titles(FULL)[0]]


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_word_of_a_report_is_left_out_and_none_leaves_its_slide(name: str) -> None:
    given = CASES[name]
    made = plan(given)
    shown = "".join(f"{slide.title} {' '.join(line.text for line in slide.lines)} " for slide in made)
    bare = "".join(shown.split())
    for part in parts_of(given.safe_report):
        for line in part.lines:
            assert "".join(line.text.split())[:60] in bare
    assert all(sum(max(1, len(line.text) // 110) for line in slide.lines) <= 16 for slide in made)
    deck(given)


def test_a_deck_that_is_cut_says_how_much_is_missing_and_where_it_is() -> None:
    report = "All is well.\n\n" + "\n\n".join(f"## Part {number}\n\nIt is fine." for number in range(80))
    made = plan(case(report, cells=()))
    assert (len(made), made[-2].title) == (60, "Part 57")
    assert (
        made[-1].lines[0].text.startswith("23 more slides did not fit into this deck. The report's page, report.html")
    )
    assert len(plan(case("All is well.\n\n## Part 1\n\nIt is fine."))) < 60


def test_characters_that_no_xml_may_hold_are_left_out_everywhere() -> None:
    figure = CELL.figures[0]
    bars = chart("sum", "bar", [("No\x1brth", 1), ("South\x02", 2)], "\x1bone", "two\ufffe")
    drawn = bars.model_copy(update={"figure": figure.name, "title": "sum\x1b", "x": "a\x1b", "y": "b\x02"})
    cell = CELL.model_copy(update={"title": "sum\x1b", "figures": (figure,), "charts": (drawn,)})
    given = replace(case("It is 7\ufffe.", cells=(cell,)), question="why\x1b[31m?", author="Ana\x02")
    slides = deck(given).slides
    assert len(slides) >= 2
    (shown,) = (shape.chart for slide in slides for shape in slide.shapes if shape.has_chart)
    assert shown.category_axis.axis_title.text_frame.text == "a "
    assert not any("_x001B_" in slide.notes_slide.notes_text_frame.text for slide in slides if slide.has_notes_slide)
