"""What the rows that a report's figures come from show in a later run, and how people are told of those figures."""

from __future__ import annotations

import pytest

from core.schedules.values import Figure
from core.steps import Asked, CellRan, Finished, Step
from workers.agent.provenance import facts_of, trace
from workers.agent.report.rerun import plan
from workers.agent.report.sourcing import sources_of
from workers.agent.report.stated_figures import figures_now

ASKED = Asked(user="U1", author="Ana", text="how much?", ts="1.1")
BY_CURRENCY = """\
country currency     eur
     AT      EUR  361.50
     DE      EUR 1379.84
     JP      EUR  181.97
     JP      USD  220.47
"""
BY_COUNTRY = """\
country     eur  scenario
     DE 1379.84   1379.84
     JP  402.44    377.99
     AT  361.50    361.50
"""
REPORT = """\
Three countries are compared.

| Country | Real rates (EUR) | 1 USD = 0.80 EUR (EUR) |
|---|---|---|
| Germany (DE) | 1,379.84 | 1,379.84 |
| Japan (JP) | 402.44 | 377.99 |
| Austria (AT) | 361.50 | 361.50 |
"""


def cell(cell_id: str, stdout: str) -> CellRan:
    return CellRan(call_id=cell_id, cell_id=cell_id, title="Step", code=f"x{cell_id} = 1", status="ok", stdout=stdout)


def reported(report: str, *turns: tuple[CellRan, ...]) -> list[tuple[Step, ...]]:
    """A thread whose last turn ends with this report, with its sources as they are found."""
    steps: list[tuple[Step, ...]] = [(ASKED, *cells) for cells in turns]
    sources = sources_of(trace(report, facts_of(steps)), "en")
    return [*steps[:-1], (*steps[-1], Finished(report=report, sources=sources))]


def now(turns: list[tuple[Step, ...]], **outputs: str) -> list[Figure]:
    """The figures when these cells print something else."""
    made = plan(turns)
    assert made is not None
    return figures_now(turns, made, {cell_id: cell(cell_id, text) for cell_id, text in outputs.items()})


def values(figures: list[Figure]) -> dict[str, float]:
    return {figure.words: figure.value for figure in figures}


@pytest.mark.parametrize("is_earlier", [True, False], ids=["of an earlier question", "of the same question"])
def test_a_column_of_a_table_comes_from_one_column_of_an_output(is_earlier: bool) -> None:
    cells = (cell("a", BY_CURRENCY),), (cell("b", BY_COUNTRY),)
    turns = reported(REPORT, *(cells if is_earlier else (cells[0] + cells[1],)))
    grown = BY_CURRENCY.replace("361.50", "390.00").replace("1379.84", "1506.70").replace("220.47", "440.44")
    assert {figure.name for figure in now(turns) if "EUR · eur" in figure.name} == set()
    assert values(now(turns, a=grown)) == values(now(turns)), "the table without an end is not the report's"
    changed = values(now(turns, b=BY_COUNTRY.replace("DE 1379.84", "DE 1400.00")))
    assert changed["Germany (DE) · Real rates (EUR)"] == 1400.0
    assert changed["Germany (DE) · 1 USD = 0.80 EUR (EUR)"] == 1379.84


def test_a_figure_is_called_as_the_report_calls_it() -> None:
    output = "first order: [{'a': '2025-01-05', 'b': '2026-10-31'}] not matched: [{'n': 14, 'amt': 10895.63}]\n"
    report = "Refunds count by month.\n- **14** refunds of orders that do not count are left out.\n"
    (figure,) = now(reported(report, (cell("a", output),)))
    assert (figure.value, figure.words) == (14.0, "14 refunds of orders that do not count are left out.")
    table = "| | 第2四半期 |\n|---|---|\n| **web** | 570 |\n"
    (figure,) = now(reported(table, (cell("a", "         orders_q2\nchannel\nweb          570\napp          472\n"),)))
    assert figure.words == "web · 第2四半期"


def test_a_name_that_a_reader_understands_stays_in_a_sentence() -> None:
    (figure,) = now(reported("In all 3,900 were sold.", (cell("a", "total 3900\n"),)))
    assert figure.words == "total"


def test_a_line_is_found_again_where_lines_above_it_came_or_went() -> None:
    turns = reported("Left out: 705 drafts. The mean is 17.5.", (cell("a", "2026-01 31\nmean: 17.5\n705 74 178 0\n"),))
    assert [each.value for each in now(turns, a="2026-01 31\n2026-02 40\nmean: 20.5\n710 75 180 0\n")] == [710.0, 20.5]


def test_another_row_never_stands_for_one_that_is_gone() -> None:
    turns = reported("ACME leads with 1,250.50 EUR.", (cell("a", "name  eur\nACME 1250.50\nBeta  900.25\n"),))
    assert [figure.value for figure in now(turns)] == [1250.5]
    assert now(turns, a="name  eur\nBeta 1300.00\nACMI 1250.50\n") == []
    turns = reported("July was best with 1,250.50 EUR.", (cell("a", "best month: July 1250.50\n"),))
    assert now(turns, a="best month: August 1300.00\n") == []
    turns = reported(
        "In 2026-01 it was 1,250.50 EUR.", (cell("a", "in 2026-01 it is 1250.50\nin 2026-02 it is 9.25\n"),)
    )
    assert now(turns, a="in 2026-02 it is 9.25\nin 2026-03 it is 8.25\n") == []
