"""The guard lets known SELECTs through and nothing else, and says what to write instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sql_corpus import HOSTILE, TRICKY

from workers.sources.errors import Refused
from workers.sources.guard.check import check
from workers.sources.guard.tables import permitted
from workers.sources.values import TableName, Visible

NAMES = ("customers", "orders", "Odd Name", "salaries")
SCHEMA = {"postgres": "public", "mysql": "shop", "sqlite": "main", "duckdb": "main"}


def visible(dialect: str) -> Visible:
    schema = SCHEMA[dialect]
    every = Visible(tuple(TableName(schema, name) for name in NAMES), (schema,))
    return permitted(every, ["*"], ["salaries"])


def all_of(corpus: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(dialect, sql) for dialect, statements in corpus.items() for sql in statements]


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len({sql for _, sql in all_of(HOSTILE)}) >= 150
    assert len({sql for _, sql in all_of(TRICKY)}) >= 60


@pytest.mark.parametrize(("dialect", "sql"), all_of(HOSTILE))
def test_a_hostile_statement_is_refused(dialect: str, sql: str) -> None:
    with pytest.raises(Refused):
        check(sql, dialect, visible(dialect))


@pytest.mark.parametrize(("dialect", "sql"), all_of(TRICKY))
def test_a_tricky_select_passes_and_what_is_sent_passes_again_unchanged(dialect: str, sql: str) -> None:
    sent = check(sql, dialect, visible(dialect))
    assert check(sent.sql, dialect, visible(dialect)) == sent


@pytest.mark.parametrize(
    ("dialect", "sql", "sent"),
    [
        ("postgres", "SELECT interval '1 day 02:03:04'", "SELECT INTERVAL '1 day 02:03:04'"),
        ("mysql", "SELECT MEDIAN(amount) OVER ()", "SELECT MEDIAN(amount) OVER ()"),
        ("postgres", "SELECT now() + interval '1 day ago'", "SELECT CURRENT_TIMESTAMP + INTERVAL '1 day ago'"),
        ("duckdb", "SELECT interval '1 year ago'", "SELECT INTERVAL '1 year ago'"),
        ("duckdb", "SELECT doc ->> 'a.b'", "SELECT doc ->> 'a.b'"),
        ("sqlite", "SELECT doc ->> ' '", "SELECT doc ->> ' '"),
        ("sqlite", "SELECT mod(7.5, 2)", "SELECT MOD(7.5, 2)"),
        ("mysql", "SELECT DATEDIFF('day', a, b)", "SELECT DATEDIFF('day', a, b)"),
        ("mysql", "SELECT DATEDIFF(NOW(), a) + 1", "SELECT DATEDIFF(NOW(), a) + 1"),
        ("duckdb", "SELECT 1_000 * amount FROM orders", 'SELECT 1000 * amount FROM "main"."orders"'),
        ("postgres", "SELECT 1e3,-.5::int,2*3", "SELECT 1e3, -CAST(0.5 AS INT), 2 * 3"),
        ("sqlite", "SELECT CAST(id AS DECIMAL(10, 2))", "SELECT CAST(id AS NUMERIC(10, 2))"),
        ("sqlite", """SELECT "a`b", o."c" FROM orders o""", """SELECT `a``b`, o."c" FROM "main"."orders" AS o"""),
    ],
)
def test_what_is_sent_says_what_was_written(dialect: str, sql: str, sent: str) -> None:
    assert check(sql, dialect, visible(dialect)).sql == sent


@pytest.mark.parametrize(
    ("dialect", "sql", "said"),
    [
        ("postgres", "DELETE FROM orders", "DELETE is refused"),
        ("postgres", "SELECT * FROM (orders", "cannot be read"),
        ("postgres", "SELECT * FROM ordes", "Did you mean orders?"),
        ("postgres", "SELECT * FROM Salaries", "no table Salaries that may be read"),
        ("postgres", "SELECT pg_read_file('x')", "pg_read_file is not among"),
        ("postgres", "SELECT pg_sleep(1)", "a query does not wait"),
        ("postgres", "SELECT * FROM orders FOR UPDATE", "Leave it out"),
        ("postgres", "SELECT 1; SELECT 2", "one by one"),
        ("duckdb", "SELECT * FROM read_csv('x')", "name a table of the source"),
        ("mysql", "SELECT @@version", "variable of the server"),
        ("postgres", "SELECT json_extract(extra, '$.plan') FROM customers", "write column -> 'key'"),
        ("postgres", "SELECT json_extract_scalar(extra, '$.plan') FROM customers", "json_extract_scalar is not among"),
        ("mysql", "SELECT date_diff('day', placed, now()) FROM orders", "date_diff is not among"),
        ("postgres", "SELECT amount * 1_000 FROM orders", "The number 1_000 can be read in two ways"),
        ("sqlite", "SELECT sum(amount) / 1_000_000 FROM orders", "The number 1_000_000 can be read in two ways"),
        ("postgres", "SELECT 12e_3", "The number 12e_3 can be read in two ways"),
        ("postgres", "SELECT id FROM orders WHERE amount > 1_000", "Write digits alone, such as 1000"),
        ("duckdb", "PIVOT orders ON customer USING sum(amount)", "PIVOT needs its values"),
        ("duckdb", "SHOW TABLES", "tables(source), columns(table, source)"),
        ("mysql", "DESCRIBE orders", "tables(source), columns(table, source)"),
        ("sqlite", "PRAGMA table_info(orders)", "tables(source), columns(table, source)"),
        ("sqlite", "SELECT sql FROM sqlite_master", "tables(source), columns(table, source)"),
        ("postgres", "SELECT * FROM information_schema.columns", "tables(source), columns(table, source)"),
        ("postgres", "EXPLAIN SELECT 1", "Send the statement itself"),
        ("postgres", "SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) j", "json_table is not among"),
        ("postgres", "SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) j", "write jsonb_to_recordset"),
        ("postgres", "SELECT o.amount FROM orders", "FROM has nothing named o: it has orders"),
        ("postgres", "SELECT extra.plan FROM customers c", "written column ->> 'field'"),
        ("postgres", "SELECT datediff('day', placed, now()) FROM orders", "write a::date - b::date for days"),
        ("postgres", "SELECT date_format(placed, '%Y') FROM orders", "write to_char(x, 'YYYY-MM')"),
        ("mysql", "SELECT to_char(placed, 'YYYY') FROM orders", "write DATE_FORMAT(x, '%Y-%m')"),
        ("mysql", "SELECT date_diff('day', placed, now()) FROM orders", "write DATEDIFF(a, b) for days"),
        ("mysql", "SELECT MEDIAN(amount) FROM orders", "only over a window"),
        ("sqlite", "SELECT date_trunc('month', placed) FROM orders", "write strftime('%Y-%m-01', x)"),
        ("sqlite", "SELECT EXTRACT(YEAR FROM placed) FROM orders", "write CAST(strftime('%Y', x) AS INTEGER)"),
        ("sqlite", "SELECT median(amount) FROM orders", "compute it from the frame"),
        ("sqlite", "SELECT placed + INTERVAL '1 day' FROM orders", "Write date(x, '+1 day')"),
        ("duckdb", "SELECT to_char(placed, 'YYYY') FROM orders", "write strftime(x, '%Y-%m')"),
        ("postgres", "SELECT FROM orders", "The SELECT names no columns"),
        ("duckdb", "SELECT 0x1F + 1", "The number 0x1F can be read in two ways"),
    ],
)
def test_a_refusal_says_what_and_what_to_write_instead(dialect: str, sql: str, said: str) -> None:
    with pytest.raises(Refused) as caught:
        check(sql, dialect, visible(dialect))
    assert said in str(caught.value)


def test_only_the_rendered_text_is_sent_without_comments_and_with_full_names() -> None:
    sent = check("select /* DROP */ o.id from Orders o -- x", "postgres", visible("postgres"))
    assert sent.sql == 'SELECT o.id FROM "public"."orders" AS o'
    assert sent.tables == (TableName("public", "orders"),)


def test_a_name_of_a_common_table_expression_counts_only_where_it_is_in_scope() -> None:
    inner = "WITH hidden AS (SELECT 1 AS id) SELECT * FROM hidden"
    assert check(inner, "postgres", visible("postgres")).tables == ()
    assert check(f"WITH a AS ({inner}) SELECT * FROM a", "postgres", visible("postgres")).tables == ()
    for outside in (
        f"WITH a AS ({inner}) SELECT * FROM hidden",
        "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a",
        'WITH "Hidden" AS (SELECT 1) SELECT * FROM hidden',
    ):
        with pytest.raises(Refused, match="no table"):
            check(outside, "postgres", visible("postgres"))


@pytest.mark.parametrize(
    ("allowed", "denied", "left"),
    [
        (["*"], [], {"a.x", "a.y", "b.x"}),
        (["a.*"], [], {"a.x", "a.y"}),
        (["x"], [], {"a.x", "b.x"}),
        (["*"], ["A.X"], {"a.y", "b.x"}),
        (["a.*", "b.*"], ["*.x"], {"a.y"}),
        ([], [], set()),
    ],
)
def test_a_pattern_must_allow_a_table_and_none_deny_it(allowed: list[str], denied: list[str], left: set[str]) -> None:
    every = Visible((TableName("a", "x"), TableName("a", "y"), TableName("b", "x")), ("a",))
    assert {str(table) for table in permitted(every, allowed, denied).tables} == left


@given(st.text(max_size=60), st.sampled_from(sorted(HOSTILE)))
def test_any_text_is_refused_or_rendered_to_a_select(text: str, dialect: str) -> None:
    try:
        sent = check(f"SELECT {text}", dialect, visible(dialect))
    except Refused:
        return
    assert sent.sql.startswith(("SELECT", "(SELECT", "(("))
    assert check(sent.sql, dialect, visible(dialect)).sql == sent.sql


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("SELECT date_add('2024-01-31 10:00:00', 1, 'hour')", r"datetime\(x, '\+1 hour'\)"),
        ("SELECT date_add(placed, interval 1 day) FROM orders", r"datetime\(x, '\+1 hour'\)"),
        ("SELECT date_sub(placed, 1) FROM orders", r"datetime\(x, '-1 hour'\)"),
        ("SELECT date_diff('2024-02-01 18:00:00', placed) FROM orders", r"julianday\(a\) - julianday\(b\)"),
        ("SELECT datediff('2024-02-01', placed) FROM orders", r"julianday\(a\) - julianday\(b\)"),
    ],
)
def test_a_date_function_that_sqlite_does_not_have_is_refused_with_what_to_write(sql: str, instead: str) -> None:
    with pytest.raises(Refused, match=instead):
        check(sql, "sqlite", visible("sqlite"))
