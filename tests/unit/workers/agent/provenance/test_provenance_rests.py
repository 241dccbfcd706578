"""The part that another percentage of the sentence leaves: "59 % are found, so 41 % are missed"."""

from __future__ import annotations

import pytest
from provenance_kit import states

RECALL = "recall     0.59\naccuracy   0.83\ndtype: float64\n"
SHARE = "basic share: 62.5 %\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("Recall is 59 %, so 41 % of the churners are missed.", RECALL),
        ("Recall is 0.59, so 41 % of the churners are missed.", RECALL),
        ("Die Genauigkeit ist 83 %; 17 % sind falsch.", RECALL),
        ("L'exactitude est de 83 % ; il manque donc 17 %.", RECALL),
        ("准确率为83%，其余17%判错。", RECALL),
        ("62.5 % of customers are on basic, the other 37.5 % are not.", SHARE),
    ],
)
def test_what_a_percentage_leaves_needs_no_cell(report: str, output: str) -> None:
    assert set(states(report, output).values()) == {"sourced", "derived"}


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("Recall is 59 %, so 45 % of the churners are missed.", "45 %"),
        ("Recall is 59 %, so 17 % of the churners are missed.", "17 %"),
        ("Recall is 59 %. The model costs 41 % more.", "41 %"),
    ],
)
def test_another_figure_is_none(report: str, figure: str) -> None:
    assert states(report, RECALL)[figure] == "unsourced"
