"""One formula that explains several figures of a report backs them; one that explains a single figure does not."""

from __future__ import annotations

from provenance_kit import states, traced

FARMS = """
farm      hectares   tonnes  revenue_eur
Oakdale        120    864.0     181440.0
Birch           85    544.0     119680.0
Meadow         210   1386.0     277200.0
"""
PRICES = """
         price  visitors  buyers
before    40.0     12400     620
after     46.0     11950     478
"""
TABLE = """
| Farm | Hectares | Tonnes | Yield (t/ha) |
|---|---:|---:|---:|
| Oakdale | 120 | 864 | 7.2 |
| Birch | 85 | 544 | {birch} |
| Meadow | 210 | 1,386 | 6.6 |
"""


def test_a_column_that_the_report_computes_is_derived_row_by_row() -> None:
    assert not traced(TABLE.format(birch="6.4"), FARMS).unsourced


def test_one_wrong_figure_of_such_a_column_is_flagged_and_the_others_are_not() -> None:
    assert [one.text for one in traced(TABLE.format(birch="6.9"), FARMS).unsourced] == ["6.9"]


def test_one_wrong_price_is_flagged_in_a_list_of_prices() -> None:
    flagged = traced("Birch gets €220 a tonne, Oakdale gets €230 and Meadow gets €200.", FARMS).unsourced
    assert [one.text for one in flagged] == ["€230"]


def test_a_rate_before_and_after_is_derived_without_the_names_of_the_rows() -> None:
    assert set(states("Conversion fell from 5.0 % to 4.0 %.", PRICES).values()) == {"derived"}
    assert "unsourced" in states("Conversion fell from 5.0 % to 4.7 %.", PRICES).values()


def test_figures_in_the_order_of_the_rows_are_derived_together() -> None:
    told = "Per hectare that is 1,512 €, {} € and 1,320 €."
    assert not traced(told.format("1,408"), FARMS).unsourced
    assert [one.text for one in traced(told.format("1,480"), FARMS).unsourced] == ["1,480 €"]


def test_a_change_with_a_plus_is_no_share_that_is_left() -> None:
    head = "| | before | after | Change |\n|---|---|---|---|\n"
    table = head + "| visitors | 12,400 | 11,950 | {} |\n| buyers | 620 | 478 | {} |"
    assert not traced(table.format("−3.6 %", "−22.9 %"), PRICES).unsourced
    assert len(traced(table.format("+3.6 %", "+22.9 %"), PRICES).unsourced) == 2
