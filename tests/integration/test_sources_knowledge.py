"""What real databases tell of their tables: catalogues, samples, drafts and drift, and the telco metric."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sources_world
from sources_world import World

from core.settings import load_settings
from tryout.commands.dictionary import run_check, run_draft
from workers.sources.catalogue import Catalogue, Table
from workers.sources.knowledge.folder import read_folder
from workers.sources.knowledge.samples import sampled
from workers.sources.knowledge.schema_text import Schema
from workers.sources.knowledge.table_pages import read_table
from workers.sources.opening import open_source
from workers.sources.query import catalogue_of, result_of
from workers.sources.values import TableName

pytestmark = pytest.mark.integration
EXTRA = {
    "postgres": (
        "CREATE TABLE lines (line_id int PRIMARY KEY, customer int REFERENCES customers (id), status varchar(9))",
        "INSERT INTO lines SELECT n, 1 + n % 2, CASE n % 2 WHEN 0 THEN 'OPEN' ELSE 'DONE' END"
        " FROM generate_series(1, 60000) n",
        "COMMENT ON TABLE lines IS 'one row per line'",
        "COMMENT ON COLUMN lines.status IS 'where it stands'",
        "CREATE VIEW open_lines AS SELECT * FROM lines WHERE status = 'OPEN'",
        "CREATE TABLE days (at date) PARTITION BY RANGE (at)",
        "CREATE TABLE days_2024 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
        "GRANT SELECT ON lines, open_lines, days_2024 TO {reader}",
        "ANALYZE lines",
    ),
    "mysql": (
        "CREATE TABLE `lines` (line_id int PRIMARY KEY, customer int, status varchar(9) COMMENT 'where it stands',"
        " FOREIGN KEY (customer) REFERENCES customers (id)) COMMENT 'one row per line'",
        "INSERT INTO `lines` SELECT seq, 1 + seq % 2, IF(seq % 2, 'DONE', 'OPEN') FROM seq_1_to_60000",
        "CREATE VIEW open_lines AS SELECT * FROM `lines` WHERE status = 'OPEN'",
        "ANALYZE TABLE `lines`",
    ),
}


@pytest.fixture(scope="module", params=sorted(EXTRA))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = {
        "postgres": lambda: sources_world.postgres(request.getfixturevalue("postgres_address")),
        "mysql": sources_world.mariadb,
    }[request.param]
    with made() as world:
        reader = world.reader.partition("://")[2].partition(":")[0]
        for each in EXTRA[request.param]:
            execute(world, each.format(reader=reader))
        yield world


def execute(world: World, sql: str) -> None:
    if world.kind == "postgres":
        world.admin.execute(sql)
        return
    with world.admin.cursor() as cursor:
        cursor.execute(sql)
        cursor.fetchall()


def catalogue(world: World) -> Catalogue:
    source = world.source()
    with closing(open_source(source)) as driver:
        return catalogue_of(source, driver)


def lines_of(found: Catalogue) -> Table:
    return next(table for table in found.tables if table.name.name == "lines")


def test_the_catalogue_tells_comments_keys_and_estimates_of_what_may_be_read(world: World) -> None:
    found = catalogue(world)
    assert [table.name.name for table in found.tables] == sorted(
        ["Odd Name", "customers", "lines", "open_lines", "orders"], key=str
    )
    lines = lines_of(found)
    assert lines.comment == "one row per line"
    assert [(column.name, column.comment, column.key) for column in lines.columns] == [
        ("line_id", "", True),
        ("customer", "", False),
        ("status", "where it stands", False),
    ]
    assert lines.rows is not None
    assert 50_000 < lines.rows < 70_000
    (key,) = lines.foreign_keys
    assert (key.columns, key.to, key.to_columns) == (("customer",), TableName(lines.name.schema, "customers"), ("id",))
    view = next(table for table in found.tables if table.name.name == "open_lines")
    assert (view.is_view, view.rows, len(view.columns)) == (True, None, 3)


def test_a_key_to_a_table_that_may_not_be_read_is_not_told(world: World) -> None:
    source = world.source(tables_denied=("customers",))
    with closing(open_source(source)) as driver:
        lines = lines_of(catalogue_of(source, driver))
    assert lines.foreign_keys == ()


def test_samples_are_small_and_go_through_the_guard(world: World) -> None:
    source = world.source()
    with closing(open_source(source)) as driver:
        sampled_tables = list(sampled(source, driver, catalogue_of(source, driver)))
    found = {name.name: samples for name, samples in sampled_tables}
    ranges = {sample.name: sample.range for sample in found["lines"]}
    assert ranges["status"] == "DONE, OPEN"
    assert ranges["customer"] == "1 … 2"
    low, _, high = ranges["line_id"].partition(" … ")
    assert 1 <= int(low) < int(high) <= 60_000
    assert len(found["open_lines"]) == 3
    values = {
        (table.name, each.name): each.values for table, listed in sampled_tables for each in listed if each.values
    }
    assert values == {("lines", "status"): ("DONE", "OPEN"), ("open_lines", "status"): ("OPEN",)}


def test_a_small_table_is_read_to_its_last_row_and_a_part_of_a_view_gives_no_times(world: World) -> None:
    reader = world.reader.partition("://")[2].partition(":")[0]
    made = {
        "postgres": (
            "CREATE TABLE visits AS SELECT date '2024-01-01' + n AS day, n FROM generate_series(0, 2999) n",
            f"CREATE VIEW all_visits AS SELECT * FROM visits; GRANT SELECT ON visits, all_visits TO {reader}",
            "ANALYZE visits",
        ),
        "mysql": (
            "CREATE TABLE visits AS SELECT DATE('2024-01-01') + INTERVAL seq DAY AS day, seq AS n FROM seq_0_to_2999",
            "CREATE VIEW all_visits AS SELECT * FROM visits",
            "ANALYZE TABLE visits",
        ),
    }
    try:
        for each in made[world.kind]:
            execute(world, each)
        source = world.source()
        with closing(open_source(source)) as driver:
            found = {name.name: samples for name, samples in sampled(source, driver, catalogue_of(source, driver))}
    finally:
        execute(world, "DROP VIEW IF EXISTS all_visits")
        execute(world, "DROP TABLE IF EXISTS visits")
    assert {each.name: each.range for each in found["visits"]} == {"day": "2024-01-01 … 2032-03-18", "n": "0 … 2999"}
    assert {each.name: each.range for each in found["all_visits"]}["day"] == ""


def test_a_dictionary_is_drafted_grows_and_finds_drift(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "threadbook.toml").write_text(
        '[sources.shop]\nurl_env = "SHOP_URL"\ndictionary = "words"\ntables_denied = ["salaries"]\n'
    )
    monkeypatch.setenv("SHOP_URL", world.reader)
    settings = load_settings(cwd=tmp_path)
    words = tmp_path / "words"
    assert run_draft(settings, "shop", None) == 0
    assert sorted(path.name for path in words.iterdir()) == [
        *("Odd_Name.md", "customers.md", "lines.md", "open_lines.md", "orders.md"),
    ]
    assert run_check(settings, "shop", None) == 0
    status = read_table("lines.md", (words / "lines.md").read_text()).column("status")
    assert status is not None
    assert (status.meaning, status.values) == ("where it stands", ("DONE", "OPEN"))
    edited = (words / "lines.md").read_text().replace("where it stands", "OPEN until it is sent")
    (words / "lines.md").write_text(edited)
    execute(world, "ALTER TABLE orders ADD COLUMN note varchar(10)")
    try:
        capsys.readouterr()
        assert run_check(settings, "shop", None) == 1
        assert "new column: orders.note" in capsys.readouterr().out
        assert run_draft(settings, "shop", None) == 0
        assert run_check(settings, "shop", None) == 0
    finally:
        execute(world, "ALTER TABLE orders DROP COLUMN note")
    assert (words / "lines.md").read_text() == edited
    schema = Schema(catalogue(world), read_folder(words))
    found = schema.for_question("How many lines are open?")
    assert "OPEN until it is sent" in found.text
    assert "holds 'OPEN'" in found.text


def test_the_telco_dictionary_agrees_with_its_tables_and_the_metric_runs(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = examples / "telco" / "dictionary"
    (tmp_path / "threadbook.toml").write_text(f'[sources.telco]\nurl_env = "TELCO_URL"\ndictionary = "{folder}"\n')
    monkeypatch.setenv("TELCO_URL", f"folder:///{examples / 'telco'}")
    settings = load_settings(cwd=tmp_path)
    assert run_check(settings, "telco", None) == 0, capsys.readouterr().out
    (metric,) = read_folder(folder).metrics
    source = sources_world.World("folder", f"folder:///{examples / 'telco'}", str).source()
    with closing(open_source(source)) as driver, result_of(source, driver, metric.statement) as result:
        rows: list[dict[str, Any]] = pa.Table.from_batches(result.batches, result.schema).to_pylist()
    assert 0.2 < rows[0]["value"] < 0.4
