"""A change told from one figure to another: each figure finds its own period."""

from __future__ import annotations

import pytest
from provenance_kit import states

MONTHS = (
    "month    revenue_eur\n2026-01     22113.87\n2026-02     19935.58\n2026-03      8513.63\n2026-04     18293.28\n"
)


@pytest.mark.parametrize(
    "report",
    [
        "In March 2026 revenue fell from €19,936 to €8,514.",
        "In March 2026 revenue fell by 57 %, from €19,936 to €8,514.",
        "In March 2026 revenue fell by 57 %, from €19,936 in February to €8,514.",
        "Revenue fell from €19,936 in February to €8,514 in March.",
        "Revenue fell from €19,936 to €8,514 in March.",
        "Revenue fell to €8,514 in March, down from €19,936.",
        "March brought €8,514, after €19,936 the month before.",
        "Im März 2026 fiel der Umsatz von 19.936 € auf 8.514 €.",
        "Im März fiel der Umsatz um 57 %, von 19.936 € im Februar auf 8.514 €.",
        "En mars, le chiffre d'affaires est tombé de 19.936 € à 8.514 €.",
        "En marzo los ingresos cayeron de 19.936 € a 8.514 €.",
        "2026年3月收入从19,936欧元降至8,514欧元。",
        "2026年3月の売上は19,936ユーロから8,514ユーロに減少しました。",
        "売上は2月の19,936ユーロから3月の8,514ユーロへと57%減少しました。",
        "收入从2月的19,936欧元降至3月的8,514欧元，下降57%。",
        "Revenue fell from February's €19,936 to March's €8,514, by 57 %.",
    ],
)
def test_a_change_may_be_told_from_the_period_before(report: str) -> None:
    assert set(states(report, MONTHS).values()) <= {"sourced", "derived"}


@pytest.mark.parametrize(
    "report",
    [
        "In March 2026 revenue fell from €22,114 to €8,514.",
        "In March 2026 revenue was €19,936.",
        "In March 2026 revenue rose from €8,514 to €18,293.",
        "In February revenue fell from €19,936 to €8,514.",
        "Revenue fell from €22,114 in February to €8,514 in March.",
        "Revenue fell from €19,936 in February to €18,293 in March.",
        "In March revenue fell from €22,114 in February to €8,514.",
        "Im März lag der Umsatz bei einem Wert von 19.936 €.",
        "売上は2月の22,114ユーロから3月の8,514ユーロへと減少しました。",
        "売上は2月の19,936ユーロから3月の18,293ユーロへと減少しました。",
    ],
)
def test_a_change_from_another_period_does_not_pass(report: str) -> None:
    assert "unsourced" in states(report, MONTHS).values()


ORDERS = (
    "month    orders\n2026-01      59\n2026-02      53\n2026-03      58\n2026-04      57\n2026-05      59\n"
    "2026-06      56\n2026-07      59\n2026-08      16\n"
)


@pytest.mark.parametrize(
    ("report", "size"),
    [
        ("January had {} more orders than February.", "11 %"),
        ("With {} fewer orders than in January, February was weak.", "10 %"),
        ("Im Januar gab es {} mehr Bestellungen als im Februar.", "11 %"),
        ("1月的订单比2月多{}。", "11%"),
    ],
)
def test_a_percentage_of_more_or_less_is_no_share(report: str, size: str) -> None:
    wrong = "13%" if "月" in report else "13 %"
    assert states(report.format(wrong), ORDERS)[wrong] == "unsourced"
    share = "14%" if "月" in report else "14 %"
    assert states(report.format(size), ORDERS)[size] == "derived"
    assert states(report.format(share), ORDERS)[share] == "unsourced"
