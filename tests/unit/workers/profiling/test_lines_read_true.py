"""The line of code that a description gives reads what stands in the file, or a note says what it does not."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lines_that_load import save_sheet

from core.steps import FileAbstract, FileProblem

IDS = [9007199254740993, None, 9007199254740995]

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]


def described(describe: Describe, folder: Path, text: str, name: str = "a.csv", **bounds: int) -> FileAbstract:
    (folder / name).write_text(text, newline="")
    (abstract,), problems = describe(name, **bounds)
    assert not problems
    return abstract


def read(abstract: FileAbstract) -> pd.DataFrame:
    frame = eval(abstract.read_hint, {"pd": pd})
    assert isinstance(frame, pd.DataFrame)
    return frame


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1 234,50", "12 345,00", "950,25"], [1234.5, 12345, 950.25]),  # French, Swedish, Polish
        (["1 234", "-12 345", "950"], [1234, -12345, 950]),
        (["1'234.50", "12'345.00", "950.25"], [1234.5, 12345, 950.25]),  # Swiss
        (["1'234", "1'234'567", "950"], [1234, 1234567, 950]),
    ],
)
def test_blanks_and_apostrophes_between_thousands_are_read(
    describe: Describe, folder: Path, values: list[str], numbers: list[float]
) -> None:
    lines = (f"{value};612 345 67{place}\n" for place, value in enumerate(values))
    frame = read(described(describe, folder, "amount;phone\n" + "".join(lines)))
    assert frame["amount"].tolist() == numbers
    assert frame["phone"].tolist() == ["612 345 670", "612 345 671", "612 345 672"]


def test_what_blanks_for_thousands_would_join_stays_as_it_is_written(describe: Describe, folder: Path) -> None:
    text = "amount;list;zip;place\n1 234,50;1 2;110 00;7 a\n950,25;3 4;12 00;8 b\n20 500,75;5 6;113 00;9 c\n"
    frame = read(described(describe, folder, text))
    assert frame["amount"].tolist() == [1234.5, 950.25, 20500.75]
    assert frame["list"].tolist() == ["1 2", "3 4", "5 6"]
    assert frame["zip"].tolist() == ["110 00", "12 00", "113 00"]
    assert frame["place"].tolist() == ["7 a", "8 b", "9 c"]


def test_a_comma_behind_a_zero_is_one_of_decimals(describe: Describe, folder: Path) -> None:
    frame = read(described(describe, folder, "name;rate\na;0,125\nb;0,250\nc;0,375\n"))
    assert frame["rate"].tolist() == [0.125, 0.25, 0.375]


@pytest.mark.parametrize(
    "values",
    [
        ["10.0.0.1", "10.0.0.2", "10.0.0.3"],  # addresses
        ["1.2.3", "1.10.3", "2.0.0"],  # versions
        ["1.5", "2.5", "3.25"],  # points of decimals beside commas of decimals
    ],
)
def test_what_points_for_thousands_would_join_stays_as_it_is_written(
    describe: Describe, folder: Path, values: list[str]
) -> None:
    lines = (f"{value};1.23{place},50\n" for place, value in enumerate(values))
    frame = read(described(describe, folder, "what;amount\n" + "".join(lines)))
    assert frame["what"].tolist() == values
    assert frame["amount"].tolist() == [1230.5, 1231.5, 1232.5]


@pytest.mark.parametrize("values", [["1,2", "3", "2,5"], ["1,5", "2,5", "12,75"], ["0,125", "0,250", "0,500"]])
def test_what_commas_for_thousands_would_join_stays_as_it_is_written(
    describe: Describe, folder: Path, values: list[str]
) -> None:
    lines = (f'"{value}","1,23{place}"\n' for place, value in enumerate(values))
    frame = read(described(describe, folder, "what,amount\n" + "".join(lines)))
    assert frame["what"].tolist() == values
    assert frame["amount"].tolist() == [1230, 1231, 1232]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zip", ["01067", "NA", "80331"]),
        ("zip", ["01067", "", "80331"]),
        ("sku", ["1E5", "12", "2E10"]),
        ("sku", ["1e5", "3e2", "2e10"]),
        ("phone", ["+4915112345678", "+4915112345679", "+4915112345670"]),
        ("parent", ["9007199254740993", "", "9007199254740995"]),
        ("parent", ["9007199254740993", "null", "9007199254740995"]),
        ("version", ["1.9", "1.10", "1.20"]),
    ],
)
def test_codes_and_long_ids_keep_their_digits(describe: Describe, folder: Path, name: str, values: list[str]) -> None:
    frame = read(described(describe, folder, f"{name},x\n" + "".join(f"{value},1\n" for value in values)))
    assert [value for value in frame[name] if isinstance(value, str)] == [
        v for v in values if v not in ("", "NA", "null")
    ]


def test_numbers_stay_numbers(describe: Describe, folder: Path) -> None:
    text = "id,delta,small,share,big\n1,+5,1e-05,0.10,9007199254740993\n2,-3,2E+03,1.10,9007199254740995\n"
    assert [str(kind) for kind in read(described(describe, folder, text)).dtypes] == [
        "int64", "int64", "float64", "float64", "int64",
    ]  # fmt: skip


def test_a_code_in_the_last_row_counts(describe: Describe, folder: Path) -> None:
    lines = "".join(f"{10_000 + number},{number}\n" for number in range(40_000))
    frame = read(described(describe, folder, f"zip,x\n{lines}01067,1\n"))
    assert frame["zip"].iloc[-1] == "01067"


def test_codes_below_no_header_keep_their_zeros(describe: Describe, folder: Path) -> None:
    assert read(described(describe, folder, "001,5\n002,6\n003,7\n"))[0].tolist() == ["001", "002", "003"]


def test_codes_beside_names_of_rows_keep_their_zeros(describe: Describe, folder: Path) -> None:
    frame = read(described(describe, folder, "zip,x\nr1,01067,1\nr2,80331,2\nr3,01069,3\n"))
    assert (frame["zip"].tolist(), frame["index"].tolist()) == (["01067", "80331", "01069"], ["r1", "r2", "r3"])


def test_names_of_rows_are_a_column_like_others(describe: Describe, folder: Path) -> None:
    abstract = described(describe, folder, '"pop","gdp"\n"France",1,2.5\n"Spain",2,5\n"Italy",3,7.5\n')
    assert [column.name for column in abstract.tables[0].columns] == ["index", "pop", "gdp"]
    assert read(abstract)["index"].tolist() == ["France", "Spain", "Italy"]
    for text in ("x,y\n010,a,1\n011,b,2\n012,c,3\n", "title\n\nx,y\n010,a,1\n011,b,2\n012,c,3\n"):
        assert read(described(describe, folder, text)).iloc[0].tolist() == ["010", "a", 1]
    assert read(described(describe, folder, "x y\n10 2 1\n11 3 2\n12 4 3\n")).iloc[0].tolist() == [10, 2, 1]
    for index in (pd.Index(["a", "b"], name="key"), pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])):
        pd.DataFrame({"v": [1, 2]}, index=index).to_parquet(folder / "i.parquet")
        (abstract,), _ = describe("i.parquet")
        assert list(abstract.tables[0].columns[0].samples) == ["a", "b"]
        assert list(read(abstract).columns) == [column.name for column in abstract.tables[0].columns]
    pd.DataFrame({"v": [1, 2, 3]})[::2].to_parquet(folder / "i.parquet")
    (abstract,), _ = describe("i.parquet")
    assert [column.name for column in abstract.tables[0].columns] == ["v"]


def test_codes_in_more_columns_than_a_line_can_name_are_text(describe: Describe, folder: Path) -> None:
    names = [f"{'long name ' * 12}{number}" for number in range(60)]
    text = ",".join(names) + "\n" + (",".join(["007"] * 60) + "\n") * 3
    assert set(read(described(describe, folder, text)).iloc[0]) == {"007"}


@pytest.mark.parametrize(
    "text",
    ["2024-01-01,open\n2024-01-02,closed\n2024-01-03,open\n", "5,NA,x\n1,2,a\n2,4,b\n", "01.02.2024;a\n02.02.2024;b\n"],
)
def test_a_first_row_of_dates_and_gaps_is_data(describe: Describe, folder: Path, text: str) -> None:
    abstract = described(describe, folder, text)
    assert "no header" in abstract.note
    assert len(read(abstract)) == text.count("\n")


def test_dates_above_numbers_are_names(describe: Describe, folder: Path) -> None:
    frame = read(described(describe, folder, "region;01.01.2024;01.02.2024\nNorth;1;2\nSouth;3;4\n"))
    assert [*frame.columns] == ["region", "01.01.2024", "01.02.2024"]


def test_a_region_named_na_is_said(describe: Describe, folder: Path) -> None:
    text = "region,x\nNA,1\nEMEA,2\nAPAC,3\nLATAM,4\n"
    assert "region (NA)" in described(describe, folder, text).note
    missing = "result,x\nNA,NA\nPASS,2\nFAIL,3\nSKIP,4\n"  # the file's word for what is missing
    assert "may be values" not in described(describe, folder, missing, "b.csv").note


def test_a_first_row_with_too_many_fields_moves_no_others(describe: Describe, folder: Path) -> None:
    abstract = described(describe, folder, "name,city,amount\nx,a,b,5\ny,c,6\nz,d,7\nw,e,8\n")
    assert "1 line has more fields than the header" in abstract.note
    frame = read(abstract)
    assert (frame["name"].tolist(), frame["amount"].tolist()) == (["y", "z", "w"], [6, 7, 8])


@pytest.mark.parametrize("columns", [2, 3])
def test_the_line_that_tells_excel_the_separator_is_no_header(describe: Describe, folder: Path, columns: int) -> None:
    text = "sep=;\r\n" + "".join(
        ";".join(row[:columns]) + "\r\n" for row in (["name", "x", "y"], *[["n", "1", "2"]] * 3)
    )
    frame = read(described(describe, folder, text))
    assert [*frame.columns] == ["name", "x", "y"][:columns]
    assert frame["x"].sum() == 3


@pytest.mark.parametrize(
    "text",
    [
        'id,name,x\n1,"Bob,10\n2,Al,11\n3,Di,12\n4,"Cy,13\n5,Ed,14\n',
        'id,name,x\n1,"Bob,10\n2,Al,11\n3,Di,12\n4,Cy,13\n5,Ed,14\n',
        'id\tname\tx\n1\t"5 inch\t10\n2\tAl\t11\n3\t"6 inch\t12\n4\tCy\t13\n5\tEd\t14\n',
    ],
)
def test_a_quotation_mark_that_is_not_closed_swallows_no_rows(describe: Describe, folder: Path, text: str) -> None:
    assert read(described(describe, folder, text))["x"].tolist() == [10, 11, 12, 13, 14]


def test_rows_that_a_quotation_mark_swallows_are_said(describe: Describe, folder: Path) -> None:
    rows = "".join(f'{number},"n, {number}",{number}\n' for number in range(10, 20))
    text = f'id,name,x\n0,a,0\n1,"Bob,10\n2,Al,11\n3,Di,12\n4,Cy,13\n{rows}'
    assert "Row 2 of the data has a quotation mark that is not closed" in described(describe, folder, text).note


def test_cells_of_several_lines_stay_cells(describe: Describe, folder: Path) -> None:
    abstract = described(describe, folder, 'id,note\n1,"a\nb, c"\n2,"d\ne, f"\n')
    assert (read(abstract)["note"].tolist(), abstract.note) == (["a\nb, c", "d\ne, f"], "")


@pytest.mark.parametrize(
    ("cell", "value"),
    [('"He said \\"hi, there\\""', 'He said "hi, there"'), ("'a, b'", "a, b"), ('"C:\\dir\\"', "C:\\dir\\")],
)
def test_quotation_marks_of_other_programs_are_understood(
    describe: Describe, folder: Path, cell: str, value: str
) -> None:
    text = "id,name,x\n" + "".join(f"{number},{cell},{number}\n" for number in range(5))
    frame = read(described(describe, folder, text))
    assert frame["name"].tolist() == [value] * 5
    assert frame["id"].tolist() == frame["x"].tolist() == [0, 1, 2, 3, 4]


def test_columns_set_apart_by_blanks_with_a_blank_cell_are_text(describe: Describe, folder: Path) -> None:
    lines = "".join(f"n{number:<5} {number if number != 5 else '':<4} {number * 2}\n" for number in range(60))
    assert described(describe, folder, f"name   a    b\n{lines}", "a.txt").tables == ()


def test_codes_set_apart_by_blanks_keep_their_zeros(describe: Describe, folder: Path) -> None:
    frame = read(described(describe, folder, "zip   x y\n01067  1 2\n80331  2 3\n01069  3 4\n", "a.txt"))
    assert frame["zip"].tolist() == ["01067", "80331", "01069"]


def test_a_long_file_has_no_value_as_number_and_as_text(describe: Describe, folder: Path) -> None:
    rows = "".join(f"{number % 50},1\n" for number in range(600_000))
    frame = read(described(describe, folder, f"code,x\n{rows}N/K,1\n"))
    assert frame["code"].nunique() == 51


CELLS = [
    ["zip", "sku", "id", "region", "n"],
    ["01067", "1E5", "9007199254740993", "NA", 1],
    ["80331", "12", None, "EMEA", 2],
    ["01069", "2E10", "9007199254740995", "APAC", 3],
]


@pytest.mark.parametrize("kind", ["xlsx", "xls"])
def test_text_in_a_sheet_stays_text(describe: Describe, folder: Path, kind: str) -> None:
    save_sheet(folder / f"a.{kind}", CELLS)
    (abstract,), _ = describe(f"a.{kind}")
    frame = read(abstract)
    assert frame["zip"].tolist() == ["01067", "80331", "01069"]
    assert frame["sku"].tolist() == ["1E5", "12", "2E10"]
    assert frame["id"].dropna().tolist() == ["9007199254740993", "9007199254740995"]
    assert frame["n"].tolist() == [1, 2, 3]
    assert "region (NA)" in abstract.note


def test_a_further_sheet_has_its_own_line_where_text_must_stay_text(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1, 2]):
        book.active.append(row)
    second = book.create_sheet("codes")
    for row in CELLS:
        second.append(row)
    book.save(folder / "a.xlsx")
    (abstract,), _ = describe("a.xlsx")
    frame = eval(abstract.tables[1].read, {"pd": pd})
    assert frame["zip"].tolist() == ["01067", "80331", "01069"]


def page(*tables: list[list[str]]) -> str:
    parts = (
        "<table>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows) + "</table>"
        for rows in tables
    )
    return (
        "<html><body>" + "".join(parts).replace("<td>zip</td><td>x</td>", "<th>zip</th><th>x</th>") + "</body></html>"
    )


GERMAN = [["zip", "x"], ["01067", "1.234,50"], ["80331", "12,5"], ["01069", "7,25"]]
ENGLISH = [["zip", "x"], ["01067", "1,234.50"], ["80331", "12.5"], ["01069", "7.25"]]
ADDRESSES = [["zip", "x"], ["01067", "10.0.0.1"], ["80331", "10.0.0.2"], ["01069", "10.0.0.3"]]


def test_each_table_of_a_page_is_read_with_its_own_marks(describe: Describe, folder: Path) -> None:
    abstract = described(describe, folder, page(GERMAN, ENGLISH, ADDRESSES), "a.html")
    german, english, addresses = (eval(table.read or abstract.read_hint, {"pd": pd}) for table in abstract.tables)
    assert german["x"].tolist() == english["x"].tolist() == [1234.5, 12.5, 7.25]
    assert [frame["zip"].tolist() for frame in (german, english)] == [["01067", "80331", "01069"]] * 2
    assert addresses["x"].tolist() == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def test_points_before_three_digits_in_a_page_are_said(describe: Describe, folder: Path) -> None:
    rows = [["zip", "x"], ["1", "3.677"], ["2", "1.853"]]
    assert "In x each point" in described(describe, folder, page(rows), "a.html").note


def test_tables_of_a_page_may_differ_in_width(describe: Describe, folder: Path) -> None:
    wide = [["zip", "x", "y"], ["01067", "1", "2"], ["80331", "2", "3"]]
    abstract = described(describe, folder, page([["q"], ["5"], ["6"]], wide, [["001", "002", "003"]]), "a.html")
    assert [table.rows for table in abstract.tables] == [3, 2, 1]
    read = [eval(table.read or abstract.read_hint, {"pd": pd}) for table in abstract.tables]
    assert read[1].columns.tolist() == ["zip", "x", "y"]


def test_names_in_the_first_row_of_a_page_are_names(describe: Describe, folder: Path) -> None:
    rows = [["zipcode", "x"], ["01067", "5"], ["80331", "6"]]
    abstract = described(describe, folder, page(rows, [["1", "2"], ["3", "4"]]), "a.html")
    named, bare = (eval(table.read or abstract.read_hint, {"pd": pd}) for table in abstract.tables)
    assert named.to_dict("list") == {"zipcode": ["01067", "80331"], "x": [5, 6]}
    assert bare.values.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["a.html", "a.csv"])
def test_points_beside_decimal_commas_stand_between_thousands(describe: Describe, folder: Path, name: str) -> None:
    rows = [["zip", "x", "price"], ["1", "1.234", "10,50"], ["2", "980", "9,25"], ["3", "12", "7,00"]]
    written = page(rows) if name == "a.html" else "\n".join(map(";".join, rows))
    abstract = described(describe, folder, written, name)
    assert eval(abstract.read_hint, {"pd": pd})["x"].tolist() == [1234, 980, 12]


@pytest.mark.parametrize("kind", ["parquet", "sqlite", "json", "nested.json", "jsonl"])
def test_long_ids_beside_gaps_keep_their_digits(describe: Describe, folder: Path, kind: str) -> None:
    name = f"a.{kind}"
    records = [{"id": each, "x": place} for place, each in enumerate(IDS)]
    if kind == "parquet":
        pq.write_table(pa.table({"id": pa.array(IDS), "x": [0, 1, 2]}), name)
    elif kind == "sqlite":
        with contextlib.closing(sqlite3.connect(name)) as connection:
            connection.execute("CREATE TABLE t (id INTEGER, x INTEGER)")
            connection.executemany("INSERT INTO t VALUES (:id, :x)", records)
            connection.commit()
    elif kind == "jsonl":
        Path(name).write_text("\n".join(map(json.dumps, records)))
    else:
        Path(name).write_text(json.dumps({"rows": records} if kind == "nested.json" else records))
    (abstract,), _ = describe(name)
    frame = eval(abstract.read_hint, {"pd": pd, "Path": Path, "json": json, "sqlite3": sqlite3})
    assert [str(each) for each in frame["id"].dropna()] == ["9007199254740993", "9007199254740995"]
    assert frame["x"].tolist() == [0, 1, 2]


def test_numbers_of_json_longer_than_the_machine_has_are_text(describe: Describe, folder: Path) -> None:
    Path("a.jsonl").write_text("\n".join(f'{{"id": {2**66 + place}}}' for place in range(3)))
    (abstract,), _ = describe("a.jsonl")
    frame = eval(abstract.read_hint, {"pd": pd, "Path": Path, "json": json})
    assert frame["id"].tolist() == [str(2**66 + place) for place in range(3)]


def test_json_in_a_zip_is_loaded_by_its_line(describe: Describe, folder: Path) -> None:
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("long.json", json.dumps([{"id": each} for each in IDS]))
        archive.writestr("nested.json", json.dumps({"a": {"rows": [{"id": "é"}, {"id": "b"}]}}))
    (abstract,), _ = describe("a.zip")
    names = {"pd": pd, "json": json, "zipfile": zipfile}
    long, nested = (eval(table.read, names)["id"].dropna().tolist() for table in abstract.tables)
    assert (long, nested) == (["9007199254740993", "9007199254740995"], ["é", "b"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# made by x, y\nname,x\na,1\nb,2\nc,3\n", ["name", "x"]),
        ("# made by x, y\n# second, line\nname,x\na,1\nb,2\nc,3\n", ["name", "x"]),
        ("#name,x\na,1\nb,2\nc,3\n", ["#name", "x"]),
        ("##made, by\n#name,x\na,1\nb,2\nc,3\n", ["#name", "x"]),
    ],
)
def test_a_comment_with_a_comma_is_no_header(describe: Describe, folder: Path, text: str, names: list[str]) -> None:
    frame = read(described(describe, folder, text))
    assert [*frame.columns] == names
    assert frame["x"].tolist() == [1, 2, 3]


def test_rows_of_a_large_file_that_ends_lines_by_returns_are_counted(describe: Describe, folder: Path) -> None:
    text = "a,b\r" + "".join(f"{place},{place}\r" for place in range(3_000))
    (table,) = described(describe, folder, text, whole=10_000, head=4_000, blocks=2, block=2_000).tables
    assert table.rows == 3_000


def test_points_for_thousands_are_known_by_a_million_also_beside_dates(describe: Describe, folder: Path) -> None:
    text = "day;small;large\n01.02.2024;6.093;8.596.498\n02.02.2024;12;853.100\n03.02.2024;1.250;999\n"
    frame = read(described(describe, folder, text))
    assert frame["day"].tolist() == ["01.02.2024", "02.02.2024", "03.02.2024"]
    assert (frame["small"].tolist(), frame["large"].tolist()) == ([6093, 12, 1250], [8596498, 853100, 999])


def test_codes_in_more_columns_of_a_sheet_than_a_line_can_name_are_text(describe: Describe, folder: Path) -> None:
    book = openpyxl.Workbook()
    for row in ([f"{'long name ' * 9}{place}" for place in range(60)], *[["007"] * 60] * 3):
        book.active.append(row)
    book.save(folder / "a.xlsx")
    (abstract,), _ = describe("a.xlsx")
    assert set(read(abstract).iloc[0]) == {"007"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("k,v\na,1.5\nb,-\nc,2.5\n", [1.5, None, 2.5]),
        ("k,v\na,#DIV/0!\nb,7\nc,9\n", [None, 7, 9]),
        ("k;v\na;1.001,5\nb;k.A.\nc;2,5\n", [1001.5, None, 2.5]),
        ("k,v,v\na,0,1\nb,0,..\nc,0,3\n", [1, None, 3]),
    ],
)
def test_words_for_a_missing_number_leave_the_column_numbers(
    describe: Describe, folder: Path, text: str, numbers: list[float | None]
) -> None:
    abstract = described(describe, folder, text)
    values = read(abstract).iloc[:, -1]
    assert [None if pd.isna(value) else value for value in values] == numbers
    assert values.dtype == float
    assert "are read as missing: v" in abstract.note


@pytest.mark.parametrize("values", [["-", "x", "1"], ["-", "yes", "no"], ["-", "1", "1"], [".", "a/b", "/"]])
def test_a_dash_among_words_stays_a_value(describe: Describe, folder: Path, values: list[str]) -> None:
    lines = (f"{place},{value}\n" for place, value in enumerate(values))
    abstract = described(describe, folder, "k,v\n" + "".join(lines))
    assert read(abstract)["v"].tolist() == values
    assert "missing" not in abstract.note


@pytest.mark.parametrize("kind", ["xlsx", "xls"])
def test_a_dash_among_the_numbers_of_a_sheet_leaves_the_column_numbers(
    describe: Describe, folder: Path, kind: str
) -> None:
    rows: list[list[str | float]] = [["k", "v"], ["a", 1.5], ["b", "-"], ["c", 2.5]]
    save_sheet(folder / f"a.{kind}", rows)
    (abstract,), _ = describe(f"a.{kind}")
    assert read(abstract)["v"].tolist()[::2] == [1.5, 2.5]
    assert "are read as missing: v (-)" in abstract.note


@pytest.mark.parametrize(
    "text",
    [
        "time,temp,site\ns,°C,\n1,20.5,A\n2,21.5,B\n",
        "Title\n\ntime;temp;site\n;(°C);\n1;20,5;A\n2;21,5;B\n",
        "time,temp,site\nUTC,°C,\n2024-01-01,20.5,A\n2024-01-02,21.5,B\n",
    ],
)
def test_a_row_of_units_is_no_row_of_the_table(describe: Describe, folder: Path, text: str) -> None:
    abstract = described(describe, folder, text)
    frame = read(abstract)
    assert (frame["temp"].tolist(), frame["site"].tolist()) == ([20.5, 21.5], ["A", "B"])
    assert abstract.tables[0].rows == 2
    assert "°C" in abstract.note


@pytest.mark.parametrize(
    "text",
    [
        "name,v\nclosed,closed\nA,1\nB,2\n",  # a first row of values
        "k,v\n1,n/a\n2,3\n4,5\n",
        "k,v\n1,-\n2,3\n4,5\n",
        "k,v,w\n,,\n1,3,4\n2,5,6\n",
    ],
)
def test_a_first_row_of_values_is_no_row_of_units(describe: Describe, folder: Path, text: str) -> None:
    abstract = described(describe, folder, text)
    assert "units" not in abstract.note
    assert len(read(abstract)) == abstract.tables[0].rows == 3


def test_a_row_of_units_in_a_large_file_is_not_counted(describe: Describe, folder: Path) -> None:
    lines = "".join(f"{number},{number}.5\n" for number in range(5_000))
    abstract = described(describe, folder, f"time,temp\ns,°C\n{lines}", whole=1_000, head=8_000, block=4_000)
    assert abstract.tables[0].rows == 5_000
    assert read(abstract)["temp"].iloc[-1] == 4999.5


@pytest.mark.parametrize("above", [0, 2])
def test_a_row_of_units_in_a_sheet_is_no_row_of_the_table(describe: Describe, folder: Path, above: int) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.worksheets[0]
    rows: list[list[str | float | None]] = [["Measured"], [None], ["time", "temp", "site"], ["s", "°C"]]
    for row in [*rows[2 - above :], [1, 20.5, "A"], [2, 21.5, "B"]]:
        sheet.append(row)
    workbook.save(folder / "a.xlsx")
    (abstract,), _ = describe("a.xlsx")
    frame = read(abstract)
    assert (frame["temp"].tolist(), frame["site"].tolist()) == ([20.5, 21.5], ["A", "B"])
    assert abstract.tables[0].rows == 2
    assert "(time: s, temp: °C)" in abstract.note


@pytest.mark.parametrize(
    ("value", "frame"),
    [
        (
            [["NAME", "zip"], ["Bonn", "05314"], ["Jena", "07745"]],
            {"NAME": ["Bonn", "Jena"], "zip": ["05314", "07745"]},
        ),
        ({"unit": "C", "hourly": {"time": ["0", "1"], "temp": [2.5, None]}}, {"time": ["0", "1"], "temp": [2.5, None]}),
        ({"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, "y"]]}, {"a": [1, 2], "b": ["x", "y"]}),
        (
            {"0100": {"a": 1, "b": 2}, "0200": {"a": 3, "b": 4}, "0300": {"a": 5}},
            {"key": ["0100", "0200", "0300"], "a": [1, 3, 5], "b": [2, 4, None]},
        ),
    ],
)
def test_json_tables_of_other_shapes_are_read(
    describe: Describe, folder: Path, value: object, frame: dict[str, list[object]]
) -> None:
    (folder / "a.json").write_text(json.dumps(value))
    (abstract,), _ = describe("a.json")
    loaded = eval(abstract.read_hint, {"pd": pd, "json": json, "Path": Path})
    assert loaded.astype(object).where(loaded.notna(), None).to_dict("list") == frame
    (table,) = abstract.tables
    assert (table.rows, [column.name for column in table.columns]) == (len(loaded), list(frame))


@pytest.mark.parametrize(
    "value",
    [
        {"name": "x", "scripts": {"test": "a", "build": "b"}, "files": ["a", "b"]},
        {"a": {"x": 1}, "b": {"y": 2}, "c": {"z": 3}},
        [[1, 2], [3, 4]],
        {"type": "Polygon", "coordinates": [[[0, 1], [1, 2]], [[2, 3], [3, 4]]]},
    ],
)
def test_json_that_is_no_table_is_a_document(describe: Describe, folder: Path, value: object) -> None:
    (folder / "a.json").write_text(json.dumps(value))
    (abstract,), _ = describe("a.json")
    assert not abstract.tables
    assert abstract.text


@pytest.mark.parametrize("name", ["a.geojson", "export.txt", "export", "app.log"])
def test_json_under_another_name_is_read(describe: Describe, folder: Path, name: str) -> None:
    text = json.dumps({"features": [{"id": "01", "size": 2}, {"id": "02", "size": 3}]})
    if name == "app.log":
        text = '{"id": "01", "size": 2}\n{"id": "02", "size": 3}\n'
    (folder / name).write_text(text)
    (abstract,), _ = describe(name)
    frame = eval(abstract.read_hint, {"pd": pd, "json": json, "Path": Path})
    assert frame.to_dict("list") == {"id": ["01", "02"], "size": [2, 3]}


def test_a_text_that_only_begins_like_json_is_a_document(describe: Describe, folder: Path) -> None:
    abstract = described(describe, folder, "[Monday] we met\n{and} left\n", "notes.txt")
    assert (abstract.format, abstract.tables) == ("txt", ())
