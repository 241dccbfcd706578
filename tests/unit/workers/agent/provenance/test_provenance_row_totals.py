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


OVER_21_DAYS = """Share over 21 days (%):
year            2022  2023  2024  {all:>8}
dept
Augenheilkunde  37.3  36.0  50.5      41.7
HNO             27.1  50.9  55.3      43.6
Neurologie      69.6  69.8  76.6      71.9
{all:14}  40.7  50.2  59.7      50.4
"""
HEADING = "| dept | 2022 | 2023 | 2024 |\n|---|---|---|---|\n"


@pytest.mark.parametrize("name", ["Total", "Alle", "Ensemble"])
@pytest.mark.parametrize(
    ("row", "figure", "state"),
    [
        ("| {all} | 40.7 | 50.2 | 59.7 |\n", "40.7", "sourced"),
        ("| {all} | 27.1 | 50.2 | 59.7 |\n", "27.1", "unsourced"),
        ("| HNO | 40.7 | 50.9 | 55.3 |\n", "40.7", "unsourced"),
    ],
)
def test_the_row_of_all_has_its_own_figures(name: str, row: str, figure: str, state: str) -> None:
    assert states(HEADING + row.format(all=name), OVER_21_DAYS.format(all=name))[figure] == state


def test_a_token_holds_in_the_row_of_all() -> None:
    report = f"{HEADING}| Alle | 40.7 [=1:40.7] | 50.2 [=1:50.2] | 59.7 |\n"
    assert "unsourced" not in states(report, OVER_21_DAYS.format(all="Alle")).values()


def test_a_total_beside_named_rows_is_of_all() -> None:
    lost = (
        "プラン      解約数  失ったMRR\nStarter       7     310.5\nTeam          8     1058.75\n"
        "Enterprise    4     3560\n合計         21     4929.25\n"
    )
    report = "解約21社のうち15社がStarterとTeamで、失ったMRR 4,929.25の多くはEnterpriseです。"
    found = states(report, lost)
    assert (found["21"], found["4,929.25"]) == ("sourced", "sourced")


def test_a_row_named_before_a_figure_does_not_have_the_total() -> None:
    outputs = OVER_21_DAYS.format(all="Total")
    assert states("HNO had 40.7 % in 2022.", outputs)["40.7 %"] == "unsourced"
    assert states("HNO had less than the 40.7 % of all in 2022.", outputs)["40.7 %"] == "sourced"
