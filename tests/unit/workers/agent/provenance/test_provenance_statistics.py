"""Figures that a sentence calls a mean, a median, a maximum, a minimum or a standard deviation."""

from __future__ import annotations

import pytest
from provenance_kit import states

DESCRIBED = (
    "         price      qty\ncount  2431.00  2431.00\nmean     34.72     2.41\nstd      18.33     1.12\n"
    "min       1.99     1.00\n25%      19.90     1.00\n50%      31.50     2.00\n75%      46.80     3.00\n"
    "max     199.00    14.00\n"
)
GROUPED = "       mean_eur  median_eur    n\nNord      34.72       31.50  412\nSued      41.18       36.05  220\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (DESCRIBED, "The average price is 34.72, the median 31.50 and the maximum 199."),
        (DESCRIBED, "The standard deviation of 18.33 is large against the mean of 34.72."),
        (DESCRIBED, "On average a quarter costs less than 19.90, and the median is above 19.90."),
        (DESCRIBED, "Der Durchschnittspreis liegt bei 34,72 €, der Median bei 31,50 €."),
        (DESCRIBED, "Le prix moyen est de 34,72 €, la médiane de 31,50 €."),
        (DESCRIBED, "La media es 34,72 y la mediana 31,50."),
        (DESCRIBED, "平均价格为34.72，中位数为31.50。"),
        (DESCRIBED, "平均価格は34.72、中央値は31.50です。"),
        (GROUPED, "Nord's average is €34.72, its median €31.50. The mean of Sued is 41.18, above 34.72 in Nord."),
        ("mean_ms: 840.5\np95_ms: 2310.0\n", "The mean is 0.84 s and the p95 2.31 s, 2.7 times the mean."),
        (GROUPED, "The median is 36.05 for Sued and the mean 41.18."),
        (GROUPED, "| region | average | median |\n|---|---|---|\n| Nord | 34.72 | 31.50 |\n"),
    ],
)
def test_a_statistic_is_told_as_what_it_is(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("output", "report", "figure"),
    [
        (DESCRIBED, "The average price is 18.33.", "18.33"),
        (DESCRIBED, "The median price is 34.72.", "34.72"),
        (DESCRIBED, "The maximum price is 46.80.", "46.80"),
        (DESCRIBED, "Der Durchschnittspreis liegt bei 31,50 €.", "31,50 €"),
        (DESCRIBED, "Le prix moyen est de 31,50 €.", "31,50 €"),
        (DESCRIBED, "La mediana es 34,72.", "34,72"),
        (DESCRIBED, "平均价格为31.50。", "31.50"),
        (DESCRIBED, "中央値は34.72です。", "34.72"),
        (GROUPED, "The mean is 36.05 in Sued.", "36.05"),
        ("mean_ms: 840.5\np95_ms: 2310.0\n", "The mean is 2.31 s.", "2.31 s"),
        ("mean order: 34.72\nmedian order: 31.50\n", "The average order is 31.50.", "31.50"),
    ],
)
def test_the_value_of_another_statistic_is_found(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_a_table_with_one_statistic_binds_none() -> None:
    assert states("The average is 31.50 in Nord.", "       median_eur\nNord        31.50\nSued        36.05\n") == {
        "31.50": "sourced"
    }


LINES = "median order value: 54.30\nlargest order: 689.61\norders: 2211\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (LINES, "The largest order is 12.7x the median."),
        (LINES, "The largest order is 12.7 times the median order."),
        (LINES, "Die größte Bestellung (689,61) ist das 12,7-Fache des Medians."),
        (LINES, "La plus grande commande, 689,61, vaut 12,7 fois la médiane."),
        (LINES, "El pedido mayor, 689,61, es 12,7 veces la mediana."),
        (LINES, "最大订单689.61是中位数的12.7倍。"),
        (LINES, "最大の注文689.61は中央値の12.7倍です。"),
        (DESCRIBED, "The maximum price of 199 is 6.3 times the median."),
    ],
)
def test_a_multiple_of_a_statistic_follows(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("output", "report", "figure"),
    [
        (LINES, "The largest order is 17.2x the median.", "17.2"),
        (LINES, "The largest order is 12.7x the average.", "12.7"),
        (LINES, "Die größte Bestellung (689,61) ist das 17,2-Fache des Medians.", "17,2"),
        (DESCRIBED, "The maximum price of 199 is 5.7 times the median.", "5.7"),
        (DESCRIBED, "The maximum price of 199 is 6.3 times the average.", "6.3"),
    ],
)
def test_another_multiple_does_not(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_a_figure_in_days_is_of_the_row_that_is_in_days() -> None:
    outputs = (
        "Days from order to return: {'count': 103.0, 'mean': 14.2, 'max': 39.0}\n\n"
        "region    Q3  Q4\nMidlands  39  41\nExport    12  17\nSouth     22  35\n"
    )
    report = "The export is of this month and the longest return took 39 days."
    assert states(report, outputs) == {"39 days": "sourced"}
    assert states(report.replace("39", "35"), outputs) == {"35 days": "unsourced"}
