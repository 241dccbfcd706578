"""Files of a folder behind their driver: values arrive as they are written, also where the first rows differ."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from core.settings import Settings
from core.team_settings import SourceSettings
from workers.sources.broker.broker import Broker, Job
from workers.sources.broker.requests import Ask, Request
from workers.sources.drivers.base import Driver
from workers.sources.errors import LookAgain
from workers.sources.opening import named_source, open_source
from workers.sources.values import Limits, Source

LIMITS = Limits(100_000, 64 << 20, 60)
FIRST = 30_000
"""More rows of CSV than DuckDB looks at for the types."""


def source(folder: Path) -> Source:
    return named_source("web", SourceSettings(url_env="X"), SecretStr(f"folder:///{folder}"))


def rows(driver: Driver, sql: str) -> list[dict[str, object]]:
    with driver.run(sql, LIMITS) as result:
        return [row for batch in result.batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("first", "second", "sql", "found"),
    [
        ("1 AS x", "1.5::double AS x", "sum(x)", 2.5),
        ("1::float AS x", "16777217::double AS x", "max(x)", 16777217.0),
        ("date '2024-01-01' AS x", "timestamp '2024-01-01 10:00' AS x", "max(hour(x))", 10),
        ("1 AS x", "2 AS x, 3 AS y", "sum(y)", 3),
        ("1 AS x, 10 AS y", "20 AS y, 2 AS x", "sum(x)", 3),
    ],
)
def test_parquet_files_of_other_types_and_columns_are_read_whole(
    tmp_path: Path, first: str, second: str, sql: str, found: object
) -> None:
    (tmp_path / "days").mkdir()
    with closing(duckdb.connect(":memory:")) as made:
        for name, columns in (("a", first), ("b", second)):
            made.execute(f"COPY (SELECT {columns}) TO '{tmp_path}/days/{name}.parquet'")
    with closing(open_source(source(tmp_path))) as driver:
        assert rows(driver, f"SELECT {sql} AS v FROM days") == [{"v": found}]


@pytest.mark.parametrize(("late", "kind", "found"), [("0.15", "DOUBLE", "0.15"), ("unknown", "VARCHAR", "unknown")])
def test_a_late_value_that_is_no_whole_number_is_not_rounded(tmp_path: Path, late: str, kind: str, found: str) -> None:
    written = "\n".join(["id,rate", *(f"{at},0" for at in range(FIRST)), f"{FIRST},{late}"])
    (tmp_path / "rates.csv").write_text(written)
    sql = f"SELECT typeof(rate) AS kind, rate::text AS rate FROM rates WHERE id = {FIRST}"
    with closing(open_source(source(tmp_path))) as driver:
        assert rows(driver, "SELECT sum(id) AS n FROM rates") == [{"n": sum(range(FIRST + 1))}]
        with pytest.raises(LookAgain, match="send the statement again"):
            rows(driver, sql)
    with closing(open_source(source(tmp_path))) as driver:
        assert rows(driver, sql) == [{"kind": kind, "rate": found}]


def test_the_broker_looks_again_by_itself(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "rates.csv").write_text("\n".join(["rate", *["0"] * FIRST, "1.5"]))
    settings = Settings(home=tmp_path, sources={"web": SourceSettings(url_env="X")})
    broker = Broker(settings, {"X": f"folder:///{files}"})
    ask = Ask(ask="rows", source="web", sql="SELECT rate FROM rates WHERE rate > 0")
    try:
        answered, descriptor = broker.answer(Request(ask=ask, seconds=60, bytes=1 << 20), Job())
        assert answered.rows == 1
        assert descriptor is not None
        with open(descriptor, "rb") as file:
            assert b"\x00\x00\x00\x00\x00\x00\xf8\x3f" in file.read(), "1.5 as a double"
    finally:
        broker.close()


def test_whole_numbers_of_csv_stay_whole_under_any_name(tmp_path: Path) -> None:
    header = '''id,"a ""b""",it's,"x, y",é'''
    (tmp_path / "odd.csv").write_text(f"{header}\n9007199254740993, 5 ,7,,-1\n1,2,3,,5\n")
    with closing(open_source(source(tmp_path))) as driver:
        first, _ = rows(driver, "SELECT * FROM odd ORDER BY id DESC")
        assert first == {"id": 2**53 + 1, 'a "b"': 5, "it's": 7, "x, y": None, "é": -1}
        assert [column.type for column in driver.columns(driver.visible().tables[0])][:3] == ["BIGINT"] * 3


def test_files_that_do_not_fit_together_leave_the_other_tables(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "days" / "b.csv").write_text("u,v\n1,2\n")
    (tmp_path / "good.csv").write_text("x\n1\n")
    with closing(open_source(source(tmp_path))) as driver:
        assert rows(driver, "SELECT x FROM good") == [{"x": 1}]
        with pytest.raises(Exception, match="Schema mismatch"):
            rows(driver, "SELECT * FROM days")
