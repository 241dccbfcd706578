"""What a cell does is told in words, made from its code."""

from __future__ import annotations

import pytest

from core.steps import CellRan
from workers.agent.code.explaining import explained


@pytest.mark.parametrize(
    ("code", "by"),
    [
        ('df.groupby(["carrier", "depot"]).size()', "carrier, depot"),
        ('df.groupby(df["booked"].dt.strftime("%m-%d")).size()', "booked"),
        ('df.groupby(pd.Grouper(key="booked", freq="W")).size()', "booked"),
        ('df.groupby(by="carrier").size()', "carrier"),
    ],
)
def test_rows_are_grouped_by_columns_and_not_by_the_form_of_a_date(code: str, by: str) -> None:
    cell = CellRan(call_id="1", cell_id="c1", title="Groups", code=code, status="ok")
    assert f"• It puts the rows into groups by {by}." in explained(cell, "en")
