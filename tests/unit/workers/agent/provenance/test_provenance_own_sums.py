"""A row's own sum beside the same number of another row, and the values that a model is shown."""

from __future__ import annotations

from provenance_kit import first, shown, states

from core.steps import Briefed, FileAbstract

ORDERS = (
    "customer  item  qty  hours\nAna       x       4    1\nAna       y       9   12\nBo        x       6   13\n"
    "Bo        y       3    2\nCy        x       5   17\n"
)


def test_the_sum_of_the_own_rows_counts_beside_the_same_number_of_another_row() -> None:
    assert states("Ana has 13 hours in all.", ORDERS) == {"13 hours": "derived"}
    assert states("Ana kommt insgesamt auf 13 Stunden.", ORDERS) == {"13 Stunden": "derived"}
    assert states("Ana has 13 hours.", ORDERS) == {"13 hours": "unsourced"}
    assert states("Ana has 17 hours in all.", ORDERS) == {"17 hours": "unsourced"}


def test_the_nearest_values_are_near_or_of_the_measure_that_is_named() -> None:
    assert first("Cy took 4321 pieces.", ORDERS).near == ()
    assert "17 " in first("Cy took 99 hours.", ORDERS).near[0]
    assert "5 " in first("Cy bought 5.2 pieces.", ORDERS).near[0]


def test_printed_results_are_shown_before_raw_numbers_of_files_that_are_nearer() -> None:
    text = "reading: 100042\nreading: 100041\nreading: 100039\nreading: 100044"
    file = FileAbstract(path="a.txt", format="txt", size=1, sha256="0" * 64, text=text)
    near = first("The total is 100,043.5.", Briefed(files=(file,)), shown("sum 101500\n", number=2)).near
    assert [one.partition(" ")[0] for one in near] == ["101500", "100044", "100042"]
