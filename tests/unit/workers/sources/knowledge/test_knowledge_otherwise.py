"""A number that the team defines and somebody computes in another way is pointed out, and nothing else is."""

from __future__ import annotations

import pytest

from workers.sources.guard.check import check
from workers.sources.knowledge.entries import Metric
from workers.sources.knowledge.otherwise import computed_otherwise
from workers.sources.values import TableName, Visible

SHOP = Visible((TableName("main", "customers"), TableName("main", "orders")), ("main",))
NET = Metric(
    "net revenue", "sum(net_amt) FILTER (WHERE status <> 'cancelled')", table="orders", synonyms=("turnover", "净收入")
)
BUYERS = Metric("buyers", "SELECT count(DISTINCT customer) AS buyers FROM orders WHERE net_amt > 0")
RIGHT = "sum(o.net_amt) FILTER (WHERE o.status <> 'cancelled')"


def pointed_out(sql: str, *names: str, dialect: str = "sqlite") -> tuple[str, ...]:
    sent = check(sql, dialect, SHOP).sql
    return computed_otherwise([NET, BUYERS], sent, dialect, SHOP, names)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        f"select {RIGHT} as turnover from orders o",
        f"select region, round({RIGHT} / 1000, 1) as net_revenue from orders as o where region = 'N' group by region",
        f"with m as (select {RIGHT} as x from orders o) select x as turnover from m",
        'SELECT SUM("Net_Amt") FILTER(WHERE "STATUS" <> \'cancelled\') AS "Net Revenue" FROM main.orders',
    ],
)
def test_the_sql_of_a_metric_is_known_again_however_it_is_written(sql: str, dialect: str) -> None:
    if '"Net' in sql and dialect == "postgres":
        return  # quoted names have letter case there
    assert pointed_out(sql, "turnover", dialect=dialect) == ()


@pytest.mark.parametrize(
    "sql",
    [
        "select sum(net_amt) as turnover from orders",
        "select region, sum(net_amt) as Net_Revenue from orders group by region",
        "select sum(net_amt) filter (where status = 'paid') as net_revenue from orders",
        "select sum(net_amt) as 净收入 from orders o join customers c on c.id = o.customer",
    ],
)
def test_a_column_with_the_name_of_a_metric_and_other_sql_is_pointed_out(sql: str) -> None:
    assert pointed_out(sql) == ("net revenue",)


def test_a_name_in_the_code_around_a_statement_counts_too() -> None:
    assert pointed_out("select net_amt, region from orders", "net_revenue") == ("net revenue",)
    assert pointed_out("select net_amt, region from orders", "total") == ()
    assert pointed_out(f"select {RIGHT} as x from orders o", "net_revenue") == ()


def test_a_metric_that_is_a_whole_select_is_compared_as_a_whole() -> None:
    right = "select count(distinct customer) as n from orders where net_amt > 0"
    assert pointed_out(right, "buyers") == ()
    assert pointed_out(f"select n as buyers from ({right}) t") == ()
    assert pointed_out("select count(distinct customer) as buyers from orders") == ("buyers",)


def test_what_a_metric_says_nothing_of_is_left_alone() -> None:
    assert pointed_out("select count(*) as turnover from customers") == (), "another table"
    assert pointed_out("select turnover from orders", "turnover") == (), "a column of the table itself"
    assert pointed_out("select sum(net_amt) as total from orders") == ()
    broken = Metric("total", "sum(", table="orders")
    assert computed_otherwise([broken], "SELECT 1 AS total", "sqlite", SHOP, ["total"]) == ()
