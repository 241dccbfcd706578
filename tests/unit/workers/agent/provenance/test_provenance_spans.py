"""A span of dates stands for all of its rows."""

from __future__ import annotations

import pytest
from provenance_kit import states

VALUES = (1200, 1300, 1150, 1420, 1380, 1500, 1610, 2400, 2300)
NAMES = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September"]
ISO = "month    revenue\n" + "".join(f"2025-{at:02}     {value}\n" for at, value in enumerate(VALUES, 1))
GERMAN = "monat      umsatz\n" + "".join(f"{name:<13}{value}\n" for name, value in zip(NAMES, VALUES, strict=True))


@pytest.mark.parametrize(
    ("report", "out", "figure"),
    [
        ("The mean of January to July is 1,365.71.", ISO, "1,365.71"),
        ("January to July averaged 1,366.", ISO, "1,366"),
        ("From January to July 2025 we sold 9,560.", ISO, "9,560"),
        ("Der Durchschnitt von Januar bis Juli liegt bei 1.366.", GERMAN, "1.366"),
        ("Im Schnitt von Januar bis Juli 2025 lag der Umsatz bei 1.366.", ISO, "1.366"),
        ("2025年1月至7月的平均值为1366。", ISO, "1366"),
    ],
)
def test_the_mean_and_the_sum_of_a_span_of_months_follow(report: str, out: str, figure: str) -> None:
    assert states(report, out)[figure] == "derived"
    wrong = figure.replace("3", "4") if "3" in figure else "9,650"
    assert states(report.replace(figure, wrong), out)[wrong] == "unsourced"


def test_the_mean_of_other_months_is_not_that_of_the_span() -> None:
    assert states("The mean of January to June is 1,366.", ISO) == {"1,366": "unsourced"}
    assert states("January to July averaged 9,560.", ISO) == {"9,560": "unsourced"}


def test_a_span_of_months_without_a_year_is_of_one_year() -> None:
    both = ISO + ISO.replace("2025", "2026").partition("\n")[2]
    assert states("January to July averaged 1,366.", both) == {"1,366": "unsourced"}


QUARTERS = (
    "quarter  revenue  margin_pct\n2024-Q4    81200        21.4\n2025-Q1    79500        20.9\n"
    "2025-Q2    84100        22.3\n2025-Q3    90350        24.0\n"
)


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("The margin rose by 1.7 percentage points to 24.0 %.", "1.7 percentage points"),
        ("Die Marge steigt um 1,7 Prozentpunkte auf 24,0 %.", "1,7 Prozentpunkte"),
        ("2025年第三季度毛利率提高1.7个百分点至24.0%。", "1.7个百分点"),
    ],
)
def test_points_to_a_percentage_are_those_from_the_period_before(report: str, figure: str) -> None:
    assert states(report, QUARTERS)[figure] == "derived"
    wrong = figure.replace("1", "2", 1)
    assert states(report.replace(figure, wrong), QUARTERS)[wrong] == "unsourced"
    fell = {"rose": "fell", "steigt": "sinkt", "提高": "下降"}
    turned = next(report.replace(up, down) for up, down in fell.items() if up in report)
    assert states(turned, QUARTERS)[figure] == "unsourced"
