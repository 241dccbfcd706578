"""Times and sizes of data: the unit that a column's name gives, and the units that a report tells them in."""

from __future__ import annotations

import pytest
from provenance_kit import states

ENDPOINTS = (
    "          p50_ms  p99_ms  calls\nlogin         42    2310   1200\nsearch        85    4120   5300\n"
    "checkout     120    1180    800\n"
)
JOBS = "job,duration_s\nimport,5400\nexport,725\n"
CURRENCIES = (
    "          dashboard_adds  net_sales_eur  too_much_eur\ncurrency                                             \n"
    "EUR            276203.00      276203.00          0.00\nGBP             57895.89       66965.85      -9069.96\n"
    "SEK            487737.60       45232.44     442505.16\nUSD             52009.35       48188.04       3821.31\n"
)
FILES = "table   size_mb\nevents    18432\nusers       512\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (ENDPOINTS, "login has a p99 of 2.3 s, search one of 4.1 s."),
        (ENDPOINTS, "Der p99-Wert von search liegt bei 4,1 Sekunden."),
        (ENDPOINTS, "| endpoint | p99 (s) |\n|---|---|\n| login | 2.3 |\n| search | 4.1 |\n"),
        (ENDPOINTS, "login has a p99 of 2,310 ms and a p50 of 42."),
        (ENDPOINTS, "The p99 of search is 1.8 s higher than that of login."),
        (JOBS, "The import took 1.5 h, the export 12.1 minutes."),
        (JOBS, "L'import a pris 1,5 heures, l'export 12,1 minutes."),
        (JOBS, "El import tardó 1,5 horas, el export 725 segundos."),
        (JOBS, "import耗时1.5小时，export耗时725秒。"),
        (JOBS, "importは1.5時間、exportは725秒でした。"),
        (FILES, "events takes 18.4 GB, users 512 MB."),
        (FILES, "events takes 18 GB."),
        ("revenue_eur: 987654\n", "Le Sud réalise 988 milliers d'euros."),
        ("table   size_bytes\nevents    18432000\nusers          512\n", "events takes 18.4 MB."),
    ],
)
def test_an_amount_may_be_told_in_another_unit_than_that_of_its_column(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("output", "report", "figure"),
    [
        (ENDPOINTS, "login has a p99 of 2,310 s.", "2,310 s"),
        (ENDPOINTS, "login has a p99 of 2.3 h.", "2.3 h"),
        (ENDPOINTS, "login has a p99 of 4.1 s.", "4.1 s"),
        (ENDPOINTS, "login has a p99 of 3.2 s.", "3.2 s"),
        (ENDPOINTS, "login has 1.2 s of calls.", "1.2 s"),
        (ENDPOINTS, "The p99 of search is 1.8 ms higher than that of login.", "1.8 ms"),
        (JOBS, "The import took 2.5 h.", "2.5 h"),
        (JOBS, "L'import a pris 5 400 heures.", "5 400 heures"),
        (FILES, "events takes 18.4 KB.", "18.4 KB"),
        (FILES, "users takes 512 GB.", "512 GB"),
        ("requests: 5400\nerrors: 725\n", "The requests took 90 minutes.", "90 minutes"),
    ],
)
def test_an_amount_in_a_unit_that_gives_another_value_is_not_found(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_the_column_min_beside_max_is_the_least_value_and_no_minutes() -> None:
    runs = "        mean    min    max\nlogin  12.51   3.25  88.12\nsave   42.53  13.75  98.15\n"
    assert states("login took at least 3.25 ms.", runs) == {"3.25 ms": "sourced"}
    assert states("The fastest took 3.25 ms.", "min: 3.25\nn: 731\n") == {"3.25 ms": "sourced"}
    assert states("login took 3.25 h.", "job    run_min\nlogin     3.25\nsave     13.75\n") == {"3.25 h": "unsourced"}


@pytest.mark.parametrize(
    ("report", "figure", "state"),
    [
        ("487,738 SEK are worth only 45,232 EUR.", "45,232 EUR", "sourced"),
        ("487,738 SEK are worth only 66,966 EUR.", "66,966 EUR", "unsourced"),
        ("57,896 GBP are worth 45,232 EUR.", "45,232 EUR", "unsourced"),
        ("The orders are worth 45,232 EUR.", "45,232 EUR", "unsourced"),
        ("276,203 EUR stay 276,203 EUR.", "276,203 EUR", "sourced"),
    ],
)
def test_the_unit_of_an_amount_is_not_taken_for_the_row_of_that_currency_where_another_is_named(
    report: str, figure: str, state: str
) -> None:
    assert states(report, CURRENCIES)[figure] == state


def test_an_amount_in_another_currency_than_its_rows_may_say_where_it_stands() -> None:
    assert states("487,738 SEK are worth only 45,232 EUR [=1:45232.44].", CURRENCIES)["45,232 EUR"] != "unsourced"
    assert states("57,896 GBP are worth 45,232 EUR [=1:45232.44].", CURRENCIES)["45,232 EUR"] == "unsourced"
