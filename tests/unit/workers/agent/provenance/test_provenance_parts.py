"""A sentence that gives one part of a whole to the other part is found; what is true, or in doubt, passes."""

from __future__ import annotations

import pytest
from provenance_kit import shown, traced

from core.steps import TableData


def counted(name: str) -> str:
    """What pandas prints for `value_counts()` of a column of truths."""
    return f"{name}\nFalse    18\nTrue     12\nName: count, dtype: int64\n"


LINE = "30 customers: 18 stayed, 12 left"
ROWS = "segment  customers  stayed  left\nA               30      18    12\nB               40      31     9\n"
CHINESE = "流失,客户数\n否,18\n是,12\n"
JAPANESE = "解約,顧客数\nFalse,18\nTrue,12\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("{} of the 30 customers churned.", counted("churned")),
        ("{} customers churned.", counted("churned")),
        ("{} of our 30 customers have already churned.", counted("churn")),
        ("{} of the 30 customers churned.", "churn   n\nno     18\nyes    12\n"),
        ("{} of the 30 customers left.", LINE),
        ("Of the 30 customers {} left.", LINE),
        ("{} of the 30 customers left.", "customers: 30, stayed: 18, left: 12"),
        ("In segment A {} of the 30 customers left.", ROWS),
        ("{} der 30 Kunden haben gekündigt.", counted("gekündigt")),
        ("Von 30 Kunden haben {} gekündigt.", counted("gekündigt")),
        ("{} des 30 clients ont résilié.", counted("résilié")),
        ("{} de los 30 clientes han cancelado.", counted("cancelado")),
        ("{}个客户流失。", CHINESE),
        ("30人の顧客のうち{}人が解約した。", JAPANESE),
    ],
)
def test_a_part_that_is_told_of_the_other_part_is_found(report: str, output: str) -> None:
    wrong = traced(report.format(18), output)
    assert [(one.text, one.reason) for one in wrong.unsourced] == [("18", "row")]
    assert [near.split()[0] for near in wrong.unsourced[0].near] == ["18", "12"]
    assert traced(report.format(12), output).unsourced == ()


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("18 of the 30 customers have not churned.", counted("churned")),
        ("18 of the 30 customers never churned.", counted("churned")),
        ("18 of the 30 customers stayed.", counted("churned")),
        ("18 customers are without a churned contract.", counted("churned")),
        ("18 of the 30 customers stayed, 12 churned.", counted("churned")),
        ("18 customers paid before they churned.", counted("churned")),
        ("18 customers had churned before but came back.", counted("churned")),
        ("18 of 30 are left.", LINE),
        ("Half of the 18 customers churned.", counted("churned")),
        ("Kaum einer der 18 Kunden hat gekündigt.", counted("gekündigt")),
        ("18 of the 30 customers stayed and none left in May.", LINE),
        ("18 of the 30 customers stayed, the others left.", LINE),
        ("In segment B 31 of 40 customers stayed, 9 left.", ROWS),
        ("18 Kunden haben nicht gekündigt.", counted("gekündigt")),
        ("18 clients n'ont pas résilié.", counted("résilié")),
        ("18 clientes no han cancelado.", counted("cancelado")),
        ("18个客户未流失。", CHINESE),
        ("18人は解約していない。", JAPANESE),
    ],
)
def test_a_part_that_is_denied_or_told_by_its_own_name_is_fine(report: str, output: str) -> None:
    assert [one.text for one in traced(report, output).unsourced] == []


def test_a_table_of_truths_that_came_as_data_is_read_too() -> None:
    rows = ((False, 18), (True, 12))
    table = TableData(
        columns=("churned", "customers"), dtypes=("bool", "int64"), rows=rows, total_rows=2, total_columns=2
    )
    cell = shown("", tables=(table,))
    assert [one.text for one in traced("18 customers churned.", cell).unsourced] == ["18"]
    assert traced("12 customers churned.", cell).unsourced == ()


@pytest.mark.parametrize("report", ["12 of the 30 customers left.", "12 der 30 Kunden sind gegangen."])
def test_the_whole_behind_a_part_is_the_sum_of_its_table_whichever_part_is_told(report: str) -> None:
    assert {one.text: one.how for one in traced(report, counted("churned")).figures}["30"] == "sum"


@pytest.mark.parametrize(
    "report",
    [
        "We have 18 of the 30 customers left.",
        "We had 18 customers left.",
        "There are 18 of the 30 customers left.",
        "With 18 of the 30 customers left, the plan goes on.",
        "Only 18 of the 30 customers left.",
        "18 of the 30 customers left over.",
    ],
)
def test_left_may_mean_that_they_stayed(report: str) -> None:
    assert traced(report, LINE).unsourced == ()


def test_who_has_left_did_not_stay() -> None:
    assert [one.text for one in traced("18 of the 30 customers have left.", LINE).unsourced] == ["18"]


PLANS = f"{counted('churned')}plan  churned\nA          10\nB           8\n"
MONTHS = f"{counted('churned')}month    churned\n2025-04       10\n2025-05        8\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("10 + 8 = 18 customers churned.", PLANS),
        ("Across plans A and B 18 customers churned.", PLANS),
        ("In plans A and B together 18 customers churned.", PLANS),
        ("From April to May, 18 customers churned.", MONTHS),
        ("In April and May 2025 18 customers churned.", MONTHS),
        ("18 customers churned, 10 of them in plan A.", PLANS),
    ],
)
def test_a_part_that_may_be_another_sum_says_nothing(report: str, output: str) -> None:
    assert "18" not in [one.text for one in traced(report, output).unsourced]


def test_a_part_is_still_found_beside_a_table_of_others() -> None:
    assert traced("18 of the 30 customers churned.", PLANS).unsourced == (), "10 + 8"
    others = PLANS.replace("   8", "   9")
    assert [one.text for one in traced("18 of the 30 customers churned.", others).unsourced] == ["18"]
