"""How many rows a database expects to go through: read from its plan, without running anything."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from workers.sources.drivers.duck import LockedDuckDB
from workers.sources.drivers.plans import mysql_rows, postgres_rows, scanned_tables
from workers.sources.errors import StatementFailed
from workers.sources.values import Limits

LIMITS = Limits(1_000, 1 << 20, 10.0)


def scan(rows: int, table: str = "orders", **more: Any) -> dict[str, Any]:
    return {"Node Type": "Seq Scan", "Schema": "public", "Relation Name": table, "Plan Rows": rows, **more}


def step(kind: str, rows: int, *below: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Node Type": kind, "Plan Rows": rows, "Plans": list(below), **more}


ORDERS = {("public", "orders"): 1_000_000.0}


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        pytest.param(scan(3), 1_000_000, id="a filter is behind the reading of the whole table"),
        pytest.param(step("Index Scan", 3, **{"Relation Name": "orders", "Schema": "public"}), 3, id="an index"),
        pytest.param(step("Limit", 10, scan(1_000_000)), 10, id="reading ends with the last row that is wanted"),
        pytest.param(step("Limit", 10, scan(3)), 1_000_000, id="rows that may not be found are looked for to the end"),
        pytest.param(step("Limit", 10, step("Sort", 1_000_000, scan(1_000_000))), 1_000_000, id="a sort takes all"),
        pytest.param(step("Aggregate", 1, scan(1_000_000)), 1_000_000, id="a sum takes all"),
        pytest.param(
            step(
                "Nested Loop",
                500,
                scan(500, "small", **{"Parent Relationship": "Outer"}),
                scan(1, **{"Parent Relationship": "Inner"}),
            ),
            500_000_500,
            id="the inner side of a loop is read for each row of the outer one",
        ),
        pytest.param(
            step("Nested Loop", 10**14, scan(1_000_000), step("Materialize", 10**8)), 10**14, id="a product of tables"
        ),
        pytest.param(
            step(
                "Gather",
                10,
                step("Hash Join", 400, scan(1), **{"Parent Relationship": "Outer"}),
                **{"Workers Planned": 2},
            ),
            2_400_000,
            id="a plan counts the rows of one of several processes",
        ),
        pytest.param(
            step("Result", 1, step("Aggregate", 1, scan(5), **{"Parent Relationship": "InitPlan"})),
            1_000_000,
            id="a subquery that runs once",
        ),
        pytest.param(
            step(
                "Seq Scan",
                100,
                scan(5, **{"Parent Relationship": "SubPlan"}),
                **{"Relation Name": "small", "Schema": "public"},
            ),
            100_000_100,
            id="a subquery that runs for each row",
        ),
        pytest.param(step("Append", 20, scan(10), scan(10)), 2_000_000, id="parts of a table"),
    ],
)
def test_a_plan_of_postgres_tells_the_rows_that_it_reads_or_makes(plan: dict[str, Any], expected: int) -> None:
    assert postgres_rows(plan, ORDERS) == expected


def test_only_tables_that_are_read_to_the_end_are_looked_up() -> None:
    plan = step("Hash Join", 1, scan(1), step("Hash", 1, scan(1, "small")), step("Index Scan", 1))
    assert scanned_tables(plan) == {("public", "orders"), ("public", "small")}


@pytest.mark.parametrize(
    ("plan", "sql", "expected"),
    [
        ([{"id": 1, "rows": "5000"}], "SELECT a FROM `s`.`t` WHERE b = 3", 5_000),
        ([{"id": 1, "rows": 5000}, {"id": 1, "rows": 5000}], "SELECT 1 FROM `s`.`t`, `s`.`t` AS `u`", 25_005_000),
        ([{"id": 1, "rows": 5000, "filtered": 1.0}, {"id": 1, "rows": 100}], "SELECT 1", 10_000),
        ([{"id": 1, "rows": 50}, {"id": 2, "rows": 5000}], "SELECT 1", 5_050),
        ([{"id": 1, "rows": None}], "SELECT 1", 0),
        ([{"id": 1, "rows": 5000}], "SELECT a, b FROM `s`.`t` LIMIT 5", 5),
        ([{"id": 1, "rows": 5000}], "SELECT COUNT(*) FROM `s`.`t` LIMIT 5", 5_000),
        ([{"id": 1, "rows": 5000}], "SELECT DISTINCT a FROM `s`.`t` LIMIT 5", 5_000),
        ([{"id": 1, "rows": 5000}], "SELECT a FROM `s`.`t` ORDER BY a LIMIT 5", 5_000),
    ],
)
def test_a_plan_of_mysql_tells_the_rows_that_it_reads(plan: list[dict[str, Any]], sql: str, expected: int) -> None:
    assert mysql_rows(plan, sql) == expected


@pytest.fixture(scope="module")
def engine() -> LockedDuckDB:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE orders AS SELECT range AS a, range % 7 AS b FROM range(100000)")
    connection.execute("CREATE TABLE small AS SELECT range AS a FROM range(50)")
    return LockedDuckDB(connection)


@pytest.mark.parametrize(
    ("sql", "least", "most"),
    [
        ("SELECT * FROM orders", 100_000, 100_000),
        ("SELECT * FROM orders LIMIT 5", 0, 5),
        ("SELECT * FROM orders ORDER BY b LIMIT 5", 100_000, 300_000),
        ("SELECT b, count(*) FROM orders GROUP BY b", 100_000, 100_000),
        ("SELECT * FROM orders, small", 5_000_000, 5_000_000),
        ("SELECT 1", 0, 1),
    ],
)
def test_duckdb_tells_the_rows_that_it_reads_or_makes(engine: LockedDuckDB, sql: str, least: int, most: int) -> None:
    expected = engine.expected_rows(sql, LIMITS)
    assert expected is not None
    assert least <= expected <= most


def test_what_is_no_select_is_not_even_explained(engine: LockedDuckDB) -> None:
    for sql in ("DROP TABLE orders", "SELECT 1; DROP TABLE orders"):
        with pytest.raises(StatementFailed):
            engine.expected_rows(sql, LIMITS)
    assert engine.expected_rows("SELECT * FROM orders", LIMITS) == 100_000
