"""A draft names the columns that its statements need of each table."""

from __future__ import annotations

import pytest

from core.steps import CellRan, StatementRan
from workers.memory.playbooks.drafting import tables_asked


def named(*statements: str) -> dict[str, tuple[str, ...]]:
    ran = tuple(StatementRan(source="erp", sql=sql, rows=1) for sql in statements)
    cell = CellRan(call_id="c", cell_id="c", title="", code="", status="ok", statements=ran)
    return {each.table: each.columns for each in tables_asked([cell])}


def test_a_column_belongs_to_the_table_that_its_alias_names() -> None:
    sql = (
        'SELECT a.day, COUNT(r.id) AS n FROM "erp"."orders" AS a JOIN "erp"."lines" AS p ON p.no = a.no AND p.gone = 0 '
        'LEFT JOIN "erp"."returns" AS r ON r.no = p.no WHERE a.state = 40 GROUP BY 1'
    )
    assert named(sql) == {
        "erp.orders": ("day", "no", "state"),
        "erp.lines": ("gone", "no"),
        "erp.returns": ("id", "no"),
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT orders.day FROM orders JOIN lines ON lines.no = orders.no",
        "SELECT o.day, o.no FROM orders AS o JOIN lines AS l ON l.no = o.no",
        "WITH l AS (SELECT no FROM lines) SELECT o.day FROM orders AS o JOIN l ON l.no = o.no",
    ],
)
def test_a_table_is_named_by_itself_an_alias_or_beside_a_part_of_the_statement(sql: str) -> None:
    assert named(sql) == {"orders": ("day", "no"), "lines": ("no",)}


def test_a_column_that_may_be_of_two_tables_is_of_neither() -> None:
    assert named("SELECT day FROM orders JOIN lines USING (no)") == {"orders": (), "lines": ()}
    twice = "SELECT (SELECT MAX(t.day) FROM orders AS t), (SELECT MAX(t.no) FROM lines AS t)"
    assert named(twice) == {"orders": ("day",), "lines": ("no",)}


def test_the_columns_of_all_statements_count_together() -> None:
    assert named(
        "SELECT day FROM orders", "SELECT o.no FROM orders AS o JOIN lines AS l ON TRUE", "SELECT * FROM x"
    ) == {
        "orders": ("day", "no"),
        "lines": (),
        "x": (),
    }
