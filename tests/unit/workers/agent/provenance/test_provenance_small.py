"""A small number in a sentence that surely is the value of another row is found; any other says nothing."""

from __future__ import annotations

import pytest
from provenance_kit import first, traced

MONTHS = """\
  month  cancelled  new
0   Jan          4   30
1   Feb          7   22
2   Mar          9   25
3   Apr          6   28
4   May          5   31
"""
GERMAN = "Region,Kündigungen,neu\nNord,9,30\nSüd,5,22\nWest,7,25\n"
FRENCH = "région,résiliations,nouveaux\nNord,9,30\nSud,5,22\n"
SPANISH = "región,bajas,altas\nNorte,9,30\nSur,5,22\n"
CHINESE = "月份,退订,新增\n3月,9,25\n4月,6,28\n5月,5,31\n"
JAPANESE = "地域,解約,新規\n東京,9,30\n大阪,5,22\n名古屋,7,25\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("{} cancelled in May.", MONTHS),
        ("In May, {} cancelled.", MONTHS),
        ("In May, {} customers cancelled.", MONTHS),
        ("Cancelled in May: {}.", MONTHS),
        ("**May**: {} cancelled", MONTHS),
        ("May had {} cancelled customers.", MONTHS),
        ("Süd hat {} Kündigungen.", GERMAN),
        ("{} résiliations au Sud.", FRENCH),
        ("Sur tuvo {} bajas.", SPANISH),
        ("5月有{}个客户退订。", CHINESE),
        ("大阪の解約は{}件です。", JAPANESE),
    ],
)
def test_a_small_number_of_another_row_is_found_and_the_right_one_is_not_flagged(report: str, output: str) -> None:
    wrong = [one for one in traced(report.format(9), output).figures if one.text == "9"]
    assert [(one.state, one.reason) for one in wrong] == [("unsourced", "row")]
    assert any(near.startswith("9 ") for near in wrong[0].near)
    assert traced(report.format(5), output).unsourced == ()


@pytest.mark.parametrize(
    "report",
    [
        "9 cancelled by May.",
        "9 cancelled from March to May.",
        "9 large customers cancelled in May.",
        "9 more cancelled in May.",
        "9 of those who came in May cancelled.",
        "In May, 9 stores had cancelled customers.",
        "In May, 9 did not cancel.",
        "In May, only 9 of the new ones cancelled.",
        "In May, 9 cancelled for the second time.",
        "In May, 9 cancelled a week.",
        "May brought 9 ideas.",
        "9 cancelled in April and May.",
        "8 cancelled in May.",
    ],
)
def test_a_small_number_that_may_be_something_else_says_nothing(report: str) -> None:
    assert [one for one in traced(report, MONTHS).figures if one.state == "unsourced"] == []


def test_a_value_of_another_row_that_is_equal_there_is_fine() -> None:
    assert first("6 cancelled in May.", MONTHS.replace("          5   31", "          6   31")).state == "sourced"


@pytest.mark.parametrize(
    "report",
    [
        "## Large customers\n\n9 cancelled in May.",
        "## Large customers\n\nAll is well.\n\n9 cancelled in May.",
        "Among large customers:\n\n- 9 cancelled in May.",
        "Large customers:\n9 cancelled in May.",
        "**Large customers:**\n\n- Some left.\n- 9 cancelled in May.",
        "Large customers\n- 9 cancelled in May.",
        "# Large customers\n\n## May\n\n9 cancelled in May.",
        "For large customers, 9 cancelled in May.",
        "For large customers, 9 cancelled in May and 6 in April.",
        "- Large customers:\n  - 9 cancelled in May.",
    ],
)
def test_a_small_number_under_words_that_may_narrow_it_says_nothing(report: str) -> None:
    assert traced(report, MONTHS).unsourced == ()


@pytest.mark.parametrize(
    "report",
    [
        "## Summary\n\n9 cancelled in May.",
        "## Key findings\n\n- 9 cancelled in May.",
        "## Cancelled customers by month\n\n9 cancelled in May.",
        "Key findings:\n\n- 9 cancelled in May.",
        "March was higher. 9 cancelled in May.",
        "March was high.\n\n9 cancelled in May.",
    ],
)
def test_words_that_narrow_nothing_may_stand_above_a_small_number(report: str) -> None:
    assert [one.text for one in traced(report, MONTHS).unsourced] == ["9"]


@pytest.mark.parametrize(
    "report",
    [
        "5月有9个城市退订。",
        "5月9家门店有退订。",
        "5月有6天退订。",
        "5月有9天退订。",
        "5月退订的城市有9个。",
        "5月退订9家门店。",
        "5月有9个渠道的客户退订。",
    ],
)
def test_a_small_number_of_other_things_in_chinese_says_nothing(report: str) -> None:
    assert traced(report, CHINESE).unsourced == ()


@pytest.mark.parametrize("report", ["5月9人退订。", "5月退订9个。", "5月有9名客户退订。"])
def test_a_small_number_of_people_in_chinese_is_judged(report: str) -> None:
    assert [one.text for one in traced(report, CHINESE).unsourced] == ["9"]
