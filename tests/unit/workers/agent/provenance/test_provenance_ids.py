"""Ids back no amount; counts that stand in a column named after an id do."""

from __future__ import annotations

import pytest
from provenance_kit import states

TICKETS = (
    "   ticket_id  customer  hours\n0          3  Adler        12\n1         17  Berg         28\n"
    "2        104  Curie        41\n"
)
COUNTS = (
    "       customer_id  order_id\nplan                        \nbasic          812      1920\n"
    "pro           1433      5210\nteam           377      2904\n"
)
SERIES = "plan\nbasic     812\npro      1433\nteam      377\nName: customer_id, dtype: int64\n"
UNIQUE = "customer_id    2622\nday_id           28\nhours            40\ndtype: int64\n"


@pytest.mark.parametrize("said", ["17 hours", "17.0 h", "17 Stunden", "17小时", "€17", "17 kg", "17 days"])
def test_an_id_backs_no_amount_with_a_unit(said: str) -> None:
    assert "unsourced" in states(f"Berg needed {said}.", TICKETS).values()


def test_an_id_is_told_as_an_id() -> None:
    assert "unsourced" not in states("Berg needed 28 hours for the ticket 17, Curie 41 for 104.", TICKETS).values()


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("pro has 1,433 customers and 5,210 orders, basic 812 and 1,920.", COUNTS),
        ("pro has 3.64 orders per customer, basic 2.36.", COUNTS),
        ("pro hat 1.433 Kunden, team 377.", COUNTS),
        ("pro有1,433个客户，team有377个。", COUNTS),
        ("pro makes 54.7 % of the customers.", COUNTS),
        ("pro has 1,433 customers, 2,622 in all.", SERIES),
        ("There are 2,622 customers and 28 days.", UNIQUE),
        ("2,622 customers ordered on 28 days.", UNIQUE),
        ("pro has 1,433 customers.", '{"customer_id": {"basic": 812, "pro": 1433}}\n'),
    ],
)
def test_a_count_in_a_column_that_is_called_an_id_counts(report: str, output: str) -> None:
    assert "unsourced" not in states(report, output).values()


COUNTED = "customer_id\n1001    14\n1002     9\n1003     7\nName: count, dtype: int64\n"
PRICES = "price_eur\n2490    5\n4990    3\nName: count, dtype: int64\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("Customer 1001 ordered 14 times, customer 1002 9 times.", COUNTED),
        ("Kunde 1001 bestellte am häufigsten (14 Mal), 5 Mal mehr als 1002.", COUNTED),
        ("The most common price is €2,490, with 5 orders.", PRICES),
    ],
)
def test_the_numbers_that_a_count_of_values_is_named_by_may_be_told(report: str, output: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize("said", ["1,002 kg", "€1,002", "1002 hours"])
def test_an_id_that_was_counted_backs_no_amount_with_a_unit(said: str) -> None:
    assert "unsourced" in states(f"They took {said}.", COUNTED).values()
