"""What a reader of the file sees, the profile says: blanks, levels, ranges, lines above, totals, hidden things."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
import xlwt
from lines_that_load import save_sheet
from openpyxl.comments import Comment

from core.steps import FileAbstract, FileProblem, TableNote

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]


def only_table(describe: Describe, name: str, **bounds: int) -> TableNote:
    (abstract,), problems = describe(name, **bounds)
    assert not problems
    (table,) = abstract.tables
    return table


def test_names_and_values_keep_their_blanks(describe: Describe, folder: Path) -> None:
    (folder / "wind.csv").write_text("region, WINDSPEED,a  b\n North,1,x\n North,2,y\nSouth,3,z\n")
    table = only_table(describe, "wind.csv")
    frame = pd.read_csv("wind.csv")
    assert [column.name for column in table.columns] == list(frame.columns) == ["region", " WINDSPEED", "a  b"]
    assert {level.value: level.rows for level in table.columns[0].levels} == {" North": 2, "South": 1}
    assert table.head.splitlines()[:2] == ["region | ' WINDSPEED' | 'a  b'", "' North' | 1 | x"]


def test_a_column_of_words_lists_all_of_its_levels_with_their_rows(describe: Describe, folder: Path) -> None:
    kinds = [f"kind {n}" for n in range(15) for _ in range(n + 1)]
    pd.DataFrame({"kind": kinds, "sure": [True] * 20 + [False] * 100, "free": [f"t{n}" for n in range(120)]}).to_csv(
        folder / "kinds.csv", index=False
    )
    kind, sure, free = only_table(describe, "kinds.csv").columns
    assert [(level.value, level.rows) for level in kind.levels[:2]] == [("kind 14", 15), ("kind 13", 14)]
    assert len(kind.levels) == 15
    assert [(level.value, level.rows) for level in sure.levels] == [("False", 100), ("True", 20)]
    assert free.levels == ()


def test_numbers_have_a_range_and_dates_a_first_and_a_last(describe: Describe, folder: Path) -> None:
    days = pd.date_range("2024-01-01", periods=5)
    pd.DataFrame({"n": [1, 2, 3, 4, 1_234_567], "x": [0.5, None, 1.5, 2.5, 3.5], "day": days}).to_parquet(
        folder / "a.parquet"
    )
    n, x, day = only_table(describe, "a.parquet").columns
    assert n.spread == ("1", "2", "3", "4", "1234567")
    assert x.spread == ("0.5", "1.25", "2", "2.75", "3.5")
    assert [value[:10] for value in day.spread] == ["2024-01-01", "2024-01-05"]


def test_values_without_an_order_have_no_range(describe: Describe, folder: Path) -> None:
    (folder / "a.json").write_text('[{"a": [1], "b": {"c": null}}, {"a": [2], "b": {"c": null}}]')
    table = only_table(describe, "a.json")
    assert [(column.spread, column.levels) for column in table.columns] == [((), ()), ((), ())]


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (["01/02/2024", "05/02/2024", "12/03/2024"], "day or month first, nothing tells which"),
        (["01/02/2024", "05/02/2024 10:30", "13/03/2024"], "day first"),
        (["1-2-24", "2-28-24", "3-1-24"], "month first"),
        (["01.02.2024", "13.02.2024", "02.13.2024"], "some day first, some month first"),
        (["24/01/02", "23/11/05", "22/10/04"], ""),
        (["2024-01-02", "2024-01-03", "2024-13-04"], ""),
        (["01/02/2024", "x", "y"], ""),
        (["32/01/2024", "01/45/2024", "13/13/2024"], ""),
    ],
)
def test_dates_that_are_text_say_whether_the_day_is_first(
    describe: Describe, folder: Path, days: list[str], said: str
) -> None:
    pd.DataFrame({"day": days, "v": [1, 2, 3]}).to_csv(folder / "d.csv", index=False)
    assert [column.dates for column in only_table(describe, "d.csv").columns] == [said, ""]
    pd.DataFrame({"day": days, "v": [1, 2, 3]}).to_excel(folder / "d.xlsx", index=False)
    assert only_table(describe, "d.xlsx").columns[0].dates == said


def test_dates_that_a_spreadsheet_understood_in_part_are_said_to_be_so(describe: Describe, folder: Path) -> None:
    days = [datetime(2024, 4, 3), "13/03/2024", datetime(2024, 5, 3), "14/03/2024"]
    pd.DataFrame({"day": days, "v": [1, 2, 3, 4]}).to_excel(folder / "d.xlsx", index=False)
    said = only_table(describe, "d.xlsx").columns[0].dates
    assert said == "some are text (day first), some dates whose day and month may be swapped"
    pd.DataFrame({"day": [*days[::2], "01/02/2024"]}).to_excel(folder / "d.xlsx", index=False)
    assert "nothing tells which" in only_table(describe, "d.xlsx").columns[0].dates
    pd.DataFrame({"day": [*days[::2], "later", "13/03/2024"]}).to_excel(folder / "d.xlsx", index=False)
    assert only_table(describe, "d.xlsx").columns[0].dates == ""


def test_lines_above_the_header_are_shown(describe: Describe, folder: Path) -> None:
    (folder / "u.csv").write_text("Umsatz je Region\nBeträge in T€\n\nRegion;Umsatz;Jahr\nNord;12;2023\nSüd;7;2023\n")
    assert only_table(describe, "u.csv").above == ("Umsatz je Region", "Beträge in T€")
    book = openpyxl.Workbook()
    for row in (
        ["Revenue"],
        ["USD thousands", None, "as of May"],
        ["region", "amount", "year"],
        ["N", 1, 2],
        ["S", 2, 2],
    ):
        book.active.append(row)
    book.save(folder / "u.xlsx")
    assert only_table(describe, "u.xlsx").above == ("Revenue", "USD thousands | as of May")


TWO_ROWS = [
    ["Region", "2023", "", "2024", ""],
    ["", "Q1", "Q2", "Q1", "Q2"],
    ["North", 10, 12, 14, 16],
    ["South", 20, 22, 24, 26],
    ["East", 30, 32, 34, 36],
]
FULL = [["Region", "Sales", "Sales", "Cost", "Cost"], ["Region", 2023, 2024, 2023, 2024], *TWO_ROWS[2:]]


@pytest.mark.parametrize("rows", [TWO_ROWS, FULL], ids=["blanks", "repeats"])
@pytest.mark.parametrize("kind", ["csv", "xlsx", "xls"])
def test_the_lower_one_of_two_header_rows_names_the_columns(
    describe: Describe, folder: Path, kind: str, rows: list[list[object]]
) -> None:
    (abstract,), problems = describe(_written(folder, rows, kind))
    assert not problems
    (table,) = abstract.tables
    frame = eval(table.read or abstract.read_hint, {"pd": pd})
    assert [column.dtype for column in table.columns[1:]] == ["int64"] * 4
    assert [str(name) for name in frame.columns] == [column.name for column in table.columns]
    assert [name.partition(".")[0] for name in frame.columns.astype(str)][1:] == [str(name) for name in rows[1][1:]]
    assert (table.rows, len(table.above)) == (3, 1)
    assert all(str(name) in table.above[0] for name in rows[0])


@pytest.mark.parametrize(
    "text",
    [
        "region,a,a\nNorth,n/a,n/a\nSouth,1,2\nEast,3,4\n",  # a first row without values
        "time,temp,temp\ns,C,C\n1,2,3\n2,3,4\n",  # a row of units
        ",a,name\n1,2,x\n3,4,y\n",  # an index without a name
        "region,2023,2024\nNorth,1,2\nSouth,3,4\n",
        "region,first,second\nNorth,low,high\nSouth,3,4\nEast,5,6\n",  # nothing is grouped
    ],
)
def test_a_first_row_that_groups_nothing_stays_the_header(describe: Describe, folder: Path, text: str) -> None:
    (folder / "a.csv").write_text(text)
    table = only_table(describe, "a.csv")
    assert table.above == ()
    assert [column.name for column in table.columns] == [*pd.read_csv("a.csv").columns]


def _written(folder: Path, rows: list[list[object]], kind: str) -> str:
    name = f"two.{kind}"
    if kind == "csv":
        (folder / name).write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    elif kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([cell if cell != "" else None for cell in row])
        book.save(folder / name)
    else:
        old = xlwt.Workbook()
        sheet = old.add_sheet("Sheet")
        for place, row in enumerate(rows):
            for column, cell in enumerate(row):
                if cell != "":
                    sheet.write(place, column, cell)
        old.save(str(folder / name))
    return name


@pytest.mark.parametrize("engine", ["openpyxl", "calamine"])
def test_groups_above_the_header_of_a_sheet_keep_their_places(describe: Describe, folder: Path, engine: str) -> None:
    rows: list[list[str | int | None]] = [
        [None, "Sales", None, "Costs", None],
        ["region", "plan", "actual", "plan", "actual"],
        ["North", 1, 2, 3, 4],
        ["South", 5, 6, 7, 8],
    ]
    name = "book.xlsx" if engine == "openpyxl" else "book.xls"
    save_sheet(folder / name, rows)
    (abstract,), _ = describe(name)
    assert abstract.tables[0].above == (" | Sales |  | Costs",)


def test_the_first_line_of_a_workbook_loads_a_sheet_with_rows(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    cover = book.worksheets[0]
    cover.append(["Sales of 2024"])
    cover.append(["Total", 1234])
    for name in ("data", "more"):
        sheet = book.create_sheet(name)
        for row in (["k", "v"], ["a", "-"], ["b", 2], ["c", 3]):
            sheet.append(row)
    book.save(folder / "book.xlsx")
    (abstract,), _ = describe("book.xlsx")
    assert eval(abstract.read_hint, {"pd": pd})["v"].tolist()[1:] == [2, 3]
    assert eval(abstract.tables[2].read, {"pd": pd})["v"].tolist()[1:] == [2, 3]
    assert "'Sheet'" in abstract.tables[0].read


def test_rows_of_totals_are_named_with_their_place(describe: Describe, folder: Path) -> None:
    (folder / "t.csv").write_text(
        "region,amount\nNorth,1\nSouth,2\nSubtotal,3\nTotally Wired Ltd of Leeds,4\n"
        "East,4\nGrand Total:,11\n合计,11\nSumme,11\n"
    )
    found = only_table(describe, "t.csv").totals
    assert [(total.row, total.label) for total in found] == [
        (2, "Subtotal"),
        (5, "Grand Total:"),
        (6, "合计"),
        (7, "Summe"),
    ]


def test_rows_of_totals_may_name_their_period(describe: Describe, folder: Path) -> None:
    (folder / "t.csv").write_text(
        "Datum;Netto\n03.01.2024;1\n04.01.2024;2\nSumme 01/2024;3\nSummer 2024;2\nTotal Jan 2024;3\n"
        "Zwischensumme Januar 2024;3\nSumme der guten Dinge;9\n"
    )
    found = only_table(describe, "t.csv").totals
    assert [total.label for total in found] == ["Summe 01/2024", "Total Jan 2024", "Zwischensumme Januar 2024"]


def test_columns_that_are_not_described_are_named(describe: Describe, folder: Path) -> None:
    names = [f"measure_{n}" for n in range(401)]
    pd.DataFrame([range(401)] * 3, columns=names).to_csv(folder / "wide.csv", index=False)
    for bounds in ({}, {"answer": 20_000}):
        table = only_table(describe, "wide.csv", **bounds)
        assert [*(column.name for column in table.columns), *table.more_names] == names


def test_what_a_workbook_hides_from_pandas_is_a_note(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Main"
    for row in (["region", "amount"], ["North", 1], ["North", 2], ["South", "=B2+B3"]):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    sheet["B2"].comment = Comment("without tax", "ana")
    hidden = book.create_sheet("Old")
    hidden.append(["region", "amount"])
    hidden.append(["East", 5])
    hidden.sheet_state = "hidden"
    book.save(folder / "book.xlsx")
    (abstract,), problems = describe("book.xlsx")
    assert not problems
    for words in (
        "Sheet Old is hidden",
        "1 merged cell (A2:A3)",
        "1 formula without a stored value (B4)",
        "without tax",
    ):
        assert words in abstract.note
    assert "were not checked" not in abstract.note
    (folder / "plain.csv").write_text("a,b\n1,2\n")
    (plain,), _ = describe("plain.csv")
    assert plain.note == ""
    (large,), _ = describe("book.xlsx", workbook=1_000)
    assert "Sheet Old is hidden" in large.note
    assert "without tax" not in large.note
    assert "formulas without a stored value were not checked" in large.note


def test_a_workbook_of_many_formatted_cells_is_not_opened_twice(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["region", "amount"], ["North", 1], ["South", 2]):
        sheet.append(row)
    for row in range(4, 60):
        sheet.cell(row=row, column=1).number_format = "0.00"
    book.save(folder / "book.xlsx")
    (few,), _ = describe("book.xlsx", workbook_cells=62)
    assert few.note == ""
    (many,), _ = describe("book.xlsx", workbook_cells=61)
    assert many.note.startswith("Merged cells, notes on cells, errors")
    assert many.tables[0].rows == 2


def test_a_newer_workbook_under_an_older_name_is_looked_at_as_well(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["region", "amount"])
    book.worksheets[0].append(["North", 1])
    book.worksheets[0]["B2"].comment = Comment("without tax", "ana")
    book.save(folder / "book.xlsx")
    (folder / "book.xlsx").rename(folder / "book.xls")
    (abstract,), _ = describe("book.xls")
    assert "without tax" in abstract.note
    assert "were not checked" not in abstract.note


def test_errors_and_signs_that_are_not_loaded_are_a_note(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["code", "amount", "share", "weight", "day", "plain", "thousands"])
    for row in range(2, 7):
        sheet.append([row, row * 10, 0.5, 1.5, datetime(2024, 1, row), 1e9, row * 1_000])
        formats = ["0000", "[$€-407] #,##0.00" if row < 5 else '"$"#,##0', "0.0%", r'0.0\ "kg"', "dd/mm/yyyy"]
        for column, shown in enumerate([*formats, "0.00E+00", "#,##0,"], 1):
            sheet.cell(row=row, column=column).number_format = shown
    for place, error in (("B3", "#DIV/0!"), ("B4", "#N/A")):
        sheet[place] = error
        sheet[place].data_type = "e"
    sheet.merge_cells("A7:B7")
    book.save(folder / "book.xlsx")
    (abstract,), _ = describe("book.xlsx")
    assert "2 cells with an error (B3: #DIV/0!, B4: #N/A). They read as missing" in abstract.note
    signs = "A: 0000 (5), B: $#,##0 (2) / € #,##0.00 (1), D: 0.0 kg (5), G: #,##0, (5), with the number of cells"
    assert signs in abstract.note


def test_many_sheets_with_much_to_say_are_all_described(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number in range(22):
        sheet = book.create_sheet(f"S{number}")
        for row in ([f"Report {number}"], [], ["name", "answer"], ["a", "None"], ["b", "yes"], ["c", "no"]):
            sheet.append(row)
        sheet.merge_cells("A1:B1")
    book.save(folder / "book.xlsx")
    (abstract,), problems = describe("book.xlsx")
    assert not problems
    assert len(abstract.tables) == 20
    assert "merged" in abstract.note
    for table in abstract.tables:
        frame = eval(table.read or abstract.read_hint, {"pd": pd})
        assert list(frame.columns) == [column.name for column in table.columns] == ["name", "answer"]


def test_tables_that_share_a_sheet_are_a_note(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Report"
    sheet["A1"] = "Sales of 2026"  # a title is no table
    for row, values in enumerate((["region", "amount"], ["North", 1], ["South", 2]), 3):
        for column, value in enumerate(values):
            sheet.cell(row, 1 + column, value)
            sheet.cell(row + 10, 1 + column, value)
            sheet.cell(row, 5 + column, value)
    sheet["A20"] = "Source: the shop"
    alone = book.create_sheet("Alone")
    for row in (["region", "amount"], ["North", 1], [], ["Total", 1]):
        alone.append(row)
    book.save(folder / "book.xlsx")
    (abstract,), problems = describe("book.xlsx")
    assert not problems
    assert "Sheet Report has 3 areas that empty rows or columns keep apart (A3:B5, E3:F5, A13:B15)" in abstract.note
    assert "Sheet Alone has" not in abstract.note


def test_hidden_rows_and_columns_of_a_sheet_are_a_note(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["region", "amount", "cost", "margin"], ["North", 1, 2, 3], ["South", 4, 5, 6], ["East", 7, 8, 9]):
        sheet.append(row)
    for row in (3, 4, 40):  # nothing stands in the last one
        sheet.row_dimensions[row].hidden = True
    sheet.column_dimensions.group("C", "D", hidden=True)
    sheet.column_dimensions.group("X", "Z", hidden=True)
    book.save(folder / "book.xlsx")
    (abstract,), _ = describe("book.xlsx")
    assert "hides 2 rows with values, perhaps by a filter" in abstract.note
    assert "hides columns (C:D)" in abstract.note
    assert abstract.tables[0].rows == 3


FORMATS = {"B": "0.0%", "C": "#,##0,", "D": '0.00,,\\ "M"', "E": "#,##0.00", "F": '0 "% of goal"', "G": "yyyy-mm-dd"}


def test_columns_that_people_see_as_percents_or_in_thousands_are_a_note(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["region", "margin", "sales", "assets", "price", "goal", "day"])
    for row in range(4):
        sheet.append([f"R{row}", 0.1, 12_345, 3_000_000, 1.5, 7, 45_000])
    for column, written in FORMATS.items():
        for row in range(2, 6 if column != "E" else 3):
            sheet[f"{column}{row}"].number_format = written
    sheet["E3"].number_format = "0%"  # one of four
    book.save(folder / "book.xlsx")
    (abstract,), _ = describe("book.xlsx")
    assert "Sheet Sheet shows percents in B: 0.12 stands for 12 %." in abstract.note
    assert "Sheet Sheet shows thousands or millions in C, D." in abstract.note


@pytest.mark.parametrize("name", ["ledger.ods", "ledger.xls"])
def test_what_is_not_looked_for_in_a_spreadsheet_is_said(describe: Describe, folder: Path, name: str) -> None:
    (folder / name).write_bytes((Path(__file__).parent / "files" / name).read_bytes())
    (abstract,), problems = describe(name)
    assert not problems
    assert abstract.note.startswith("Merged cells, notes on cells, errors, signs such as currencies and formulas")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["12.50", "(3.20)", "7.00"], "v ((3.20))"),
        (["1.234,50", "99,10-", "5,00"], "v (99,10-)"),
        (["5 %", "7,5 %", "-"], "v (5 %)"),
        (["$1.00", "-$2.50", "($3.00)"], "v ($1.00 / ($3.00))"),
        (["3 EUR", "4 EUR", "n.a."], "v (3 EUR)"),
        (["1\u202f234,50", "2\u202f000,00", "5,00"], "v (1 234,50)"),
    ],
)
def test_numbers_that_signs_leave_as_text_are_a_note(
    describe: Describe, folder: Path, values: list[str], shown: str
) -> None:
    (folder / "a.csv").write_text("k;v\n" + "".join(f"k{place};{value}\n" for place, value in enumerate(values)))
    (abstract,), _ = describe("a.csv")
    assert f"are text because of signs: {shown}." in abstract.note


@pytest.mark.parametrize(
    "values", [["1.5", "-2", "3"], ["A1", "B2", "C-"], ["ABC 12", "DEF 13", "X"], ["1-2", "3-", "4"]]
)
def test_numbers_and_codes_are_no_numbers_with_signs(describe: Describe, folder: Path, values: list[str]) -> None:
    (folder / "a.csv").write_text("k;v\n" + "".join(f"k{place};{value}\n" for place, value in enumerate(values)))
    (abstract,), _ = describe("a.csv")
    assert "because of signs" not in abstract.note
