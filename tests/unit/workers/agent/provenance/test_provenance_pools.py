"""A figure that stands alone follows from few values: of its line, its table, and the sentences before."""

from __future__ import annotations

import pytest
from provenance_kit import states, traced

QUARTERS = """
      2023    2024
Q1  412300  436800
Q2  438900  471150
Q3  401250  398400
Q4  516700  569900
"""
USERS = "2019    1180\n2020    1262\n2021    1391\nName: users_k, dtype: int64"


def test_what_is_left_of_a_printed_line_is_derived() -> None:
    line = "days with rain: 148 of 244"
    assert states("Rain fell on 148 days; 96 days stayed dry.", line)["96 days"] == "derived"
    assert states("Rain fell on 148 days; 69 days stayed dry.", line)["69 days"] == "unsourced"


def test_the_halves_of_a_year_are_sums_of_its_quarters() -> None:
    assert not traced("The first half brought 907,950, that is 56,750 more than the year before.", QUARTERS).unsourced
    assert traced("The first half brought 970,950.", QUARTERS).unsourced


def test_this_and_these_take_up_the_sentence_before() -> None:
    shares = "US: 34.0 %\nDE: 18.6 %\nUK: 15.9 %"
    told = "US has 34.0 %, DE 18.6 % and UK 15.9 %. These three make {} together."
    assert not traced(told.format("68.5 %"), shares).unsourced
    assert traced(told.format("65.8 %"), shares).unsourced


def test_a_difference_to_the_figure_of_the_sentence_before_is_derived() -> None:
    table = "carrier  median_h  parcels\nUPS          24.1     3388\nGLS          31.9     1902"
    told = "Half of the UPS parcels arrive within 24.1 hours. With GLS it takes 31.9 hours, that is {} longer."
    assert not traced(told.format("7.8 hours"), table).unsourced
    assert traced(told.format("8.7 hours"), table).unsourced


def test_a_scale_at_the_end_of_a_name_is_the_scale_of_its_figures() -> None:
    assert set(states("Users grew from 1.18 million in 2019 to 1.39 million in 2021.", USERS).values()) == {"sourced"}
    assert "unsourced" in states("Users grew to 1.93 million in 2021.", USERS).values()


def test_the_basis_of_a_rate_is_no_claim() -> None:
    record = "{'vehicles': 184, 'km': 2912000, 'fuel_l': 262080.0}"
    assert states("Fuel use is 9.0 l per 100 km.", record) == {"9.0": "derived"}


@pytest.mark.parametrize("quarter", ["Q4", "the fourth quarter", "das vierte Quartal"])
def test_a_quarter_in_words_names_its_row(quarter: str) -> None:
    table = "      revenue\nQ1  412300\nQ2  438900\nQ3  401250\nQ4  516700"
    assert states(f"In {quarter} it was 516,700.", table)["516,700"] == "sourced"
    assert states(f"In {quarter} it was 401,250.", table)["401,250"] == "unsourced"


def test_two_figures_of_one_column_belong_to_two_rows() -> None:
    funnel = "step       users\nsignup     13000\nactivated   7150\npaid        1430"
    told = "{} are activated and {} pay."
    assert not traced(told.format("7,150", "1,430"), funnel).unsourced
    assert traced(told.format("1,430", "1,430"), funnel).unsourced
