"""A figure whose words point one way, while the output shows that it went the other way, is found in six languages."""

from __future__ import annotations

import pytest
from provenance_kit import first, states

RISEN = "change in revenue: +1,559\n"
CHANGES = "month  revenue  change\nApr      11000    -559\nMay      12559    1559\nJun      12400    -159\n"
PERCENT = "month  revenue  change %\nApr       1000       NaN\nMay        782     -21.8\nJun        900      15.1\n"

FALLS = [
    "Revenue fell by 1,559.",
    "Revenue was down 1,559.",
    "Revenue saw a decline of 1,559.",
    "Der Umsatz sank um 1.559.",
    "Der Umsatz ging um 1.559 zurück.",
    "Der Umsatz nahm um 1.559 ab.",
    "Der Umsatz verringerte sich um 1.559.",
    "收入下降了1,559。",
    "收入减少1,559。",
    "收入跌了1,559。",
    "Le chiffre d'affaires a baissé de 1 559.",
    "Le chiffre d'affaires a reculé de 1 559.",
    "Los ingresos bajaron 1.559.",
    "Los ingresos descendieron 1.559.",
    "売上は1,559減少した。",
    "売上は1,559下がった。",
]
RISES = [
    "Revenue rose by 1,559.",
    "Revenue saw an increase of 1,559.",
    "Der Umsatz nahm um 1.559 zu.",
    "Der Umsatz erhöhte sich um 1.559.",
    "收入涨了1,559。",
    "收入增长了1,559。",
    "Le chiffre d'affaires a grimpé de 1 559.",
    "Los ingresos se incrementaron en 1.559.",
    "売上は1,559上がった。",
    "売上は1,559伸びた。",
]


@pytest.mark.parametrize("report", FALLS)
@pytest.mark.parametrize("output", [RISEN, "change: 1559\n", CHANGES], ids=["plus", "change", "column"])
def test_an_amount_that_the_output_shows_as_a_rise_is_no_fall(report: str, output: str) -> None:
    assert first(report, output).reason == "sign"


@pytest.mark.parametrize("report", FALLS)
def test_an_amount_that_the_output_shows_as_a_fall_is_one(report: str) -> None:
    assert first(report, RISEN.replace("+", "-")).state == "sourced"


@pytest.mark.parametrize("report", RISES)
def test_a_rise_is_told_from_a_fall_by_its_words(report: str) -> None:
    assert first(report, RISEN).state == "sourced"
    assert first(report, RISEN.replace("+", "-")).reason == "sign"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("Losses fell by 1,559.", "change in result: +1,559\n"),
        ("Costs fell by 1,559.", "change in profit: +1,559\n"),
        ("Expenses in North fell by 1,559.", "change in balance: +1,559\n"),
        ("Load time fell by 1,559 ms.", "improvement: +1,559 ms\n"),
        ("Refunds fell by 1,559.", "change in balance: +1,559\n"),
        ("Refunds fell by 1,559.", "change in revenue: +1,559\n"),
        ("Arrears in May fell by 1,559.", CHANGES),
        ("Spending fell by 1,559.", "change: 1559\n"),
        ("Liabilities fell by 1,559.", "change: 1559\n"),
        ("The duration fell by 1,559.", "change: 1559\n"),
        ("Die Ausgaben sanken um 1.559.", "change: 1559\n"),
        ("Der Aufwand sank um 1.559.", "change: 1559\n"),
        ("Les dépenses ont baissé de 1 559.", "change: 1559\n"),
        ("Los gastos bajaron 1.559.", "change: 1559\n"),
        ("支出减少1,559。", "change: 1559\n"),
        ("费用下降了1,559。", "change: 1559\n"),
        ("B is 1,559 lower than A.", "A vs B: +1,559\n"),
        ("Rent stayed 1,559 below its budget.", "team  variance\nRent      1559\nFood      -200\n"),
        ("Revenue fell by 1,559.", "difference April to May: 1559\n"),
        ("The broken down orders changed by 1,559.", RISEN),
        ("Revenue recovered by 1,559 after the drop.", RISEN),
        ("Revenue recovered 1,559 after falling.", RISEN),
        ("Falling refunds brought 1,559.", RISEN),
        ("May recovered 1,559 after the decline in April.", CHANGES),
        ("Der Umsatz stieg trotz sinkender Preise um 1.559.", RISEN),
    ],
)
def test_a_rise_of_something_else_may_be_told_as_a_fall(report: str, output: str) -> None:
    assert first(report, output).state == "sourced"


@pytest.mark.parametrize(
    "report",
    [
        "Revenue did not fall by 1,559, it rose by it.",
        "Revenue didn't fall by 1,559.",
        "Revenue is no longer down 1,559.",
        "Der Umsatz ist nicht um 1.559 gefallen, sondern gestiegen.",
        "收入没有减少1,559，而是增加。",
        "Le chiffre d'affaires n'a pas baissé de 1 559.",
        "Los ingresos no bajaron 1.559.",
        "売上は1,559減少していない。",
    ],
)
def test_a_fall_that_a_sentence_denies_is_none(report: str) -> None:
    assert first(report, RISEN).state == "sourced"


@pytest.mark.parametrize(
    "report",
    [
        "Der Umsatz gewann 1.559 zurück.",
        "Der Umsatz holte 1.559 zurück.",
        "Les ventes ont reculé puis rebondi de 1 559.",
        "Falling refunds lifted revenue by 1,559.",
        "Revenue fell before recovering by 1,559.",
    ],
)
def test_another_verb_beside_a_fall_leaves_its_size_in_doubt(report: str) -> None:
    assert first(report, RISEN).state == "sourced"


@pytest.mark.parametrize(
    "report",
    [
        "Der Umsatz ging im Mai um 1.559 zurück.",
        "Der Umsatz fiel um 1.559 zurück.",
        "Revenue fell sharply in May by 1,559.",
    ],
)
def test_a_fall_may_have_a_month_or_an_adverb_before_its_size(report: str) -> None:
    assert first(report, RISEN).reason == "sign"


def test_a_percentage_that_is_won_back_or_no_fall_is_a_rise() -> None:
    assert first("Der Umsatz holte 15,1 % zurück.", "change: 15.1 %").state == "sourced"
    assert first("Revenue did not fall by 15.1 %.", "change: 15.1 %").state == "sourced"
    assert first("Revenue fell by 15.1 %.", "change: 15.1 %").reason == "sign"


@pytest.mark.parametrize(
    "report",
    [
        "After a decline in orders revenue rose by 21.8 %.",
        "Revenue increased 21.8 % on fewer orders.",
        "May brought an increase of 21.8 % on fewer orders.",
        "订单减少而收入增长了21.8%。",
        "Le chiffre d'affaires a augmenté de 21,8 % malgré moins de commandes.",
        "Los ingresos subieron un 21,8 % con menos pedidos.",
        "注文が減ったが売上は21.8%増えた。",
        "April exceeds May by 21.8 %.",
        "4月收入超过5月21.8%。",
        "A is 21.8 % higher than B.",
    ],
)
def test_the_verb_beside_a_figure_says_its_direction_whatever_else_its_clause_says(report: str) -> None:
    found = states(report, PERCENT)
    assert [state for text, state in found.items() if text.startswith("21")] == ["unsourced"]


@pytest.mark.parametrize(
    "report",
    [
        "Revenue dropped 21.8 % although more was spent.",
        "May brought a decline of 21.8 % on more orders.",
        "收入下降了21.8%，订单却增加。",
        "El importe bajó un 21,8 % con más pedidos.",
        "注文は増えたが売上は21.8%減った。",
        "May missed its plan: revenue exceeds nothing, it is 21.8 % less.",
        "Costs exceed the budget by 21.8 %.",
        "Revenue grew, but May fell over 21 %.",
    ],
)
def test_a_fall_may_stand_beside_a_rise(report: str) -> None:
    found = states(report, PERCENT)
    assert [state for text, state in found.items() if text.startswith("21")] == ["sourced"]
