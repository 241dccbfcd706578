"""The rows that are left of a printed number once those of another one are taken away."""

from __future__ import annotations

import pytest
from provenance_kit import states

QUALITY = "rows: 10482\nduplicates: 37\nmissing amount: 212 (2.0 %)\n"


@pytest.mark.parametrize(
    "report",
    [
        "After removing the 37 duplicates 10,445 rows remain.",
        "Without the 37 duplicates there are 10,445 rows.",
        "Removing 37 duplicates leaves 10,445 rows.",
        "Nach dem Entfernen der 37 duplicates bleiben 10.445 rows.",
    ],
)
def test_what_is_left_needs_no_cell(report: str) -> None:
    assert set(states(report, QUALITY).values()) == {"sourced", "derived"}


@pytest.mark.parametrize(
    "report",
    [
        "After removing the 37 duplicates 10,455 rows remain.",
        "There are 37 duplicates among 10,445 rows.",
        "After removing the 37 duplicates 10,270 rows remain.",
    ],
)
def test_another_number_is_not_what_is_left(report: str) -> None:
    assert "unsourced" in states(report, QUALITY).values()
