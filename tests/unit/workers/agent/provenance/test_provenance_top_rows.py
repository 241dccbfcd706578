"""Sums and shares of the rows that a sentence calls the top or the bottom few."""

from __future__ import annotations

import pytest
from provenance_kit import first, states

REGIONS = (
    "region  revenue_eur  orders\nEast           1200     150\n"
    "North          5200     310\nWest            700      90\n"
    "South          2900     221\n"
)
SEGMENTS = "segment    orders\nretail        412\nwholesale     289\nonline        178\n\ntotal orders: 945\n"
SHARES = (
    "product  sales  share\nAlpha      520   0.52\nBeta       290   0.29\nGamma      120   0.12\n"
    "Delta       70   0.07\n"
)
CUSTOMERS = (
    "total revenue: 1284310.55\ntotal orders: 9120\n\ncustomer   revenue\nAcme     210340.10\nBolt     180220.40\n"
    "Core      97810.00\nDyne      84100.25\n"
)
MONTHS = "month    sales\n2024-04     400\n2024-03     300\n2024-02     200\n2024-01     100\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (REGIONS, "The top 2 regions make 81 % of revenue."),
        (REGIONS, "81 % of revenue comes from the two largest regions."),
        (REGIONS, "The top two regions bring in 8,100 EUR, the bottom two make 19 % of revenue."),
        (REGIONS, "The top two regions make 81 % of revenue, the top three 93 %."),
        (REGIONS, "Die beiden größten Regionen machen 81 % des Umsatzes aus."),
        (REGIONS, "Les deux plus grandes régions font 81 % du chiffre d'affaires."),
        (REGIONS, "Las dos regiones más grandes suman el 81 % de los ingresos."),
        (REGIONS, "前两个地区占总收入的81%。"),
        (REGIONS, "上位2地域で売上の81%を占めます。"),
        (SEGMENTS, "The top 2 segments make 74.2 % of all orders."),
        (SHARES, "The top two products make 81 % of sales, the top three 93 %."),
        (CUSTOMERS, "Les deux plus gros clients font 30,4 % du chiffre d'affaires."),
        (CUSTOMERS, "The top 2 customers make 30.4 % of revenue."),
        (MONTHS, "The last two months brought 70 % of sales, the first two 30 %."),
    ],
)
def test_the_top_rows_and_their_share_follow_from_their_table(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("output", "report", "figure"),
    [
        (REGIONS, "The top 2 regions make 84 % of revenue.", "84 %"),
        (REGIONS, "The top 3 regions make 81 % of revenue.", "81 %"),
        (REGIONS, "The bottom 2 regions make 81 % of revenue.", "81 %"),
        (REGIONS, "The top 2 regions make 69 % of revenue.", "69 %"),
        (REGIONS, "The top 2 regions grew by 81 %.", "81 %"),
        (REGIONS, "The top two regions bring in 8,010 EUR.", "8,010 EUR"),
        (REGIONS, "The regions make 81 % of revenue.", "81 %"),
        (SEGMENTS, "The top 2 segments make 79.7 % of all orders.", "79.7 %"),
        (CUSTOMERS, "Les deux plus gros clients font 34,0 % du chiffre d'affaires.", "34,0 %"),
        (CUSTOMERS, "The top 2 customers make 68.2 % of revenue.", "68.2 %"),
        (MONTHS, "The last two months brought 30 % of sales.", "30 %"),
    ],
)
def test_another_share_or_sum_is_not_found(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_the_sources_name_the_rows() -> None:
    one = first("The top 2 regions make 81 % of revenue.", REGIONS)
    assert (one.state, one.how) == ("derived", "share")
    assert [place.about for place in one.places] == ["North · revenue_eur", "South · revenue_eur"]


def test_rows_of_statistics_are_no_things_to_add() -> None:
    described = "       price\nmean   34.72\nmin     1.99\n50%    31.50\nmax   199.00\n"
    assert states("The top two prices make 87 %.", described) == {"87 %": "unsourced"}
