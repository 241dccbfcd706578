"""Databases that SQLAlchemy reaches: refused with the extra's name, or asked as all others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import SecretStr
from sources_world import statements

from core.team_settings import SourceSettings
from workers.sources.drivers import warehouse
from workers.sources.drivers.base import Driver
from workers.sources.drivers.warehouse import WAREHOUSES, Warehouse, WarehouseDriver
from workers.sources.errors import Cancelled, LimitReached, LoginCanWrite, Misconfigured, SourceAway, StatementFailed
from workers.sources.opening import named_source, open_source
from workers.sources.query import result_of
from workers.sources.values import Kind, Limits, Source, TableName


def source(url: str, **settings: object) -> Source:
    given = SourceSettings.model_validate({"url_env": "X", "accept_writable_login": True} | settings)
    return named_source("shop", given, SecretStr(url))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """A source of the kind Trino whose driver is SQLite's: the same SQLAlchemy, no server."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        for each in statements():
            made.execute(each)
        made.commit()
    monkeypatch.setitem(warehouse.WAREHOUSES, Kind.TRINO, Warehouse("sqlite", "sqlite3", "trino"))
    return source(f"trino:///{path}")


@pytest.mark.parametrize("kind", WAREHOUSES)
def test_a_kind_without_its_driver_is_refused_with_the_name_of_the_extra(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warehouse, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match=rf"threadbook\[{WAREHOUSES[kind].extra}\]") as refused:
        open_source(source(f"{kind.value}://ana:hunter2@planted-host/db"))
    assert "hunter2" not in str(refused.value)
    assert "planted-host" not in str(refused.value)


def test_rows_come_with_types_and_the_guard_reads_the_statement_first(shop: Source) -> None:
    with closing(open_source(shop)) as driver:
        assert isinstance(driver, WarehouseDriver)
        assert TableName("main", "orders") in driver.visible().tables
        assert [column.name for column in driver.columns(TableName("main", "customers"))] == ["id", "name", "extra"]
        assert {table.name.name for table in driver.catalogue().tables} >= {"customers", "orders"}
        with result_of(shop, driver, "select id, name from customers order by id") as result:
            found = pa.Table.from_batches(result.batches, result.schema)
        assert found.to_pylist() == [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Ben"}]
        assert result.sql == 'SELECT id, name FROM "main"."customers" ORDER BY id'


def test_a_login_whose_rights_nobody_can_look_up_is_refused_until_the_team_accepts_it(shop: Source) -> None:
    careful = source(shop.url.get_secret_value(), accept_writable_login=False)
    with (
        closing(open_source(careful)) as driver,
        pytest.raises(LoginCanWrite, match="cannot be looked up"),
        result_of(careful, driver, "select 1"),
    ):
        pass


def test_limits_and_faults_are_sentences(shop: Source) -> None:
    with closing(open_source(shop)) as driver:
        with (
            pytest.raises(LimitReached, match="more than the 2 rows"),
            driver.run("select * from orders", Limits(2, 1 << 20, 5)) as result,
        ):
            list(result.batches)
        with pytest.raises(StatementFailed, match="no such column"), driver.run("select x", Limits(2, 1 << 20, 5)):
            pass
        with driver.run("select count(*) as n from orders", Limits(2, 1 << 20, 5)) as result:
            assert [batch.to_pylist() for batch in result.batches] == [[{"n": 4}]]


def test_a_database_that_does_not_answer_is_away_and_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(warehouse.WAREHOUSES, Kind.TRINO, Warehouse("postgresql+psycopg", "psycopg", "trino"))
    with pytest.raises(SourceAway) as away:
        open_source(source("trino://ana:hunter2@127.0.0.1:1/db"))
    assert "hunter2" not in str(away.value)
    assert "127.0.0.1" not in str(away.value)


LIMITS = Limits(10, 1 << 20, 600)


def count(driver: Driver) -> int:
    with driver.run("select count(*) as n from orders", LIMITS) as result:
        return int(next(iter(result.batches)).to_pylist()[0]["n"])


def lose(driver: Driver) -> None:
    """Close the connection behind the driver's back, as a server does that starts anew."""
    assert isinstance(driver, WarehouseDriver)
    driver._connection.connection.driver_connection.close()


def test_a_lost_connection_is_said_to_be_lost_so_that_it_is_replaced(shop: Source) -> None:
    with closing(open_source(shop)) as driver:
        lose(driver)
        with pytest.raises(SourceAway):
            count(driver)


def test_a_connection_on_which_something_failed_is_not_used_again(
    shop: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_source(shop)) as driver:
        assert isinstance(driver, WarehouseDriver)
        monkeypatch.setattr(driver._engine.dialect, "is_disconnect", lambda *_: False)  # as most drivers say
        lose(driver)
        with pytest.raises(StatementFailed):
            count(driver)
        assert count(driver) == 4


def test_after_a_stop_the_next_statement_runs(shop: Source) -> None:
    with closing(open_source(shop)) as driver:
        assert driver.visible().tables
        with driver.run("select * from orders", LIMITS) as result:
            driver.cancel()
            with pytest.raises(Cancelled):
                list(result.batches)
        assert count(driver) == 4
