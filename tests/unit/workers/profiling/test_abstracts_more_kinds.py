"""Spreadsheets that are no .xlsx, database files, statistics, PDF, pictures, nested JSON: said, and loaded as said.

Each file is written by another library than the one that reads it, where there is one. `files/` holds what LibreOffice
wrote.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyreadstat
import pytest
import xlwt
from fpdf import FPDF
from lines_that_load import loaded, sole
from PIL import Image

from core.steps import FileAbstract, FileProblem

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

FILES = Path(__file__).with_name("files")


def frames(abstract: FileAbstract) -> dict[str, pd.DataFrame]:
    """Each table as its own line loads it."""
    return {table.name: loaded(table.read or abstract.read_hint) for table in abstract.tables}


@pytest.mark.parametrize("kind", ["ods", "xls"])
def test_a_spreadsheet_of_libreoffice_is_described_by_sheet(describe: Describe, folder: Path, kind: str) -> None:
    shutil.copy(FILES / f"ledger.{kind}", folder / f"ledger.{kind}")
    abstract = sole(describe(f"ledger.{kind}"))
    assert abstract.format == kind
    assert [(table.name, table.rows) for table in abstract.tables] == [("Ledger", 12), ("Accounts", 2)]
    assert abstract.tables[0].above == ("Ledger of the north, in thousand EUR",)
    assert [column.name for column in abstract.tables[0].columns] == ["day", "account", "amount"]
    read = frames(abstract)
    assert read["Ledger"]["amount"].sum() == pytest.approx(498 - 10.5 * 48)
    assert read["Accounts"]["name"].tolist() == ["Rent of rooms", "Verkäufe"]


def test_a_sheet_of_a_library_for_old_excel_is_described(describe: Describe, folder: Path) -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Umsätze")
    for row, values in enumerate([("Kunde", "Betrag"), ("Ärzte AG", 12.5), ("Öl KG", -3)]):
        for column, value in enumerate(values):
            sheet.write(row, column, value)
    book.save(str(folder / "alt.xls"))
    abstract = sole(describe("alt.xls"))
    assert [table.name for table in abstract.tables] == ["Umsätze"]
    assert loaded(abstract.read_hint)["Betrag"].sum() == 9.5


def test_each_table_of_a_sqlite_file_has_its_line(describe: Describe, folder: Path) -> None:
    with sqlite3.connect(folder / "shop #1.db") as connection:
        connection.executescript(
            """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount REAL);
            INSERT INTO orders VALUES (1, 'Ana', 10), (2, 'Bo', 20.5), (3, NULL, 30);
            CREATE TABLE "odd ""name" (n INT); INSERT INTO "odd ""name" VALUES (7);
            CREATE VIEW big AS SELECT * FROM orders WHERE amount > 15;"""
        )
    connection.close()
    abstract = sole(describe("shop #1.db"))
    assert abstract.format == "sqlite"
    assert {table.name: table.rows for table in abstract.tables} == {"orders": 3, 'odd "name': 1, "big": 2}
    assert "own line" in abstract.note
    read = frames(abstract)
    assert (read["orders"]["amount"].sum(), read["big"]["amount"].sum(), read['odd "name']["n"].sum()) == (
        60.5,
        50.5,
        7,
    )


def test_a_long_table_of_a_database_says_how_many_rows_were_looked_at(describe: Describe, folder: Path) -> None:
    with sqlite3.connect(folder / "long.sqlite") as connection:
        connection.execute("CREATE TABLE t (n INT)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(500)])
    connection.close()
    abstract = sole(describe("long.sqlite", rows=100))
    assert (abstract.tables[0].rows, abstract.tables[0].sampled) == (500, True)
    assert "first 100 rows" in abstract.note
    assert len(loaded(abstract.read_hint)) == 500


def test_each_table_of_a_duckdb_file_has_its_line(describe: Describe, folder: Path) -> None:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE sales AS SELECT range AS id, range * 1.5 AS eur FROM range(10)")
        connection.execute("CREATE SCHEMA finance")
        connection.execute("CREATE TABLE finance.books AS SELECT 'rent' AS account, -5 AS amount")
    abstract = sole(describe("shop.duckdb"))
    assert abstract.format == "duckdb"
    read = frames(abstract)
    assert {name: len(frame) for name, frame in read.items()} == {"finance.books": 1, "sales": 10}
    assert float(read["sales"]["eur"].sum()) == 67.5


def test_a_stata_file_says_what_its_columns_and_codes_mean(describe: Describe, folder: Path) -> None:
    frame = pd.DataFrame({"wage": [10.5, 12.0], "region": pd.Categorical(["north", "south"])})
    frame.to_stata(folder / "pay.dta", write_index=False, variable_labels={"wage": "Wage per hour, EUR"})
    abstract = sole(describe("pay.dta"))
    assert abstract.format == "stata"
    assert "wage: Wage per hour, EUR" in abstract.text
    assert "0 = north" in abstract.text
    assert loaded(abstract.read_hint)["wage"].sum() == 22.5


def test_answers_that_a_survey_marks_as_missing_are_a_note(describe: Describe, folder: Path) -> None:
    frame = pd.DataFrame({"trust": [1.0, 2, 98, 99], "party": ["a", "b", "z", ""], "age": [30.0, 40, None, 99]})
    pyreadstat.write_sav(
        frame, str(folder / "poll.sav"), missing_ranges={"trust": [{"lo": 98, "hi": 99}], "party": ["z"]}
    )
    path = folder / "poll.dta"
    pd.DataFrame({"trust": [1.0, 2, None, 3], "age": [30.0, 40, 50, 60]}).to_stata(path, write_index=False)
    no_answer, refused = (struct.pack("<Q", bits) for bits in (0x7FE0_0000_0000_0000, 0x7FE0_0100_0000_0000))
    path.write_bytes(path.read_bytes().replace(no_answer, refused))  # "." becomes ".a", which pandas cannot write
    abstracts, problems = describe("poll.sav", "poll.dta")
    assert not problems
    spss, stata = (abstract.note for abstract in abstracts)
    assert "marks as missing are read as missing: trust (98, 99), party (z). user_missing=True keeps them" in spss
    assert "read as missing: trust (a)." in stata


def test_an_spss_and_a_sas_file_are_described(describe: Describe, folder: Path) -> None:
    frame = pd.DataFrame({"age": [30.0, 41.0, 52.0], "town": ["Kyiv", "Lviv", "Odesa"]})
    said: dict[str, Any] = {
        "column_labels": {"age": "Age in years"}, "variable_value_labels": {"age": {30.0: "thirty"}}
    }  # fmt: skip
    pyreadstat.write_sav(frame, str(folder / "poll.sav"), **said)
    pyreadstat.write_xport(frame, str(folder / "poll.xpt"), table_name="POLL")
    abstracts, problems = describe("poll.sav", "poll.xpt")
    assert not problems
    assert [abstract.format for abstract in abstracts] == ["spss", "sas"]
    assert abstracts[0].text == "age: Age in years (30 = thirty)"
    assert [loaded(abstract.read_hint).iloc[:, 0].sum() for abstract in abstracts] == [123, 123]


def a_pdf(path: Path, rows: list[tuple[str, ...]], pages: int = 1, **given: Any) -> None:
    document = FPDF()
    document.set_font("Helvetica", size=11)
    for number in range(pages):
        document.add_page()
        document.cell(text=f"Invoices of May, page {number + 1}", new_x="LMARGIN", new_y="NEXT")
        with document.table(**given) as table:
            for row in rows:
                table.row(row)
    document.output(str(path))


def test_pages_of_a_pdf_without_text_are_named(describe: Describe, folder: Path) -> None:
    document = FPDF()
    document.set_font("helvetica", size=10)
    for words in ("Cover", "", ""):
        document.add_page()
        document.cell(50, 6, words)
    document.output(str(folder / "scan.pdf"))
    assert "No text was found on 2 pages (2, 3)" in sole(describe("scan.pdf")).note


def test_a_pdf_shows_its_words_and_its_tables(describe: Describe, folder: Path) -> None:
    a_pdf(folder / "invoices.pdf", [("number", "amount"), ("A-1", "12.50"), ("A-2", "7.25")], pages=2)
    abstract = sole(describe("invoices.pdf"))
    assert abstract.format == "pdf"
    assert "Invoices of May, page 2" in abstract.text
    assert [table.name for table in abstract.tables] == ["page 1, table 1", "page 2, table 1"]
    assert "2 pages" in abstract.note
    read = frames(abstract)
    assert read["page 2, table 1"]["amount"].astype(float).sum() == 19.75
    assert "page 1" in loaded(abstract.read_hint)


@pytest.mark.parametrize("headings", [0, 1])
def test_a_table_that_goes_on_on_the_next_page_keeps_its_rows(describe: Describe, folder: Path, headings: int) -> None:
    rows = [("number", "amount"), *((f"A-{n}", f"{n}.50") for n in range(70))]
    a_pdf(folder / "long.pdf", rows, repeat_headings=headings)
    abstract = sole(describe("long.pdf"))
    assert len(abstract.tables) > 1
    whole = pd.concat(frames(abstract).values())
    assert list(whole.columns) == ["number", "amount"]
    assert whole["number"].tolist() == [f"A-{n}" for n in range(70)]
    assert sum(table.rows or 0 for table in abstract.tables) == 70


def test_only_the_first_pages_of_a_long_pdf_are_read(describe: Describe, folder: Path) -> None:
    a_pdf(folder / "long.pdf", [("n", "m"), ("1", "2")], pages=5)
    abstract = sole(describe("long.pdf", pages=2))
    assert len(abstract.tables) == 2
    assert "5 pages, the first 2" in abstract.note
    assert "more tables" not in abstract.note
    assert "3 more tables are not described" in sole(describe("long.pdf", sheets=2)).note


def test_a_pdf_with_a_password_is_said_so(describe: Describe, folder: Path) -> None:
    document = FPDF()
    document.set_encryption(owner_password="owner", user_password="secret")
    document.add_page()
    document.output(str(folder / "locked.pdf"))
    _, (problem,) = describe("locked.pdf")
    assert "password" in problem.why


@pytest.mark.parametrize(("name", "kind"), [("a.png", "PNG"), ("a.jpg", "JPEG"), ("a.gif", "GIF"), ("a.webp", "WEBP")])
def test_a_picture_is_described_by_its_kind_and_size(describe: Describe, folder: Path, name: str, kind: str) -> None:
    Image.new("RGB", (64, 48), "red").save(folder / name, kind)
    abstract = sole(describe(name))
    assert abstract.format == kind.lower()
    assert f"{kind}, 64 x 48 pixels" in abstract.text


ORDERS = {
    "meta": {"source": "shop"},
    "data": {
        "orders": [
            {"id": 1, "customer": {"name": "Ana", "address": {"town": "Lviv"}},
             "items": [{"sku": "a", "qty": 2}, {"sku": "b", "qty": 1}]},
            {"id": 2, "customer": {"name": "Bo", "address": {"town": "Kyiv"}}, "items": []},
            {"id": 3, "customer": {"name": "Cy", "address": {"town": "Kyiv"}}, "items": [{"sku": "a", "qty": 5}]},
        ],
        "towns": [{"town": "Lviv", "people": 717}, {"town": "Kyiv", "people": 2952}],
    },
}  # fmt: skip


def test_nested_json_is_a_table_for_each_list_named_by_its_path(describe: Describe, folder: Path) -> None:
    (folder / "shop.json").write_text(json.dumps(ORDERS))
    abstract = sole(describe("shop.json"))
    assert [table.name for table in abstract.tables] == ["data.orders", "data.orders[].items", "data.towns"]
    assert "customer.address.town" in [column.name for column in abstract.tables[0].columns]
    read = frames(abstract)
    assert read["data.orders"]["customer.address.town"].tolist() == ["Lviv", "Kyiv", "Kyiv"]
    items = read["data.orders[].items"]
    assert list(items.columns) == ["items.sku", "items.qty", "id"]
    assert (items["items.qty"].sum(), items["id"].tolist()) == (8, [1, 1, 3])
    assert read["data.towns"]["people"].sum() == 3669
