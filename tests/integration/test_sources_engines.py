"""Data sources on the real engines: each wall holds alone, tricky SELECTs run, limits and stops reach the server."""

from __future__ import annotations

import decimal
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
import sources_world
from mute_proxy import mute_proxy
from patience import PATIENCE_S, eventually
from pydantic import SecretStr
from sources_world import PASSWORD, World
from sql_corpus import HOSTILE, MEANT, TRICKY

from workers.sources.broker.broker import _answer
from workers.sources.broker.requests import Ask
from workers.sources.drivers import mysql, postgres
from workers.sources.drivers.base import Driver
from workers.sources.errors import (
    Cancelled,
    LimitReached,
    LoginCanWrite,
    Misconfigured,
    Refused,
    SourceAway,
    SourceError,
    StatementFailed,
)
from workers.sources.knowledge.samples import sampled
from workers.sources.opening import open_source
from workers.sources.query import catalogue_of, result_of, scrubbed
from workers.sources.values import Limits, Source

pytestmark = [pytest.mark.integration, pytest.mark.early]
KINDS = ("postgres", "mysql", "sqlite", "duckdb", "folder", "s3")
LIMITS = Limits(1_000, 64 * 1024 * 1024, 2.0)


@pytest.fixture(scope="module", params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("shop")
    made = {
        "postgres": lambda: sources_world.postgres(request.getfixturevalue("postgres_address")),
        "mysql": sources_world.mariadb,
        "sqlite": lambda: sources_world.sqlite(folder),
        "duckdb": lambda: sources_world.duckdb_file(folder),
        "folder": lambda: sources_world.folder_of_files(folder),
        "s3": lambda: sources_world.bucket_of_files(folder),
    }[request.param]
    with made() as world:
        yield world


def only_of(kind: str) -> pytest.MarkDecorator:
    """A rule of one kind of source."""
    return pytest.mark.parametrize("world", [kind], indirect=True)


def rows(source: Source, driver: Driver, sql: str) -> list[dict[str, object]]:
    with result_of(source, driver, sql) as result:
        return pa.Table.from_batches(result.batches, result.schema).to_pylist()


def read_all(driver: Driver, sql: str, limits: Limits = LIMITS) -> int:
    with driver.run(sql, limits) as result:
        return sum(batch.num_rows for batch in result.batches)


@contextmanager
def opened(source: Source) -> Iterator[Driver]:
    with closing(open_source(source)) as driver:
        yield driver


@pytest.mark.timeout(900)  # a hundred statements, each with a connection of its own
def test_with_the_guard_off_no_hostile_statement_has_an_effect(world: World) -> None:
    before = world.checksum()
    dialect = world.source().kind.dialect
    for writer in (False, True) if world.writer else (False,):
        for sql in HOSTILE[dialect]:
            # Also what a driver did not foresee counts: only the effect is asked for here.
            with opened(world.source(writer=writer)) as driver, suppress(Exception):
                read_all(driver, sql, Limits(1_000, 64 * 1024 * 1024, 0.5))
            assert world.checksum() == before, f"{sql!r} had an effect, writer={writer}"


def test_every_tricky_select_runs_and_gives_rows(world: World) -> None:
    source = world.source()
    failed = {}
    with opened(source) as driver:
        for written in TRICKY[source.kind.dialect]:
            sql = written.replace("Odd Name", "odd_name") if world.kind in ("folder", "s3") else written
            try:
                with result_of(source, driver, sql) as result:
                    count = sum(batch.num_rows for batch in result.batches)
                assert count or "EXCEPT" in sql or "lateral" in sql.lower(), sql
            except SourceError as error:
                failed[sql] = str(error)
    assert not failed


def test_what_is_sent_gives_what_the_statement_itself_gives(world: World) -> None:
    source = world.source()
    with opened(source) as driver:
        for written in MEANT[source.kind.dialect]:
            sql = written.replace("Odd Name", "odd_name") if world.kind in ("folder", "s3") else written
            with driver.run(sql, LIMITS) as result:
                meant = pa.Table.from_batches(result.batches, result.schema).to_pylist()
            assert rows(source, driver, sql) == meant, sql


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT o.name FROM orders o JOIN customers c ON c.id = o.customer", "customers has name, but o does not"),
        ("SELECT c.nam FROM orders o JOIN customers c ON c.id = o.customer", "Did you mean name of customers?"),
        ("SELECT zz FROM orders o, customers c", "customers: id, name, extra; orders: id, customer, amount, placed"),
        ("SELECT amont FROM orders", "Did you mean amount?"),
    ],
)
def test_a_column_that_is_not_there_is_told_with_the_table_that_has_it(world: World, sql: str, said: str) -> None:
    if world.kind in ("duckdb", "folder", "s3") and "." in sql.partition("FROM")[0]:
        said = "does not have a column named"  # with candidates, in DuckDB's own words
    with opened(world.source()) as driver, pytest.raises(StatementFailed) as caught:
        rows(world.source(), driver, sql)
    assert said in str(caught.value)


@pytest.mark.parametrize("world", ["postgres", "mysql"], indirect=True)
def test_a_login_that_may_read_some_columns_is_told_which(world: World) -> None:
    login = str(urlsplit(world.reader).username)
    where = f"'{login}'@'127.0.0.1'" if world.kind == "mysql" else login
    give, take = f"GRANT SELECT (id, name) ON staff TO {where}", "DROP TABLE staff"
    with closing(world.admin.cursor()) as admin:
        admin.execute("CREATE TABLE staff (id int, name varchar(9), pay int)")
        if world.kind == "mysql":
            admin.execute(f"REVOKE SELECT ON {urlsplit(world.reader).path[1:]}.* FROM {where}")
        admin.execute(give)
        try:
            with opened(world.source()) as driver, pytest.raises(StatementFailed, match=r"may read staff: id, name\."):
                rows(world.source(), driver, "SELECT * FROM staff")
        finally:
            admin.execute(take)
            if world.kind == "mysql":
                admin.execute(f"GRANT SELECT ON {urlsplit(world.reader).path[1:]}.* TO {where}")


@only_of("mysql")
def test_a_function_that_the_server_does_not_have_is_named(world: World) -> None:
    with opened(world.source()) as driver, pytest.raises(StatementFailed, match="has no function any_value"):
        rows(world.source(), driver, "SELECT ANY_VALUE(id) FROM orders")


@only_of("sqlite")
def test_a_quoted_column_that_is_not_there_is_no_text_in_sqlite(world: World) -> None:
    source = world.source()
    with opened(source) as driver:
        for sql in ('SELECT "amont" FROM orders', """SELECT id FROM orders WHERE "amont" = 'x'"""):
            with pytest.raises(StatementFailed, match=r"no such column: amont\. Did you mean amount\?"):
                rows(source, driver, sql)


def test_values_arrive_with_their_types(world: World) -> None:
    source = world.source()
    with opened(source) as driver:
        found = rows(source, driver, "SELECT id, amount, placed FROM orders ORDER BY id")
    assert [row["id"] for row in found] == [1, 2, 3, 4]
    if world.kind != "sqlite":
        assert found[0]["amount"] == decimal.Decimal("12.50")
        assert str(found[0]["placed"]) == "2024-01-05 10:00:00"
    assert found[3]["placed"] is None


@only_of("postgres")
def test_a_month_is_shown_in_the_zone_in_which_the_server_lets_it_begin(world: World) -> None:
    ((name,),) = world.admin.execute("SELECT current_database()").fetchall()
    sql = "SELECT date_trunc('month', timestamptz '2024-01-15 12:00+00') AS month, array[now()] AS moments"
    world.admin.execute(f"ALTER DATABASE {name} SET timezone = 'Europe/Berlin'")
    try:
        with opened(world.source()) as driver:
            (found,) = rows(world.source(), driver, sql)
    finally:
        world.admin.execute(f"ALTER DATABASE {name} RESET timezone")
    assert str(found["month"]) == "2024-01-01 00:00:00+01:00"
    assert str(found["moments"][0].tzinfo) == "Europe/Berlin"  # type: ignore[index]


def test_too_many_rows_bytes_or_seconds_end_in_a_sentence(world: World) -> None:
    many = "SELECT a.id FROM orders a, orders b, orders c, orders d, orders e"
    for source, said in (
        (world.source(max_rows=100), "more than the 100 rows"),
        (world.source(max_rows=4), "more than the 4 rows"),
    ):
        with opened(source) as driver, pytest.raises(LimitReached, match=said):
            rows(source, driver, many)
    with opened(world.source()) as driver:
        with pytest.raises(LimitReached, match="MB that the source allows"):
            read_all(driver, many, Limits(10_000, 1_000, 20))
        with pytest.raises(LimitReached, match="took longer"):
            read_all(driver, SLOW[world.source().kind.dialect], Limits(10, 10_000, 0.3))
        assert read_all(driver, "SELECT id FROM orders") == 4, "the driver is of use again"


def test_a_database_tells_how_many_rows_it_expects_to_go_through(world: World) -> None:
    with opened(world.source()) as driver:
        few, many = (
            driver.expected_rows(f"SELECT count(*) FROM {tables}", LIMITS)
            for tables in ("orders", "orders a, orders b, orders c, orders d, orders e, orders f")
        )
        assert read_all(driver, "SELECT id FROM orders") == 4, "the driver is of use for the statement itself"
    if world.kind == "sqlite":
        assert (few, many) == (None, None)
    else:
        assert few is not None
        assert many is not None
        assert many > 50 * max(1, few)


def test_what_changes_something_is_explained_without_an_effect(world: World) -> None:
    if world.kind not in ("postgres", "mysql", "duckdb"):
        pytest.skip("explains nothing, or with DuckDB's engine")
    before = world.checksum()
    for sql in HOSTILE[world.source().kind.dialect]:
        with opened(world.source(writer=bool(world.writer))) as driver, suppress(Exception):
            driver.expected_rows(sql, Limits(1_000, 64 * 1024 * 1024, 0.5))
        assert world.checksum() == before, f"{sql!r} had an effect"


ENDLESS = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) SELECT max(i) FROM n"
SLOW = {
    "postgres": "SELECT pg_sleep(100)",
    "mysql": "SELECT count(*) FROM information_schema.columns a, information_schema.columns b, "
    "information_schema.columns c",
    "sqlite": ENDLESS,
    "duckdb": "SELECT sum(sqrt(a.range * b.range)) FROM range(1000000) a, range(1000000) b",
}


def test_cancel_ends_the_statement_at_the_server(world: World) -> None:
    sql = SLOW[world.source().kind.dialect]
    with opened(world.source()) as driver:
        ended: list[Exception] = []

        def ask() -> None:
            try:
                read_all(driver, sql, Limits(10, 10_000, 200))
            except SourceError as error:
                ended.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        if world.kind in ("postgres", "mysql"):
            eventually(lambda: running(world, sql) == 1)
        else:
            time.sleep(0.5)  # the engine is in this process: there is nobody to ask whether it runs
        driver.cancel()
        asking.join(PATIENCE_S)
        assert not asking.is_alive()
        assert isinstance(ended[0], Cancelled)
        if world.kind in ("postgres", "mysql"):
            eventually(lambda: running(world, sql) == 0)
        assert read_all(driver, "SELECT id FROM orders") == 4


def running(world: World, sql: str) -> int:
    """Statements with this text that run at the server now."""
    if world.kind == "postgres":
        look = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s AND pid <> pg_backend_pid()"
        )
        found = world.admin.execute(look + " AND datname = current_database()", (f"%{sql[:40]}%",)).fetchone()
        # The cursor's FETCH is what runs; its text names the cursor.
        fetch = world.admin.execute(look + " AND datname = current_database()", ("FETCH%threadbook%",)).fetchone()
        return int(found[0]) + int(fetch[0])
    with world.admin.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM information_schema.processlist WHERE info LIKE %s AND id <> connection_id()",
            (f"{sql[:40]}%",),
        )
        return int(cursor.fetchone()[0])


def test_a_login_that_could_write_is_refused_with_the_sql_that_mends_it(world: World) -> None:
    with opened(world.source()) as driver:
        assert driver.access().read_only
    if not world.writer:
        return
    with opened(world.source(writer=True)) as driver, pytest.raises(LoginCanWrite) as caught:
        rows(world.source(writer=True), driver, "SELECT 1")
    assert "GRANT" in str(caught.value)
    assert "threadbook_reader" in str(caught.value)
    accepted = world.source(writer=True, accept_writable_login=True)
    with opened(accepted) as driver:
        assert rows(accepted, driver, "SELECT 1 AS one") == [{"one": 1}]


def test_a_misspelt_column_is_answered_with_the_nearest_one(world: World) -> None:
    with opened(world.source()) as driver, pytest.raises(StatementFailed, match=r"amount"):
        rows(world.source(), driver, "SELECT amout FROM orders")


def test_no_error_names_a_password_or_a_host(world: World) -> None:
    said: list[str] = []
    source = world.source()
    bad = [source.url.get_secret_value().replace(PASSWORD, PASSWORD + "-wrong")]
    if world.writer:
        bad.append(f"{world.reader.partition('://')[0]}://me:{PASSWORD}@planted-host.invalid:1/db")
        bad.append(f"{world.reader.partition('://')[0]}://me:{PASSWORD}@127.0.0.1:1/db")
        bad.append(f"{world.reader.partition('://')[0]}://me:{PASSWORD}@127.0.0.1:notaport/db")
    else:
        bad = [source.url.get_secret_value() + "-planted-gone"]
    if world.kind == "s3":
        bad = ["s3://planted-gone:secret@planted-host/data?endpoint=http://127.0.0.1:1"]
    for url in bad:
        broken = type(source)(source.name, source.kind, type(source.url)(url), source.settings)
        try:
            with scrubbed(broken), opened(broken) as driver:
                said.append("" if world.kind == "postgres" and driver else "opened")  # trust takes any password
        except (SourceAway, Misconfigured) as error:
            said.append(f"{error} {error.__cause__} {error.args!r}")
    with opened(source) as driver:
        for sql in (
            f"SELECT CAST('{source.url.get_secret_value()}' AS int)",
            "SELECT * FROM nothing_here",
            "SELECT 1 +",
        ):
            try:
                with scrubbed(source):
                    read_all(driver, sql)
            except SourceError as error:
                said.append(str(error))
    assert len(said) >= len(bad)
    shown = " ".join(said)
    for planted in (PASSWORD, "planted-host", "127.0.0.1", "planted-gone"):
        assert planted not in shown


@only_of("s3")
def test_what_lies_beside_a_prefix_cannot_be_read_even_with_the_guard_off(world: World) -> None:
    with opened(world.source()) as driver:
        for path in (
            "s3://shop-bucket/other/theirs.csv",
            "s3://shop-bucket/data/../other/theirs.csv",
            "s3://shop-bucket/*/theirs.csv",
            "http://127.0.0.1/x.csv",
            "/etc/hostname",
        ):
            with pytest.raises((StatementFailed, SourceAway)):
                read_all(driver, f"SELECT * FROM read_csv('{path}')")
        assert read_all(driver, "SELECT id FROM orders") == 4


POSTGRES_VALUES = """
SELECT 1.10::numeric(4, 2) AS exact, sum(x::numeric) AS summed, timestamptz '2024-03-01 12:00+02' AS moment,
  array[1, null, 3] AS whole, array['a', null] AS words, array[1.5]::numeric[] AS numbers, '{"a": [1]}'::jsonb AS doc,
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS key, interval '1 mon 2 days 03:04:05' AS span, 4000000000::oid AS oid,
  12.5::money AS price, '10.0.0.1'::inet AS address, null::int AS nothing, true AS yes, time '10:30' AS clock,
  'ab'::char(5) AS padded, '\\x00ff'::bytea AS bytes, date '0044-03-15 BC' IS NOT NULL AS old
  FROM generate_series(1, 3) x
"""


@only_of("postgres")
def test_every_type_of_postgres_arrives_as_documented(world: World) -> None:
    with opened(world.source()) as driver, driver.run(POSTGRES_VALUES, LIMITS) as result:
        (row,) = pa.Table.from_batches(result.batches, result.schema).to_pylist()
    assert row.pop("moment").isoformat() == "2024-03-01T10:00:00+00:00"
    assert str(row.pop("clock")) == "10:30:00"
    assert row == {
        "exact": decimal.Decimal("1.10"), "summed": 6.0, "whole": [1, None, 3], "words": ["a", None],
        "numbers": [1.5], "doc": '{"a": [1]}', "key": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "span": "1 mon 2 days 03:04:05", "oid": 4_000_000_000, "price": "$12.50", "address": "10.0.0.1/32",
        "nothing": None, "yes": True, "padded": "ab   ", "bytes": b"\x00\xff", "old": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", ["'infinity'::date", "'-infinity'::timestamptz", "time '24:00'", "array[[1], [2]]", "'[2:3]={7,8}'::int[]"]
)
@only_of("postgres")
def test_a_value_of_postgres_that_would_come_wrong_is_refused(world: World, value: str) -> None:
    with opened(world.source()) as driver:
        with pytest.raises(StatementFailed, match="CAST"):
            read_all(driver, f"SELECT {value} AS v")
        assert read_all(driver, f"SELECT ({value})::text AS v") == 1


@only_of("postgres")
def test_a_partition_of_a_denied_table_is_denied_with_it(world: World) -> None:
    login = world.reader.split("://")[1].split(":")[0]
    world.admin.execute("CREATE TABLE pay (id int, year int) PARTITION BY RANGE (year)")
    world.admin.execute("CREATE TABLE pay_all PARTITION OF pay FOR VALUES FROM (0) TO (3000) PARTITION BY RANGE (year)")
    world.admin.execute("CREATE TABLE pay_2024 PARTITION OF pay_all FOR VALUES FROM (2024) TO (2025)")
    try:
        world.admin.execute("INSERT INTO pay VALUES (1, 2024)")
        world.admin.execute(f"GRANT SELECT ON pay, pay_2024 TO {login}")
        with opened(world.source(tables_denied=("pay",))) as driver:
            for table in ("pay", "pay_all", "pay_2024"):
                with pytest.raises(Refused, match="that may be read"):
                    rows(world.source(tables_denied=("pay",)), driver, f"SELECT * FROM {table}")
            assert rows(world.source(), driver, "SELECT id FROM pay") == [{"id": 1}]
        world.admin.execute(f"REVOKE SELECT ON pay FROM {login}")
        with opened(world.source()) as driver:
            assert rows(world.source(), driver, "SELECT id FROM pay_2024") == [{"id": 1}], "all that it may read of pay"
    finally:
        world.admin.execute("DROP TABLE pay")


@only_of("postgres")
def test_an_error_in_the_middle_of_the_rows_is_the_servers_own(world: World) -> None:
    with opened(world.source()) as driver:
        with pytest.raises(StatementFailed, match="division by zero"):
            read_all(driver, "SELECT 1 / (n - 90000) FROM generate_series(1, 100000) n", Limits(1_000_000, 1 << 30, 20))
        assert read_all(driver, "SELECT id FROM orders") == 4


@only_of("postgres")
def test_rows_keep_their_order_where_columns_are_cast(world: World) -> None:
    sql = "SELECT n, n * interval '1 day' AS span FROM generate_series(1, 50000) n ORDER BY n % 7, n DESC"
    with opened(world.source()) as driver, driver.run(sql, Limits(100_000, 1 << 30, 20)) as result:
        found = pa.Table.from_batches(result.batches, result.schema)["n"].to_pylist()
    assert found == sorted(range(1, 50_001), key=lambda n: (n % 7, -n))


@contextmanager
def role_of_mysql(world: World) -> Iterator[str]:
    """A role that the reader may take, and that has no rights of its own."""
    login = world.reader.split("://")[1].split(":")[0]
    with world.admin.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {login}_role")
        try:
            cursor.execute(f"GRANT {login}_role TO '{login}'@'127.0.0.1'")
            yield f"{login}_role"
        finally:
            cursor.execute(f"DROP ROLE {login}_role")


@only_of("mysql")
def test_a_bit_of_mysql_is_a_number_that_can_be_compared(world: World) -> None:
    with world.admin.cursor() as cursor:
        cursor.execute("CREATE TABLE switches (id int, is_on bit(1), mask bit(10))")
        cursor.execute("INSERT INTO switches VALUES (1, b'1', 513), (2, b'0', 0), (3, NULL, 49)")
    try:
        with opened(world.source()) as driver:
            found = rows(world.source(), driver, "SELECT is_on, mask FROM switches ORDER BY id")
    finally:
        with world.admin.cursor() as cursor:
            cursor.execute("DROP TABLE switches")
    assert found == [{"is_on": 1, "mask": 513}, {"is_on": 0, "mask": 0}, {"is_on": None, "mask": 49}]


@only_of("mysql")
def test_a_text_that_mysql_would_cut_is_whole_or_refused(world: World) -> None:
    few, many = (
        f"SELECT length(group_concat(repeat('x', 1000))) AS n FROM {', '.join(f'orders o{at}' for at in range(tables))}"
        for tables in (6, 8)
    )
    limits = Limits(10, 1 << 20, PATIENCE_S)
    with opened(world.source()) as driver:
        with driver.run(few, limits) as result:
            assert [row["n"] for batch in result.batches for row in batch.to_pylist()] == [4**6 * 1001 - 1]
        with pytest.raises(LimitReached, match="cut by GROUP_CONCAT"):
            read_all(driver, many, limits)
        assert read_all(driver, "SELECT id FROM orders") == 4, "the driver is of use again"


@only_of("mysql")
def test_after_a_result_over_a_limit_mysql_reads_statements_as_the_guard_does_and_has_its_role(world: World) -> None:
    many = "SELECT repeat('x', 10000) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g"
    patient = Limits(10, 1 << 30, PATIENCE_S)
    session = "SELECT @@SESSION.sql_mode AS mode, current_role() AS role"
    with role_of_mysql(world) as role, opened(world.source(role=role)) as driver:
        with driver.run(session, patient) as result:
            before = [batch.to_pylist() for batch in result.batches]
        with pytest.raises(LimitReached):
            read_all(driver, many, patient)
        with driver.run(session, patient) as result:
            assert [batch.to_pylist() for batch in result.batches] == before
    assert before[0][0]["role"] == role


@only_of("mysql")
def test_a_right_that_was_taken_away_is_gone_once_the_rights_are_looked_at(world: World) -> None:
    login = world.reader.split("://")[1].split(":")[0]
    database = login.removesuffix("_r")
    source = world.source()
    with opened(source) as driver, world.admin.cursor() as cursor:
        assert len(rows(source, driver, "SELECT id FROM orders")) == 4
        cursor.execute(f"REVOKE SELECT ON {database}.* FROM '{login}'@'127.0.0.1'")
        try:
            # the server refuses it, or our guard where the tables have been looked at since
            with pytest.raises((StatementFailed, Refused), match=r"denied|no table orders that may be read"):
                rows(source, driver, "SELECT id FROM orders")
        finally:
            cursor.execute(f"GRANT SELECT ON {database}.* TO '{login}'@'127.0.0.1'")
        assert len(rows(source, driver, "SELECT id FROM orders")) == 4


@only_of("mysql")
def test_a_float_that_the_server_rounds_is_refused_and_a_sample_of_it_is_whole(world: World) -> None:
    source = world.source()
    with opened(source) as driver, world.admin.cursor() as cursor:
        cursor.execute("CREATE TABLE rates (id int, rate float, short float, fixed float(9, 2))")
        try:
            cursor.execute("INSERT INTO rates VALUES (1, 123456.789, 12.5, 12345.67), (2, NULL, -0.25, NULL)")
            with pytest.raises(StatementFailed, match=r"column rate .* CAST\(rate AS DOUBLE\)"):
                rows(source, driver, "SELECT id, rate FROM rates")
            found = rows(source, driver, "SELECT CAST(rate AS DOUBLE) AS rate, short, fixed FROM rates ORDER BY id")
            drafted = {name.name: columns for name, columns in sampled(source, driver, catalogue_of(source, driver))}
            asked, descriptor = _answer(
                source, driver, Ask(ask="sample", table="rates"), Limits(10, 1 << 20, 20), lambda _: None
            )
        finally:
            cursor.execute("DROP TABLE rates")
    assert found[0] == {"rate": 123456.7890625, "short": 12.5, "fixed": 12345.67}
    assert descriptor is not None
    with open(descriptor, "rb") as file, pa.ipc.open_stream(file) as stream:
        (first, _) = stream.read_all().to_pylist()
    assert first == {"id": 1, "rate": 123456.7890625, "short": 12.5, "fixed": first["fixed"]}
    assert round(first["fixed"], 2) == 12345.67
    assert asked.rows == 2
    assert [each.high for each in drafted["rates"]] == ["2", "123457", "12.5", "12345.7"]


@only_of("mysql")
@pytest.mark.parametrize("object_", ["`{}`.*", "`{}`.`the orders`", "`{}`.`a TO b`"])
def test_a_right_to_write_counts_also_where_names_hold_blanks(world: World, object_: str) -> None:
    login = world.reader.split("://")[1].split(":")[0]
    database = f"{login} with blanks"
    with world.admin.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE `{database}`")
        try:
            for table in ("the orders", "a TO b"):
                cursor.execute(f"CREATE TABLE `{database}`.`{table}` (id int)")
            cursor.execute(f"GRANT INSERT ON {object_.format(database)} TO '{login}'@'127.0.0.1'")
            with opened(world.source()) as driver:
                (writes,) = driver.access().writes
            cursor.execute(f"REVOKE INSERT ON {object_.format(database)} FROM '{login}'@'127.0.0.1'")
        finally:
            cursor.execute(f"DROP DATABASE `{database}`")
    assert writes.startswith("it has INSERT on ")


@pytest.mark.parametrize("world", ["postgres", "mysql"], indirect=True)
def test_a_server_that_vanishes_without_a_word_is_not_waited_for_without_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr({"postgres": postgres, "mysql": mysql}[world.kind], "CONNECT_S", 1)
    there = world.source(timeout_s=1.0)
    port = urlsplit(there.url.get_secret_value()).port or 0
    with mute_proxy(port) as proxy:
        url = there.url.get_secret_value().replace(f":{port}/", f":{proxy.port}/")
        ended: list[Exception] = []

        def ask() -> None:
            try:
                read_all(driver, "SELECT id FROM orders", Limits(10, 1 << 20, 1.0))
            except SourceError as error:
                ended.append(error)

        driver = open_source(replace(there, url=SecretStr(url)))
        proxy.mute()
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(PATIENCE_S)
        assert [type(error) for error in ended] == [SourceAway if world.kind == "postgres" else LimitReached]
        driver.close()  # while it was waited for, this would wait too
        eventually(lambda: not [each for each in threading.enumerate() if each.name == "cancel"])


@only_of("postgres")
def test_a_connection_to_postgres_asks_now_and_then_whether_the_server_is_there(world: World) -> None:
    before = sockets()
    with opened(world.source()):
        (descriptor,) = [each for inode, each in sockets().items() if inode not in before]
        with socket.socket(fileno=os.dup(descriptor)) as own:
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
            idle, interval, times, unheard_ms = (own.getsockopt(socket.IPPROTO_TCP, option) for option in options)
    assert idle + interval * times <= 60
    assert 0 < unheard_ms <= 60_000


def sockets() -> dict[str, int]:
    """The open sockets of this process by their inode."""
    found = {}
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # that of the listing itself is closed
            if (inode := os.readlink(f"/proc/self/fd/{each}")).startswith("socket:"):
                found[inode] = int(each)
    return found
