"""Totals of a row over the periods that are the columns of its table."""

from __future__ import annotations

import pytest
from provenance_kit import states

QUARTERS = (
    "quarter    Q1    Q2    Q3    Q4\nproduct                        \nDesk     1210  1388  1105  1520\n"
    "Chair     840   902   955  1011\nLamp      310   288   342   401\n"
)


@pytest.mark.parametrize(
    "report",
    [
        "Desks sold 5,223 in total.",
        "Desks sold 5,223 over the year, chairs 3,708.",
        "Desk verkaufte insgesamt 5.223 Stück, Chair 3.708.",
        "Desk a vendu 5 223 pièces en tout.",
        "Desk vendió 5.223 piezas en conjunto.",
        "Desk在四个季度共售出5,223件。",
        "Deskは合計5,223個でした。",
        "In total 10,272 pieces were sold.",
        "| product | total |\n|---|---|\n| Desk | 5,223 |\n| Chair | 3,708 |\n",
    ],
)
def test_a_row_has_a_total_over_its_periods(report: str) -> None:
    assert "unsourced" not in states(report, QUARTERS).values()


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("Chairs sold 5,223 in total.", "5,223"),
        ("Desks sold 5,232 in total.", "5,232"),
        ("Desks sold 5,223 in Q4 in total.", "5,223"),
        ("In total 10,722 pieces were sold.", "10,722"),
        ("| product | total |\n|---|---|\n| Desk | 3,708 |\n", "3,708"),
    ],
)
def test_another_total_is_found(report: str, figure: str) -> None:
    assert states(report, QUARTERS)[figure] == "unsourced"


def test_columns_of_measures_have_no_total() -> None:
    table = "       orders  visits  returns\nNord      412    1210       31\nSued      220     840       12\n"
    assert states("Nord has 1,653 in total.", table) == {"1,653": "unsourced"}
