"""A SQLite file behind its driver: rows come, nothing is written, a result over a cap is refused whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.team_settings import SourceSettings
from workers.sources.drivers.base import Driver
from workers.sources.errors import LimitReached, SourceError, StatementFailed
from workers.sources.opening import named_source, open_source
from workers.sources.values import Limits


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(
            "CREATE TABLE orders (id INTEGER, city TEXT); INSERT INTO orders VALUES (1, 'Ulm'), (2, 'Bonn')"
        )
    settings = SourceSettings(url_env="SHOP_URL")
    with closing(open_source(named_source("shop", settings, SecretStr(f"sqlite:///{file}")))) as opened:
        yield opened


def test_the_tables_of_the_file_are_seen(driver: Driver) -> None:
    assert "orders" in str(driver.visible())


def test_rows_come_as_arrow_batches(driver: Driver) -> None:
    with driver.run("SELECT id, city FROM orders ORDER BY id", Limits(10, 1 << 20, 10)) as result:
        rows = [row for batch in result.batches for row in batch.to_pylist()]
    assert rows == [{"id": 1, "city": "Ulm"}, {"id": 2, "city": "Bonn"}]


@pytest.mark.parametrize("sql", ["DELETE FROM orders", "DROP TABLE orders", "ATTACH 'other.db' AS other"])
def test_nothing_is_written_whatever_statement_comes(driver: Driver, sql: str) -> None:
    with pytest.raises(SourceError), driver.run(sql, Limits(10, 1 << 20, 10)) as result:
        list(result.batches)
    with driver.run("SELECT count(*) AS n FROM orders", Limits(10, 1 << 20, 10)) as result:
        assert [batch.to_pylist() for batch in result.batches] == [[{"n": 2}]]


def test_a_result_over_a_cap_is_refused_whole(driver: Driver) -> None:
    with pytest.raises(LimitReached), driver.run("SELECT * FROM orders", Limits(1, 1 << 20, 10)) as result:
        list(result.batches)


def counted(count: int, value: str) -> str:
    """`count` rows of a value, in which n is the number of the row."""
    numbers = f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {count})"
    return f"{numbers} SELECT {value} AS a FROM c"


def test_a_fraction_behind_many_whole_numbers_is_not_cut_off(driver: Driver) -> None:
    sql = counted(600, "CASE WHEN n > 550 THEN 1.5 ELSE n END")
    with (
        pytest.raises(StatementFailed, match="column a does not fit"),
        driver.run(sql, Limits(1_000, 1 << 20, 10)) as result,
    ):
        list(result.batches)


@pytest.mark.parametrize("value", ["NULL, {wide}", "{wide}"], ids=["behind a null", "alone"])
def test_of_wide_rows_few_are_read_before_they_are_too_much(driver: Driver, value: str) -> None:
    made = []
    driver._connection.create_function("made", 0, lambda: made.append(1) or "x" * 500_000)  # type: ignore[attr-defined]
    sql = counted(400, value.format(wide="made()"))
    with pytest.raises(LimitReached, match="larger"), driver.run(sql, Limits(1_000, 1 << 20, 10)) as result:
        list(result.batches)
    assert len(made) <= 32
