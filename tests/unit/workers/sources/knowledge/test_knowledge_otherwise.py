"""A number that the team defines and somebody computes in another way is pointed out, and nothing else is."""

from __future__ import annotations

import pytest

from workers.sources.guard.check import check
from workers.sources.knowledge.entries import Metric
from workers.sources.knowledge.otherwise import computed_otherwise
from workers.sources.values import TableName, Visible

SHOP = Visible((TableName("main", "customers"), TableName("main", "orders"), TableName("main", "regions")), ("main",))
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


REACH = Metric(
    "reach",
    "SELECT count(o.id) / sum(CASE WHEN c.region = 'N' THEN (SELECT max(x.id) FROM customers x) ELSE 1 END) AS reach "
    "FROM customers c JOIN orders o ON o.customer = c.id AND o.status = 'paid' WHERE c.active = 1 AND o.net_amt > 0",
)
VALUE = "count(o.id) / sum(case when c.region = 'N' then (select max(k.id) from customers k) else 1 end)"
JOINED = "customers c join orders o on o.customer = c.id and o.status = 'paid'"


def reach(sql: str, *names: str) -> tuple[str, ...]:
    return computed_otherwise([REACH], check(sql, "postgres", SHOP).sql, "postgres", SHOP, names)


@pytest.mark.parametrize(
    "sql",
    [
        f"select {VALUE} as reach from {JOINED} where c.active = 1 and o.net_amt > 0",
        f"select c.region, {VALUE} as reach from {JOINED} where c.active = 1 and o.net_amt > 0 group by c.region",
        f"select {VALUE} as reach from {JOINED} where o.day >= '2026-01-01' and o.net_amt > 0 and c.active = 1",
        f"select t.name, {VALUE} as reach from {JOINED} join regions t on t.id = c.region_id "
        "where (c.active = 1 and o.net_amt > 0) and (t.name = 'N' or t.name = 'S') group by 1",
        f"with m as (select c.region, {VALUE} as reach from {JOINED} where c.active = 1 and o.net_amt > 0 group by 1) "
        "select round(reach, 2) as reach from m",
    ],
)
def test_a_whole_select_may_be_grouped_filtered_and_joined_to_what_gives_the_groups(sql: str) -> None:
    assert reach(sql, "reach") == ()


@pytest.mark.parametrize(
    "sql",
    [
        f"select {VALUE} as reach from {JOINED} where c.active = 1",
        f"select {VALUE} as reach from {JOINED} where c.active = 1 or o.net_amt > 0",
        f"select {VALUE} as reach from {JOINED} where not (c.active = 1 and o.net_amt > 0)",
        f"select {VALUE} as reach from customers c join orders o on o.customer = c.id "
        "where c.active = 1 and o.net_amt > 0",
        f"select count(o.id) / 2 as reach from {JOINED} where c.active = 1 and o.net_amt > 0",
        f"select {VALUE} as reach from {JOINED.replace('join', 'left join')} where c.active = 1 and o.net_amt > 0",
    ],
)
def test_a_whole_select_without_one_of_its_conditions_or_with_another_value_is_pointed_out(sql: str) -> None:
    assert reach(sql) == ("reach",)


SUM = "sum(round(o.net_amt * r.rate, 2))"
MONTHLY = Metric(
    "net sales",
    f"SELECT date_trunc('month', o.day)::date AS month, {SUM}::numeric(14,2) AS net_sales FROM orders o "
    "JOIN regions r ON r.month = date_trunc('month', o.day)::date AND r.id = o.region "
    "WHERE o.status IN ('paid', 'shipped') AND o.deleted IS NULL GROUP BY 1 ORDER BY month",
)
ROWS = (
    "from orders o join regions r on r.month = date_trunc('month', o.day)::date and r.id = o.region "
    "where o.status in ('paid', 'shipped') and o.deleted is null"
)


def net_sales(sql: str, *names: str) -> tuple[str, ...]:
    return computed_otherwise([MONTHLY], check(sql, "postgres", SHOP).sql, "postgres", SHOP, names)


@pytest.mark.parametrize(
    "sql",
    [
        f"select {SUM}::numeric(14,2) as net_sales {ROWS}",
        f"select date_trunc('month', o.day)::date as month, {SUM}::numeric(14,2) as net_sales {ROWS} group by month",
        f"select to_char(date_trunc('quarter', o.day), 'YYYY\"Q\"Q') as q, o.channel, count(distinct o.id) as orders, "
        f"{SUM}::numeric(14,2) as net_sales {ROWS} and o.day >= '2026-04-01' group by 1, 2 order by 1, 2",
        f"select o.channel, {SUM}::float as net_sales {ROWS} group by 1",
        f"select o.channel, round({SUM}) as net_sales {ROWS} group by 1",
    ],
)
def test_a_metric_by_month_may_be_grouped_in_any_other_way(sql: str) -> None:
    assert net_sales(sql, "net_sales") == ()


@pytest.mark.parametrize(
    "sql",
    [
        f"select sum(o.net_amt * r.rate)::numeric(14,2) as net_sales {ROWS}",
        f"select avg(round(o.net_amt * r.rate, 2))::numeric(14,2) as net_sales {ROWS} group by o.channel",
        f"select {SUM}::text as net_sales {ROWS}".replace("sum(", "max("),
        f"select o.channel, {SUM} as net_sales {ROWS.replace(' and o.deleted is null', '')} group by 1",
        f"select {SUM} as net_sales {ROWS.replace(', ' + repr('shipped'), '')}",
        f"select {SUM} as net_sales {ROWS.replace(repr('month'), repr('quarter'))}",
    ],
)
def test_a_metric_by_month_with_another_sum_join_or_condition_is_pointed_out(sql: str) -> None:
    assert net_sales(sql) == ("net sales",)


def test_how_exactly_a_number_is_written_does_not_make_it_another() -> None:
    exact = Metric("net revenue", "round(avg(net_amt) * 100, 2)::numeric(10,2)", table="orders")

    def found(value: str) -> tuple[str, ...]:
        sent = check(f"select region, {value} as net_revenue from orders group by 1", "postgres", SHOP).sql
        return computed_otherwise([exact], sent, "postgres", SHOP, ())

    assert found("(avg(net_amt) * 100)::float") == ()
    assert found("(avg(net_amt) * 100)") == ()
    assert found("(avg(net_amt::int) * 100)::float") == ("net revenue",)
    assert found("avg(net_amt)::float") == ("net revenue",)


def test_what_a_metric_says_nothing_of_is_left_alone() -> None:
    assert pointed_out("select count(*) as turnover from customers") == (), "another table"
    assert pointed_out("select turnover from orders", "turnover") == (), "a column of the table itself"
    assert pointed_out("select sum(net_amt) as total from orders") == ()
    broken = Metric("total", "sum(", table="orders")
    assert computed_otherwise([broken], "SELECT 1 AS total", "sqlite", SHOP, ["total"]) == ()
