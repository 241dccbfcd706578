"""The report's files say where each figure comes from; the thread stays quiet."""

from __future__ import annotations

from typing import Any

import pytest
from report_cases import SUMMED, case

from core.steps import FigureSource, SourcePlace
from core.values import Language
from workers.delivery.reports import render_report

PLACE = SourcePlace(what="output", cell_id=SUMMED.cell_id, line=3, about="North · units")
SOURCES = (
    FigureSource(figure="3", state="sourced", places=(PLACE,)),
    FigureSource(
        figure="50 %", state="derived", how="share", places=(PLACE, PLACE.model_copy(update={"what": "table"}))
    ),
    FigureSource(figure="4,711", state="unsourced", reason="unknown"),
    FigureSource(figure="2024", state="given", places=(SourcePlace(what="question"),)),
)


def _markdown(**changes: Any) -> str:
    return render_report(case("**North** sold 3.", sources=SOURCES, **changes)).markdown


def test_the_report_file_lists_each_figure_with_cell_and_line() -> None:
    lines = _markdown().partition("## Sources of the figures\n\n")[2].splitlines()[:4]
    title = SUMMED.title
    assert lines == [
        f"- 3 ← cell 3 “{title}”, line 3: North · units",
        f"- 50 % ← share of cell 3 “{title}”, line 3: North · units; table of cell 3 “{title}”, row 3: North · units",
        "- 4,711 ← ⚠ not computed here",
        "- 2024 ← given in the question",
    ]


def test_a_row_that_is_not_first_is_said_not_to_be() -> None:
    ranked = FigureSource(figure="100", state="unsourced", reason="rank")
    markdown = render_report(case("**South** leads with 100.", sources=(ranked,))).markdown
    assert "- 100 ← ⚠ by the outputs another row has this rank" in markdown


def test_the_notebook_has_the_same_list_and_counts_cells_alike() -> None:
    report = render_report(case("**North** sold 3.", sources=SOURCES))
    notebook = next(file.data.decode() for file in report.files if file.name == "analysis.ipynb")
    assert "Sources of the figures" in notebook
    assert f"### 3. {SUMMED.title}" in notebook


@pytest.mark.parametrize(("language", "word"), [("en", "Sources of the figures"), ("zh", "数字来源")])
def test_the_thread_itself_stays_quiet(language: Language, word: str) -> None:
    report = render_report(case("**North** sold 3.", sources=SOURCES, language=language))
    assert word in report.markdown
    assert word not in str(report.messages)


def test_a_report_without_figures_has_no_such_list() -> None:
    assert "Sources of the figures" not in render_report(case("Nothing to count.")).markdown
