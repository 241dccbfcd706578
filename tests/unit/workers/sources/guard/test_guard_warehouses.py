"""The guard in the dialects of warehouses. ClickHouse's text is run by chdb, its own engine, where it is installed."""

from __future__ import annotations

from typing import Any

import pytest

from workers.sources.errors import Refused
from workers.sources.guard.check import check
from workers.sources.values import TableName, Visible

DIALECTS = ("clickhouse", "snowflake", "bigquery", "trino", "tsql")
TABLES = Visible((TableName("shop", "customers"), TableName("shop", "orders")), ("shop",))
HOSTILE = """
INSERT INTO orders (id) VALUES (1)
UPDATE orders SET amount = 0
DELETE FROM orders
DROP TABLE orders
TRUNCATE TABLE orders
CREATE TABLE evil AS SELECT * FROM orders
SELECT 1; DROP TABLE orders
SELECT * FROM salaries
SELECT * FROM other.orders
GRANT SELECT ON orders TO evil
"""
OWN = {
    "clickhouse": """
SELECT * FROM url('http://x', 'CSV')
SELECT * FROM file('/etc/passwd')
SELECT * FROM remote('127.0.0.1', system.users)
SELECT * FROM s3('https://x/y')
SELECT * FROM mysql('h', 'd', 't', 'u', 'p')
SELECT 1 SETTINGS readonly = 0
SELECT id FROM orders FORMAT CSV
SELECT * FROM orders INTO OUTFILE 'x'
SELECT sleep(3)
SELECT dictGet('d', 'a', 1)
SELECT * FROM system.users
SELECT getSetting('x')
SELECT (1, 'Ada', 100000) IN (salaries)
SELECT id FROM orders WHERE (id, 100000) NOT IN (shop.salaries)
SELECT 1 IN ((salaries))
SELECT 1 GLOBAL IN (salaries AS s)
SYSTEM SHUTDOWN
KILL QUERY WHERE 1
OPTIMIZE TABLE orders
ATTACH TABLE evil FROM '/x'
SELECT * FROM executable('x', 'TSV', 'a Int')
""",
    "snowflake": """
SELECT $1 FROM @stage/x
SELECT * FROM TABLE(RESULT_SCAN('x'))
SELECT SYSTEM$WAIT(10)
CALL evil()
COPY INTO @stage FROM orders
PUT file:///etc/passwd @stage
USE ROLE accountadmin
SELECT * FROM orders AT (TIMESTAMP => '2020-01-01')
EXECUTE IMMEDIATE 'drop table orders'
""",
    "bigquery": """
SELECT * FROM EXTERNAL_QUERY('c', 'drop table x')
EXPORT DATA OPTIONS (uri='gs://x/*') AS SELECT * FROM orders
SELECT * FROM ML.PREDICT(MODEL m, TABLE orders)
SELECT session_user()
CALL evil()
SELECT * FROM other.shop.orders
""",
    "trino": """
SELECT * FROM TABLE(system.query(query => 'drop table x'))
CALL system.runtime.kill_query('x')
SELECT current_user
EXECUTE evil
SELECT * FROM system.runtime.queries
""",
    "tsql": """
EXEC xp_cmdshell 'dir'
SELECT * INTO evil FROM orders
SELECT * FROM OPENROWSET('a', 'b', 'c')
SELECT * FROM OPENQUERY(s, 'drop table x')
SELECT * FROM orders WITH (TABLOCKX)
SELECT * FROM orders OPTION (RECOMPILE)
WAITFOR DELAY '00:00:10'
SELECT @@version
SELECT * FROM orders; EXEC evil
SELECT id FROM orders FOR XML AUTO
SELECT suser_name()
""",
}
PLAIN = """
SELECT id, amount FROM orders WHERE amount > 5 ORDER BY id
SELECT customer, sum(amount) AS total FROM orders GROUP BY customer HAVING sum(amount) > 1
WITH big AS (SELECT id FROM orders WHERE amount > 10) SELECT count(*) AS n FROM big
SELECT c.name, o.amount FROM orders AS o JOIN customers AS c ON c.id = o.customer
SELECT id, row_number() OVER (PARTITION BY customer ORDER BY id) AS n FROM orders
SELECT id FROM orders UNION ALL SELECT id FROM customers
SELECT CASE WHEN amount > 10 THEN 'big' ELSE 'small' END AS size, count(*) AS n FROM orders GROUP BY 1
SELECT coalesce(name, '?') AS name, upper(name) AS loud FROM customers -- why
SELECT DISTINCT customer FROM orders WHERE customer IN (SELECT id FROM customers)
SELECT id FROM shop.orders;
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize(
    ("dialect", "sql"), [(dialect, sql) for dialect in DIALECTS for sql in lines(HOSTILE + OWN[dialect])]
)
def test_a_hostile_statement_is_refused(dialect: str, sql: str) -> None:
    with pytest.raises(Refused):
        check(sql, dialect, TABLES)


@pytest.mark.parametrize(("dialect", "sql"), [(dialect, sql) for dialect in DIALECTS for sql in lines(PLAIN)])
def test_a_plain_select_passes_and_what_is_sent_passes_again_unchanged(dialect: str, sql: str) -> None:
    sent = check(sql, dialect, TABLES)
    assert check(sent.sql, dialect, TABLES) == sent


@pytest.fixture(scope="module")
def clickhouse() -> Any:
    """ClickHouse's engine in this process, with a small shop."""
    session = pytest.importorskip("chdb.session").Session()
    session.query("CREATE DATABASE shop")
    session.query("CREATE TABLE shop.customers (id Int32, name Nullable(String)) ENGINE = Memory")
    session.query("CREATE TABLE shop.orders (id Int32, customer Int32, amount Decimal(10, 2), placed DateTime) "
                  "ENGINE = Memory")  # fmt: skip
    session.query("INSERT INTO shop.customers VALUES (1, 'Ada'), (2, 'Ben')")
    session.query(
        "INSERT INTO shop.orders VALUES (1, 1, 12.5, '2024-01-05 10:00:00'), (2, 2, 7, '2024-02-06 11:00:00')"
    )
    return session


CLICKHOUSE = """
SELECT toStartOfMonth(placed) AS month, sum(amount) AS total FROM orders GROUP BY month ORDER BY month
SELECT countIf(amount > 10) AS big, uniq(customer) AS customers, quantile(0.5)(amount) AS middle FROM orders
SELECT argMax(id, amount) AS dearest FROM orders
SELECT dateDiff('day', placed, toDateTime('2024-03-01 00:00:00')) AS days FROM orders
SELECT id FROM orders ORDER BY amount DESC LIMIT 1
"""


@pytest.mark.parametrize("sql", lines(PLAIN + CLICKHOUSE))
def test_clickhouse_runs_what_the_guard_renders(clickhouse: Any, sql: str) -> None:
    sent = check(sql, "clickhouse", TABLES)
    assert clickhouse.query(sent.sql, "CSV").bytes(), sent.sql
