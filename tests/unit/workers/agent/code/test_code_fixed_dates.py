"""Dates in code stay what they are, whenever it runs."""

from __future__ import annotations

import pytest

from workers.agent.code.fixed_dates import fixed_dates


@pytest.mark.parametrize(
    ("code", "dates"),
    [
        (
            'query("select 1 where day >= :a", params={"a": "2026-11-01", "b": "2026-12-01"})',
            ["2026-11-01", "2026-12-01"],
        ),
        ("query(\"select 1 where month in ('2026-11', '2026-10')\")", ["2026-10", "2026-11"]),
        ("query(\"select TIMESTAMP '2026-11-01 00:00:00+01:00'\")", ["2026-11-01"]),
        ("df[df.day >= '2026-11-01']", ["2026-11-01"]),
        ("df.query(\"day >= '2026-11-01'\")", ["2026-11-01"]),
        ("print('Net sales, 2026-11: ', total)", []),
        ("query('select 1 where day >= current_date - 30')", []),
        ("# day >= '2026-11-01'", []),
        ("sku = 'A-2026-11'; x = '2026-13-01'", []),
        ("df[", []),
    ],
)
def test_dates_of_statements_and_filters_are_found_and_those_of_titles_are_not(code: str, dates: list[str]) -> None:
    assert fixed_dates([code]) == dates
