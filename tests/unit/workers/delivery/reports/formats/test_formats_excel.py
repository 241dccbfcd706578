"""Tables leave with numbers as numbers, dates as dates and text as text: no cell of data is ever a formula."""

from __future__ import annotations

import csv
import dataclasses
import io
from datetime import datetime
from typing import Any

import pytest
from format_cases import CELL, FULL, HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook
from report_cases import case

from core.steps import FigureSource, SourcePlace, TableData
from core.values import Language
from workers.delivery.reports.formats.excel import _sheet_name
from workers.delivery.reports.formats.prose import Grid
from workers.delivery.reports.formats.registry import files_in
from workers.delivery.reports.formats.tables import column_of, mark_of, tables_of, typed_grid


def book(**changes: object) -> Any:
    report = case(FULL.report, **({"cells": FULL.cells, "sources": FULL.sources} | changes))
    (file,) = files_in("excel", report)
    assert file.name == "tables.xlsx"
    return load_workbook(io.BytesIO(file.data))


def test_a_key_with_more_digits_than_excel_keeps_stays_whole() -> None:
    order, amount = 1_234_567_890_123_456_789, 10**400
    rows = ((order, amount, 7), (order + 1, 1, 8))
    keys = TableData(
        columns=("order", "amount", "units"), dtypes=("int64",) * 3, rows=rows, total_rows=2, total_columns=3
    )
    sheet = book(cells=(CELL.model_copy(update={"tables": (keys,)}),))["Sum by region"]
    assert [cell.value for cell in sheet[2]] == [str(order), str(amount), 7]


def test_each_table_has_a_sheet_beside_the_answer_and_its_sources() -> None:
    assert book().sheetnames == [
        "Answer",
        "Findings",
        "Sum by region",
        "Revenue by month",
        "Revenue by region",
        "Share",
        "Price and volume",
        "Cut",
        "Sources of the figures",
    ]


def test_the_name_of_a_sheet_is_as_short_as_excel_counts_it() -> None:
    names: set[str] = set()
    first, second = (_sheet_name("📈 Revenue by region and 📦 products", names) for _ in range(2))
    assert (first, second) == ("📈 Revenue by region and 📦 pro", "📈 Revenue by region and 📦 (2)")
    assert all(len(name.encode("utf-16-le")) <= 2 * 31 for name in names)
    assert _sheet_name("x" * 30 + "📈", names) == "x" * 30


def test_numbers_dates_percents_and_currencies_are_values_with_a_format() -> None:
    sheet = book()["Findings"]
    cells = {sheet.cell(1, column).value: sheet.cell(2, column) for column in range(1, 8)}
    assert {name: cell.value for name, cell in cells.items()} == {
        "Region": "North",
        "Revenue": 1_234_567,
        "Share": 0.617,
        "Growth": 0.035,
        "When": datetime(2024, 1, 1),
        "Price": 13_700,
        "Key": "007",
    }
    assert {name: cell.number_format for name, cell in cells.items()} == {
        "Region": "@",
        "Revenue": "#,##0",
        "Share": "0.0%",
        "Growth": "+0.0%;-0.0%;0.0%",
        "When": "yyyy-mm-dd",
        "Price": '"$"#,##0.0,"K"',
        "Key": "@",
    }
    assert sheet.freeze_panes == "A2"


def test_a_value_of_a_cell_keeps_its_kind_and_what_is_missing_is_said() -> None:
    sheet = book()["Sum by region"]
    values = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=1, max_row=3)]
    assert values[1:] == [
        ["North", datetime(2024, 1, 1), 1234.5, "=1+1", 2024],
        ["South", datetime(2024, 2, 1), -3.25, "@x", 2023],
    ]
    assert sheet["E2"].number_format == "0"  # a year has no thousands
    assert sheet["A5"].value == "Shown: the first 2 of 5,000 rows, 5 of 5 columns."


@pytest.mark.parametrize(
    ("values", "shown"),
    [((0.25, 0.5), "0.0000"), ((0.25, 0.0), "0.0000"), ((0.04, 1e-6), "General"), ((12.5, 1e-6), "#,##0.00")],
)
def test_a_small_number_is_not_shown_as_zero(values: tuple[float, ...], shown: str) -> None:
    assert column_of("p", values).format == shown


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("date", (2018, 2021), "0"),
        ("order_id", (7, 12), "0"),
        ("units", (2018, 2101), "#,##0"),
        ("units", (0, 12), "#,##0"),
    ],
)
def test_whole_numbers_that_can_be_years_are_shown_as_years(name: str, values: tuple[int, ...], shown: str) -> None:
    assert column_of(name, values).format == shown


def test_no_cell_is_a_formula() -> None:
    found = [cell for sheet in book().worksheets for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert [cell.coordinate for cell in found if cell.data_type == "f"] == []
    assert {cell.value for cell in found if str(cell.value).startswith("=")} >= {"=1+1", "=cmd|x"}


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_no_text_becomes_a_formula_or_breaks_the_file(texts: list[str]) -> None:
    table = HOSTILE.model_copy(
        update={"columns": tuple(texts), "rows": (tuple(texts), tuple("=" + text for text in texts))}
    )
    (file,) = files_in("excel", case("Done.", cells=(CELL.model_copy(update={"tables": (table,), "charts": ()}),)))
    sheets = load_workbook(io.BytesIO(file.data)).worksheets
    assert all(cell.data_type != "f" for sheet in sheets for row in sheet.iter_rows() for cell in row)


def test_a_report_without_a_table_has_no_spreadsheet() -> None:
    assert files_in("excel", case("42.")) == []
    assert files_in("csv", case("42.")) == []


@pytest.mark.parametrize(
    ("language", "texts", "values"),
    [
        ("en", ["1,234.5", "2"], (1234.5, 2)),
        ("de", ["1.234,5", "2"], (1234.5, 2)),
        ("fr", ["1 234,5", "2"], (1234.5, 2)),
        ("en", ["1.234,5", "2"], ("1.234,5", "2")),
        ("en", ["5 €", "6"], ("5 €", "6")),
        ("en", ["12345678901234567", "1"], ("12345678901234567", "1")),
        ("en", ["-5 %", "7 %"], (-0.05, 0.07)),
        ("en", ["3.2‰", "12.7‰"], (3.2, 12.7)),
        ("en", ["3", "n/a"], (3, None)),
        ("en", ["=1+1", "2"], ("=1+1", "2")),
    ],
)
def test_a_column_is_numbers_only_if_each_text_says_one(
    language: Language, texts: list[str], values: tuple[object, ...]
) -> None:
    grid = Grid((("n",), *((text,) for text in texts)))
    assert typed_grid("t", grid, mark_of("", language)).columns[0].values == values


@pytest.mark.parametrize(
    ("number", "values"), [(1234.0, (1234, 2500)), (1.234, (1.234, 2.5))], ids=["of thousands", "with decimals"]
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_point_in_a_language_of_nobody_is_read_by_what_the_output_shows(
    language: Language, number: float, values: tuple[float, ...]
) -> None:
    """Portuguese and Italian threads are kept in English: 1.234 EUR must not become 1 EUR and some cents."""
    place = SourcePlace(what="table", cell_id="c3", line=1, number=number)
    source = FigureSource(figure="1.234 EUR", state="sourced", places=(place,))
    report = "A receita.\n\n| Região | Receita |\n|---|---:|\n| Norte | 1.234 |\n| Sul | 2.500 |"
    table, *_ = tables_of(case(report, language=language, sources=(source,)))
    assert table.columns[1].values == values


@pytest.mark.parametrize(
    ("language", "said", "text", "value"),
    [
        ("en", "Il nord vende il 12,5 % del totale.", "1.234", 1234),
        ("en", "Nord: 1.234.567 euro.", "1.234", 1234),
        ("es", "El norte vende el 12.5 % del total.", "1,234", 1234),
        ("de", "Zusammen 2,221.50 und 1,2 Mio.", "1,234", 1234),
        ("de", "Nord ist um 10.30 Uhr vorn, mit 12,5 %.", "1,234", 1.234),
        ("en", "North sells 12.5 % of rows 1,2 and 3.", "1.234", 1.234),
        ("en", "North leads.", "1,234", 1234),
    ],
)
def test_the_numbers_of_a_report_say_how_its_tables_are_read(
    language: Language, said: str, text: str, value: float
) -> None:
    (table,) = tables_of(case(f"{said}\n\n| Region | Units |\n|---|---|\n| A | {text} |", language=language, cells=()))
    assert table.columns[1].values == (value,)


def test_per_mille_is_shown_as_it_was_written() -> None:
    column = typed_grid("t", Grid((("n",), ("3.2‰",), ("12.7‰",))), "point").columns[0]
    assert column.format == '0.0"‰"'


def test_csv_holds_the_tables_of_the_answer_and_those_of_its_cells_when_it_shows_none() -> None:
    bare = dataclasses.replace(FULL, report="Revenue grew.")
    assert [file.name for file in files_in("csv", FULL)] == ["findings.csv"]
    assert next(file.name for file in files_in("csv", bare)) == "sum-by-region.csv"


def test_csv_that_is_not_the_whole_table_says_so() -> None:
    bare = dataclasses.replace(FULL, report="Revenue grew.")
    first, *_ = files_in("csv", bare)
    assert first.note.startswith("sum-by-region.csv is not the whole table. Shown: the first 2 of 5,000 rows")
    assert [file.note for file in files_in("csv", FULL)] == [""]


def test_tables_that_are_among_no_csv_are_counted() -> None:
    many = dataclasses.replace(FULL, report="\n\n".join(f"## T{n}\n\n|a|\n|-|\n|{n}|" for n in range(12)))
    *_, last = files_in("csv", many)
    assert last.note.startswith("2 more tables are not among these files.")


def test_a_line_break_of_a_cell_is_a_blank() -> None:
    given = case("| a | b |\n|---|---|\n| North<br>South | `<br>` |")
    assert files_in("csv", given)[0].data.decode("utf-8-sig").splitlines()[1] == "North South,<br>"


def test_csv_holds_bare_values() -> None:
    files = {file.name: file.data.decode("utf-8-sig") for file in files_in("csv", FULL)}
    rows = list(csv.reader(io.StringIO(files["findings.csv"])))
    assert rows[1] == ["North", "1234567", "0.617", "0.035", "2024-01-01", "13700", "007"]
    assert rows[3][0] == '\'=HYPERLINK("http://x")'


@pytest.mark.parametrize(
    ("name", "texts", "value"),
    [
        ("size", ["512 B", "90 B"], "512 B"),
        ("file size", ["512B", "90B"], "512B"),
        ("users", ["1.2B", "0.9B"], 1_200_000_000),
        ("revenue", ["$1.2 B", "$0.9 B"], 1_200_000_000),
    ],
)
def test_bytes_are_no_billions(name: str, texts: list[str], value: object) -> None:
    (column,) = typed_grid("", Grid(((name,), *((text,) for text in texts))), "point").columns
    assert column.values[0] == value


def test_a_csv_file_names_the_currency_of_its_numbers() -> None:
    head = "| Region | Sales | Cost (€) | Share | Staff |\n|---|---|---|---|---|\n"
    row = "| North | $1,200.50 | 9 € | 14 % | 1.2k |"
    assert files_in("csv", case(f"Done.\n\n{head}{row}"))[0].data.decode("utf-8-sig").splitlines() == [
        "Region,Sales ($),Cost (€),Share,Staff",
        "North,1200.5,9,0.14,1200",
    ]


MARKED = "| Region | Sales |\n|---|---|\n| North | 1,200.50 EUR |\n| South | 700.25 EUR ⚠ |"


def test_a_figure_that_nothing_backs_keeps_its_sign_and_its_column_its_numbers() -> None:
    (file,) = files_in("excel", case(f"Done.\n\n{MARKED}"))
    (sheet,) = [each for each in load_workbook(io.BytesIO(file.data)).worksheets if each["A1"].value == "Region"]
    assert [(cell.value, "⚠" in cell.number_format) for cell in sheet["B"][1:3]] == [(1200.5, False), (700.25, True)]


def test_a_csv_file_keeps_the_sign_of_a_figure_that_nothing_backs() -> None:
    lines = files_in("csv", case(f"Done.\n\n{MARKED}"))[0].data.decode("utf-8-sig").splitlines()
    assert lines == ["Region,Sales (EUR)", "North,1200.5", "South,700.25 ⚠"]
