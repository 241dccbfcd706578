"""Drafts and drift: what a database tells is written for review, and nothing that people wrote is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table
from workers.sources.knowledge.draft import complete_table, draft_table, file_name
from workers.sources.knowledge.drift import drifts
from workers.sources.knowledge.entries import ColumnEntry, Dictionary, Fault, Metric, TableEntry
from workers.sources.knowledge.samples import BIG, ColumnSample, column_sample, sample_sql
from workers.sources.knowledge.table_pages import read_table
from workers.sources.values import Kind, TableName


def test_a_drafted_file_holds_what_the_database_tells(catalogue: Catalogue, golden: Callable[[str, str], None]) -> None:
    samples = [ColumnSample("region", values=("NORTH", "SOUTH")), ColumnSample("id", "1", "999")]
    drafted = draft_table(catalogue, catalogue.tables[0], samples)
    golden("drafted.md", drafted.text)
    assert drafted.file == "cust_mst.md"
    entry = read_table(drafted.file, drafted.text)
    assert [column.name for column in entry.columns] == ["id", "region"]


def test_the_ids_of_a_sample_are_not_given_as_the_range_of_all(catalogue: Catalogue) -> None:
    table = replace(
        catalogue.tables[1],
        columns=(*catalogue.tables[1].columns, *(Column(each, "int") for each in ("ShopId", "plan", "bid"))),
        foreign_keys=(
            *catalogue.tables[1].foreign_keys,
            ForeignKey(("plan",), TableName("public", "plans"), ("code",)),
        ),
    )
    samples = [ColumnSample(each, "1", "1117") for each in ("id", "cust_id", "ShopId", "net_amt", "bid")]
    drafted = draft_table(catalogue, table, [*samples, ColumnSample("plan", values=("basic", "plus"))])
    ranges = {column.name: column.range for column in read_table(drafted.file, drafted.text).columns if column.range}
    assert ranges == {"net_amt": "1 … 1117", "plan": "basic, plus", "bid": "1 … 1117"}


@pytest.mark.parametrize("comment", ["# big", "```sql", "> said", "- one", "| a | b |", "---", "<!-- x", "~~~"])
def test_a_comment_cannot_break_the_file_that_is_drafted_from_it(catalogue: Catalogue, comment: str) -> None:
    table = replace(catalogue.tables[1], comment=comment)
    drafted = draft_table(catalogue, table, [])
    assert len(read_table("x.md", drafted.text).columns) == len(table.columns)


def test_an_edited_file_only_grows(catalogue: Catalogue) -> None:
    table = catalogue.tables[0]
    text = (
        "---\ntable: cust_mst\ntrust: high\n---\nOurs.\n\n| meaning | column |\n|-|-|\n| the key | ID |\n\nKeep me.\n"
    )
    entry = read_table("c.md", text)
    drafted = complete_table("c.md", text, entry, table, [ColumnSample("region", values=("NORTH",))])
    assert drafted is not None
    assert drafted.added == ("region",)
    assert drafted.text == text.replace("| ID |\n", "| ID |\n| where they live | region |\n")
    assert complete_table("c.md", drafted.text, read_table("c.md", drafted.text), table, []) is None


@pytest.mark.parametrize(
    ("table", "file"),
    [("orders", "orders.md"), ("a b.c/d", "a_b.c_d.md"), ("../../etc", "_.._etc.md"), ("订单", "订单.md")],
)
def test_a_file_is_named_after_its_table_and_stays_in_its_folder(table: str, file: str) -> None:
    assert file_name(table) == file


def test_a_dictionary_that_agrees_has_no_drift(catalogue: Catalogue) -> None:
    tables = tuple(
        TableEntry(table.name.name.upper(), columns=tuple(ColumnEntry(column.name) for column in table.columns))
        for table in catalogue.tables
    )
    metric = Metric("m", "count(*)", table="orders")
    assert drifts(catalogue, Dictionary(tables, (metric,)), "postgres") == []


def test_each_kind_of_drift_is_named(catalogue: Catalogue) -> None:
    dictionary = Dictionary(
        (
            TableEntry(
                "orders",
                columns=(
                    ColumnEntry("id", "bigint"),
                    ColumnEntry("cust_id", "INTEGER"),
                    ColumnEntry("net_amt", "text"),
                    ColumnEntry("placed", "time"),
                    ColumnEntry("gone"),
                ),
            ),
            TableEntry("public.old"),
        ),
        (Metric("m", "sum(x) FROM nothing"), Metric("n", "DELETE FROM orders")),
        (Fault("x.md", 3, "is odd"),),
        {"public.old": "old.md"},
    )
    grown = replace(catalogue, tables=(*catalogue.tables, Table(TableName("public", "a"), (Column("x", "int"),))))
    assert [str(each).partition(". ")[0] for each in drifts(grown, dictionary, "postgres")] == [
        "unreadable: x.md:3: is odd",
        "table is gone: public.old: old.md describes it",
        "new table: cust_mst: no file describes it; `threadbook dictionary draft` writes one",
        "column is gone: orders.gone: the table has no such column",
        "type changed: orders.id: bigint → integer",
        "type changed: orders.net_amt: text → numeric(10,2)",
        "new table: a: no file describes it; `threadbook dictionary draft` writes one",
        "metric refused: m: The statement cannot be read as postgres SQL (line 1, at 'FROM')",
        "metric refused: n: DELETE is refused",
    ]


def test_a_big_table_is_sampled_by_pages_in_postgres_and_by_its_first_rows_elsewhere(catalogue: Catalogue) -> None:
    big = catalogue.tables[1]
    assert sample_sql(Kind.POSTGRES, big, ['a"b']) == (
        'SELECT "a""b" FROM "public"."orders" TABLESAMPLE SYSTEM (0.250) LIMIT 1000'
    )
    assert "TABLESAMPLE" not in sample_sql(Kind.POSTGRES, replace(big, is_view=True), ["a"])
    assert "TABLESAMPLE" not in sample_sql(Kind.POSTGRES, replace(big, rows=BIG), ["a"])
    assert sample_sql(Kind.MYSQL, big, ["a`b"]) == "SELECT `a``b` FROM `public`.`orders` LIMIT 1000"


@pytest.mark.parametrize(
    ("values", "range_"),
    [
        ([3, 1, None], "1 … 3"),
        ([1.5, 1_000_000.25], "1.5 … 1e+06"),
        (["b", "a", "a", "b"], "a, b"),
        (["Ada", "Ben"], ""),
        (["x, y", "x, y", "z", "z"], ""),
        ([True, False, True], "false, true"),
        (["long " * 20] * 4, ""),
        ([None, None], ""),
        ([b"x"], ""),
    ],
)
def test_a_sample_lists_texts_that_repeat_and_the_ends_of_numbers(values: list[object], range_: str) -> None:
    assert column_sample("c", pa.chunked_array([pa.array(values)])).range == range_


def test_some_rows_say_nothing_of_the_first_and_the_last_time_of_a_table() -> None:
    days = pa.chunked_array([pa.array([date(2026, 7, 1), date(2026, 8, 31)])])
    assert column_sample("day", days, whole=False).range == ""
    assert column_sample("day", days).range == "2026-07-01 … 2026-08-31"
