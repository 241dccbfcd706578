"""Differences of two figures that lines print under their names."""

from __future__ import annotations

import pytest
from provenance_kit import states

WEEKS = "orders this week: 411\norders last week: 322\n"
GROUPS = "orders control: 411\norders variant: 322\nvisitors: 9000\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (WEEKS, "We had 89 more orders than last week."),
        (WEEKS, "Orders were 27.6 % higher than last week."),
        (GROUPS, "The variant brought 89 fewer orders than the control."),
        (GROUPS, "The variant brought 21.7 % fewer orders than the control."),
        (GROUPS, "Variant: 89 Orders weniger als Control."),
        (GROUPS, "Variant a reçu 89 orders de moins que Control."),
        (GROUPS, "Variant tuvo 89 orders menos que Control."),
        (GROUPS, "Variant 的 orders 比 Control 少 89。"),
    ],
)
def test_two_lines_that_a_sentence_names_are_compared(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("output", "report", "figure"),
    [
        (WEEKS, "We had 98 more orders than last week.", "98"),
        (WEEKS, "We had 89 fewer orders than last week.", "89"),
        (WEEKS, "Orders were 21.7 % higher than last week.", "21.7 %"),
        (GROUPS, "The variant brought 89 more orders than the control.", "89"),
        (GROUPS, "The variant brought 27.6 % fewer orders than the control.", "27.6 %"),
        (GROUPS, "The page had 89 fewer visitors.", "89"),
        ("orders control: 411\norders variant: 322\norders: 733\n", "We lost 89 orders.", "89"),
    ],
)
def test_another_difference_or_direction_is_not_found(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_two_cells_may_print_the_two_lines() -> None:
    cells = ("orders control 411\n", "orders variant 322\n")
    assert states("The variant brought 89 fewer orders than the control.", *cells) == {"89": "derived"}
