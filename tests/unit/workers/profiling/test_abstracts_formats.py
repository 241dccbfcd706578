"""Workbooks, JSON, Parquet, documents: what is said of each, and that its line of Python loads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from core.steps import FileAbstract, FileProblem

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

FRAME = pd.DataFrame({"region": ["North", "South", None], "amount": [1, 2, 3]})


def loaded(abstract: FileAbstract) -> Any:
    return eval(abstract.read_hint, {"pd": pd, "Path": Path, "json": json})


def test_every_sheet_of_a_workbook_is_described(describe: Describe, folder: Path) -> None:
    with pd.ExcelWriter(folder / "book.xlsx", engine="openpyxl") as book:
        FRAME.to_excel(book, sheet_name="One", index=False)
        FRAME.rename(columns={"amount": "金额"}).to_excel(book, sheet_name="二月", index=False)
        pd.DataFrame().to_excel(book, sheet_name="Empty")
    (abstract,), problems = describe("book.xlsx")
    assert not problems
    assert abstract.format == "xlsx"
    assert [(table.name, table.rows) for table in abstract.tables] == [("One", 3), ("二月", 3), ("Empty", 0)]
    assert abstract.tables[1].columns[1].name == "金额"
    assert "sheet_name" in abstract.note
    assert loaded(abstract)["amount"].sum() == 6


def test_a_title_above_a_sheet_s_table_does_not_hide_its_header(describe: Describe, folder: Path) -> None:
    with pd.ExcelWriter(folder / "book.xlsx", engine="openpyxl") as book:
        FRAME.to_excel(book, sheet_name="Report", index=False, startrow=3)
        book.sheets["Report"]["A1"] = "Sales of the year"
    (abstract,), _ = describe("book.xlsx")
    assert [column.name for column in abstract.tables[0].columns] == ["region", "amount"]
    assert list(loaded(abstract).columns) == ["region", "amount"]


def test_a_long_sheet_is_sampled_and_its_rows_are_known(describe: Describe, folder: Path) -> None:
    pd.DataFrame({"n": range(900)}).to_excel(folder / "book.xlsx", index=False)
    (abstract,), _ = describe("book.xlsx", rows=100)
    assert abstract.tables[0].sampled
    assert abstract.tables[0].rows == 900


@pytest.mark.parametrize("engine", ["openpyxl", "xlsxwriter"])
def test_rows_that_are_only_formatted_are_not_counted(describe: Describe, folder: Path, engine: str) -> None:
    with pd.ExcelWriter(folder / "book.xlsx", engine=engine) as writer:
        pd.DataFrame({"n": [1]}).to_excel(writer, sheet_name="A & B", index=False)
        pd.DataFrame({"n": range(900)}).to_excel(writer, sheet_name="Long", index=False)
    book = openpyxl.load_workbook(folder / "book.xlsx")
    for row in range(900, 5_000):
        book["Long"].cell(row=row, column=1).number_format = "0.00"
    book.save(folder / "book.xlsx")
    (abstract,), _ = describe("book.xlsx", rows=100)
    assert [(table.rows, table.sampled) for table in abstract.tables] == [(1, False), (900, True)]


def test_records_in_json_are_a_table(describe: Describe, folder: Path) -> None:
    records = [{"id": "001", "created_at": "2023-01-01", "n": 1}, {"id": "002", "created_at": "2023-01-02", "n": 2}]
    (folder / "data.json").write_text(json.dumps(records))
    (abstract,), _ = describe("data.json")
    assert abstract.tables[0].rows == 2
    assert loaded(abstract)["id"].tolist() == ["001", "002"]


def test_nested_records_under_a_key_are_flattened(describe: Describe, folder: Path) -> None:
    (folder / "data.json").write_text(
        json.dumps({"meta": {"v": 1}, "rows": [{"a": {"b": 1}, "c": [1]}, {"a": {"b": 2}}]})
    )
    (abstract,), _ = describe("data.json")
    assert {column.name for column in abstract.tables[0].columns} == {"a.b", "c"}
    assert loaded(abstract)["a.b"].tolist() == [1, 2]


def test_nested_records_at_the_top_are_flattened(describe: Describe, folder: Path) -> None:
    (folder / "data.json").write_text(json.dumps([{"a": {"b": 1}}, {"a": {"b": 2}}]))
    (abstract,), _ = describe("data.json")
    assert loaded(abstract)["a.b"].tolist() == [1, 2]


def test_other_json_is_shown_as_text(describe: Describe, folder: Path) -> None:
    (folder / "data.json").write_text('{"name": "x", "values": [1, 2]}')
    (abstract,), _ = describe("data.json")
    assert abstract.tables == ()
    assert abstract.text.startswith('{"name"')
    assert "name" in loaded(abstract)


def test_json_lines_are_a_table_whatever_the_extension(describe: Describe, folder: Path) -> None:
    lines = "".join(json.dumps({"id": n, "who": {"name": "é"}}) + "\n" for n in range(5))
    for name in ("data.jsonl", "data.json"):
        (folder / name).write_text(lines, encoding="utf-8")
        (abstract,), problems = describe(name)
        assert not problems
        assert abstract.format == "jsonl"
        assert abstract.tables[0].rows == 5
        assert loaded(abstract)["who.name"].tolist() == ["é"] * 5


@pytest.mark.parametrize(("big", "more"), [(1, ""), (2**66, ", parse_int")])
def test_a_few_lines_that_are_cut_are_skipped_and_counted(
    describe: Describe, folder: Path, big: int, more: str
) -> None:
    lines = [json.dumps({"id": n * big, "who": {"name": "é"}}) for n in range(40)]
    lines[3:3] = ['{"id": 3, "who"']
    lines.append('{"id": 99, "wh')
    (folder / "data.jsonl").write_text("\r\n".join(lines), encoding="utf-8", newline="")
    abstracts, problems = describe("data.jsonl")
    assert not problems
    (abstract,) = abstracts
    assert abstract.tables[0].rows == 40
    assert more in abstract.read_hint
    assert loaded(abstract)["who.name"].tolist() == ["é"] * 40
    assert "2 lines are cut and no JSON" in abstract.note


@pytest.mark.parametrize("line", ['{"id": 1, "a": "x" "y"}', '{"id": NaN}}'])
def test_a_line_that_is_whole_and_no_json_is_no_cut(describe: Describe, folder: Path, line: str) -> None:
    (folder / "data.jsonl").write_text("\n".join([*(json.dumps({"id": n}) for n in range(40)), line]))
    _, (problem,) = describe("data.jsonl")
    assert "1 of 41" in problem.why


def test_json_lines_end_at_line_ends_only(describe: Describe, folder: Path) -> None:
    records = [{"a": f"x{mark}y", "n": 1} for mark in "\u2028\u2029\x85"]
    text = "\r\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    (folder / "data.jsonl").write_text(text, encoding="utf-8", newline="")
    (abstract,), problems = describe("data.jsonl")
    assert not problems
    assert abstract.tables[0].rows == 3
    assert loaded(abstract)["a"].tolist() == [record["a"] for record in records]


def test_large_json_lines_are_sampled(describe: Describe, folder: Path) -> None:
    (folder / "data.jsonl").write_text("".join(json.dumps({"id": n}) + "\n" for n in range(20_000)))
    (abstract,), _ = describe("data.jsonl", whole=100_000, head=20_000)
    assert abstract.tables[0].sampled
    assert abstract.tables[0].rows == 20_000
    assert len(loaded(abstract)) == 20_000


def test_parquet_is_described_and_sampled_when_long(describe: Describe, folder: Path) -> None:
    pd.DataFrame({"n": range(3_000), "s": "x"}).to_parquet(folder / "data.parquet")
    (abstract,), _ = describe("data.parquet")
    assert (abstract.tables[0].rows, abstract.tables[0].sampled) == (3_000, False)
    (abstract,), _ = describe("data.parquet", rows=100, whole=1)
    assert (abstract.tables[0].rows, abstract.tables[0].sampled) == (3_000, True)
    assert len(loaded(abstract)) == 3_000


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet", "a.jsonl"])
def test_what_comes_from_the_first_rows_only_is_said_so(describe: Describe, folder: Path, name: str) -> None:
    frame = pd.DataFrame({"n": range(900), "day": pd.date_range("2024-01-01", periods=900)})
    if name == "a.xlsx":
        frame.to_excel(folder / name, index=False)
    elif name == "a.parquet":
        frame.to_parquet(folder / name)
    else:
        frame.to_json(folder / name, orient="records", lines=True, date_format="iso")
    (abstract,), _ = describe(name, rows=100, whole=1_000, head=10_000, block=1_000)
    assert abstract.tables[0].columns[0].spread[-1] in {"99", "100"}
    assert re.search("ranges, .* come from the first 10[01] rows", abstract.note)
    assert "spread over it" not in abstract.note
    (abstract,), _ = describe(name)
    assert "first" not in abstract.note


def test_documents_show_their_beginning(describe: Describe, folder: Path) -> None:
    (folder / "notes.md").write_text("# Titel\n\nGrüße " + "x" * 9_000, encoding="cp1252")
    (folder / "story.txt").write_text("Once upon a time, there was a table.\nIt had no columns, and no rows.\n" * 3)
    (markdown, text), problems = describe("notes.md", "story.txt")
    assert not problems
    assert (markdown.format, text.format) == ("md", "txt")
    assert markdown.text.startswith("# Titel\n\nGrüße")
    assert len(markdown.text) == 2_000
    assert "Grüße" in loaded(markdown)


def test_a_text_file_that_holds_a_table_is_a_table(describe: Describe, folder: Path) -> None:
    (folder / "export.txt").write_text("id\tname\n1\ta\n2\tb\n3\tc\n")
    (abstract,), _ = describe("export.txt")
    assert abstract.format == "tsv"
    assert len(loaded(abstract)) == 3


def test_html_shows_its_words_and_its_tables(describe: Describe, folder: Path) -> None:
    html = f"<html><head><script>evil()</script></head><body><h1>Umsätze</h1>{FRAME.to_html(index=False)}</body></html>"
    (folder / "page.html").write_text(html, encoding="utf-8")
    (abstract,), _ = describe("page.html")
    assert abstract.format == "html"
    assert "Umsätze" in abstract.text
    assert "evil" not in abstract.text
    assert abstract.tables[0].rows == 3
    assert loaded(abstract)["amount"].sum() == 6


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<html><head><meta charset='utf-8'></head><table><tr><th>region</th><th>units</th></tr>"
         b"<tr><td>North</td><td>120</td></tr><tr><td>South</td><td>100</td></tr></table></html>", "html"),
        (b"region\tunits\nNorth\t120\nSouth\t100\n", "tsv"),
        ("region\tunits\nNorth\t120\nSouth\t100\n".encode("utf-16"), "tsv"),
    ],
    ids=["a page", "lines", "Unicode text"],
)  # fmt: skip
def test_what_programs_save_under_the_name_of_a_workbook_is_read(
    describe: Describe, folder: Path, content: bytes, kind: str
) -> None:
    (folder / "report.xls").write_bytes(content)
    (abstract,), _ = describe("report.xls")
    assert abstract.format == kind
    assert loaded(abstract).to_dict("list") == {"region": ["North", "South"], "units": [120, 100]}


def test_a_newer_workbook_under_an_older_name_is_read(describe: Describe, folder: Path) -> None:
    pd.DataFrame({"region": ["North"], "units": [120]}).to_excel(folder / "new.xlsx", index=False)
    (folder / "new.xlsx").rename(folder / "old.xls")
    (abstract,), _ = describe("old.xls")
    assert loaded(abstract).to_dict("list") == {"region": ["North"], "units": [120]}


def test_html_without_tables_is_a_document(describe: Describe, folder: Path) -> None:
    (folder / "page.html").write_text("<p>Hello</p>")
    (abstract,), _ = describe("page.html")
    assert abstract.text == "Hello"
    assert loaded(abstract) == "<p>Hello</p>"


def test_the_words_of_a_page_without_line_ends_stay_apart(describe: Describe, folder: Path) -> None:
    (folder / "page.html").write_text(
        "<h1>Report</h1><p>For <b>us</b></p><table><tr><th>Name</th><th>Sum</th></tr>"
        "<tr><td>A</td><td>12</td></tr></table>"
    )
    (abstract,), _ = describe("page.html")
    assert abstract.text == "Report\nFor us\nName Sum\nA 12"


def test_a_workbook_that_would_unpack_to_too_much_is_not_opened(describe: Describe, folder: Path) -> None:
    FRAME.to_excel(folder / "book.xlsx", index=False)
    _, (problem,) = describe("book.xlsx", unpacked=1_000)
    assert "unpacked" in problem.why
