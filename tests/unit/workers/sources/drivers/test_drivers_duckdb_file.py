"""A DuckDB file behind its driver: several threads may ask it at once."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pydantic import SecretStr

from core.team_settings import SourceSettings
from workers.sources.drivers.base import Driver
from workers.sources.errors import SourceError, StatementFailed
from workers.sources.opening import named_source, open_source
from workers.sources.values import Limits

LIMITS = Limits(10, 1 << 20, 10)


def test_a_file_is_opened_again_while_it_is_open_and_stays_locked(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as made:
        made.execute("CREATE TABLE orders AS SELECT 1 AS id")
    source = named_source("shop", SourceSettings(url_env="SHOP_URL"), SecretStr(f"duckdb:///{file}"))

    def rows(driver: Driver, sql: str) -> list[dict[str, object]]:
        with driver.run(sql, LIMITS) as result:
            return [row for batch in result.batches for row in batch.to_pylist()]

    with closing(open_source(source)) as one, closing(open_source(source)) as other:
        for driver in (one, other, one):
            assert rows(driver, "SELECT id FROM orders") == [{"id": 1}]
            with pytest.raises(SourceError):
                rows(driver, f"SELECT * FROM read_text('{__file__}')")


def test_a_day_begins_at_midnight_in_utc_whatever_the_time_zone_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as made:
        made.execute("CREATE TABLE orders AS SELECT timestamptz '2024-02-29 23:30:00+00' AS moment")
    source = named_source("shop", SourceSettings(url_env="SHOP_URL"), SecretStr(f"duckdb:///{file}"))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with closing(open_source(source)) as one, closing(open_source(source)) as other:
            for driver in (one, other):
                with driver.run("SELECT CAST(moment AS date)::text AS day, moment FROM orders", LIMITS) as result:
                    (row,) = [row for batch in result.batches for row in batch.to_pylist()]
                assert (row["day"], row["moment"].isoformat()) == ("2024-02-29", "2024-02-29T23:30:00+00:00")
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "value",
    ["'infinity'::date", "'-infinity'::timestamp", "'infinity'::timestamptz", "'infinity'::timestamp_s",
     "['infinity'::date]", "{'a': '-infinity'::date}"],
)  # fmt: skip
def test_an_infinite_date_is_refused_with_the_columns_name(tmp_path: Path, value: str) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as made:
        made.execute(f"CREATE TABLE orders AS SELECT {value} AS until UNION ALL SELECT NULL")
    source = named_source("shop", SourceSettings(url_env="SHOP_URL"), SecretStr(f"duckdb:///{file}"))
    with closing(open_source(source)) as driver:
        with (
            pytest.raises(StatementFailed, match="column until holds infinity"),
            driver.run("SELECT until FROM orders", LIMITS) as result,
        ):
            list(result.batches)
        with driver.run("SELECT CAST(until AS text) AS until FROM orders", LIMITS) as result:
            assert any("infinity" in str(row["until"]) for batch in result.batches for row in batch.to_pylist())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'340282366920938463463374607431768211455'::uhugeint", "340282366920938463463374607431768211455"),
        ("'10:00:00+02'::timetz", "10:00:00+02"),
        ("'101'::bit", "101"),
        ("'12345678901234567890123456789012345678901'::bignum", "12345678901234567890123456789012345678901"),
        ("['101'::bit]", "[101]"),
        ("{'at': '10:00:00+02'::timetz}", "{'at': '10:00:00+02'}"),
    ],
)
def test_a_value_without_a_counterpart_comes_as_duckdb_writes_it(tmp_path: Path, value: str, text: str) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as made:
        made.execute(f"CREATE TABLE orders AS SELECT range AS id, {value} AS odd FROM range(3)")
    source = named_source("shop", SourceSettings(url_env="SHOP_URL"), SecretStr(f"duckdb:///{file}"))
    with (
        closing(open_source(source)) as driver,
        driver.run("SELECT id, odd, id FROM orders ORDER BY id DESC", LIMITS) as result,
    ):
        found = pa.Table.from_batches(result.batches, result.schema)
    assert found.column_names == ["id", "odd", "id"]
    assert found.column(0).to_pylist() == [2, 1, 0]
    assert found.column(1).to_pylist() == [text] * 3


def test_a_time_of_24_00_is_refused_with_the_columns_name(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as made:
        made.execute("CREATE TABLE orders AS SELECT time '24:00:00' AS until UNION ALL SELECT time '10:00:00'")
    source = named_source("shop", SourceSettings(url_env="SHOP_URL"), SecretStr(f"duckdb:///{file}"))
    with closing(open_source(source)) as driver:
        with (
            pytest.raises(StatementFailed, match="column until holds 24:00"),
            driver.run("SELECT until FROM orders", LIMITS) as result,
        ):
            list(result.batches)
        with driver.run("SELECT CAST(until AS text) AS until FROM orders", LIMITS) as result:
            assert [row["until"] for batch in result.batches for row in batch.to_pylist()] == ["24:00:00", "10:00:00"]
