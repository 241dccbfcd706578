"""Files that would take all memory, never end, or bring their reader down: each is one problem, and nothing else is."""

from __future__ import annotations

import faulthandler
import io
import json
import os
import resource
import sqlite3
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlwt

from core.steps import FileAbstract, FileProblem
from workers.profiling.inside import databases
from workers.profiling.inside.apart import apart
from workers.profiling.inside.bounds import Bounds
from workers.profiling.inside.kinds import Unusable

pytestmark = pytest.mark.process

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

ODS = "application/vnd.oasis.opendocument.spreadsheet"
MEMORY = 600_000_000
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
    + "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1 if n > 1 else str()};" * 10}">' for n in range(1, 10))
    + "]>"
)
TABLES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)
ONE = '<table:table-cell office:value-type="float" office:value="1" {}><text:p>1</text:p></table:table-cell>'


def zipped(parts: dict[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


def ods(rows: str, head: str = "") -> bytes:
    content = (
        f"{head}<office:document-content {TABLES}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    return zipped({"mimetype": ODS, "content.xml": content})


def repeated_ods() -> bytes:
    """A million rows of sixteen thousand filled cells in some hundred bytes."""
    cell = ONE.format('table:number-columns-repeated="16384"')
    return ods(f'<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>')


def far_ods() -> bytes:
    gap = '<table:table-cell table:number-columns-repeated="16000"/>'
    skip = '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
    one = f"<table:table-row>{gap}{ONE.format('')}</table:table-row>"
    return ods(one + skip + one)


def deep_ods() -> bytes:
    return ods("<table:table-row>" + "<text:p>" * 100_000 + "</text:p>" * 100_000 + "</table:table-row>")


def entity_xlsx(part: str) -> bytes:
    book = io.BytesIO()
    openpyxl.Workbook().save(book)
    with zipfile.ZipFile(book) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    plain = bytes(parts[part]).decode()
    body = plain[plain.index("<", plain.index("?>")) if "?>" in plain else 0 :]
    parts[part] = LAUGHS + body.replace("</", "&lol9;</", 1)
    return zipped(parts)


def far_xlsx() -> bytes:
    """Twenty thousand rows with a cell at the far right: each row is as long as a sheet is wide."""
    book = io.BytesIO()
    openpyxl.Workbook().save(book)
    with zipfile.ZipFile(book) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    rows = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 20_001))
    parts["xl/worksheets/sheet1.xml"] = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{rows}</sheetData></worksheet>"
    )
    return zipped(parts)


def far_xls() -> bytes:
    """Two cells in far corners of each of twenty sheets: rectangles of sixteen million cells."""
    book = xlwt.Workbook()
    for number in range(20):
        sheet = book.add_sheet(f"s{number}")
        sheet.write(0, 0, 1)
        sheet.write(65_535, 255, 1)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def bomb_pdf() -> bytes:
    """A page whose content unpacks to more than its reader may hold."""
    content = zlib.compress(b" " * 800_000_000, 1)
    return pdf(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content))


def pdf(content: bytes) -> bytes:
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>",
        content,
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + table + b"trailer << /Root 1 0 R /Size 5 >>\nstartxref\n%d\n%%%%EOF\n" % len(body)


def circular_pdf() -> bytes:
    return pdf(b"<< /Length 0 >>\nstream\n\nendstream").replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]")


def bomb_png() -> bytes:
    """Sixty thousand by sixty thousand pixels in some hundred kilobytes."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(1_000_000)))
        + chunk(b"IEND", b"")
    )


def endless_sqlite(folder: Path) -> bytes:
    """A table, and a view that never ends."""
    with sqlite3.connect(folder / "made") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS n")
        connection.execute(
            "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c"
        )
    connection.close()
    data = (folder / "made").read_bytes()
    (folder / "made").unlink()
    return data


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("repeated.ods", repeated_ods, "cells"),
        ("far.ods", far_ods, "cells"),
        ("deep.ods", deep_ods, "nested too deeply"),
        ("laughs.ods", lambda: ods("", LAUGHS), "defines entities"),
        ("laughs.xlsx", lambda: entity_xlsx("xl/workbook.xml"), "defines entities"),
        ("laughs2.xlsx", lambda: entity_xlsx("xl/worksheets/sheet1.xml"), "defines entities"),
        ("far.xlsx", far_xlsx, "more memory or time"),
        ("far.xls", far_xls, "cells"),
        ("bomb.pdf", bomb_pdf, "more memory or time"),
        ("bomb.png", bomb_png, "pixels"),
        ("deep.json", lambda: b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
        ("wide.csv", lambda: b"a," * 3_500_000 + b"\n" + b"1," * 3_500_000, "more memory or time"),
        ("random.duckdb", lambda: bytes(8) + b"DUCK" + os.urandom(5_000), "could not read"),
        ("random.sqlite", lambda: b"SQLite format 3\0" + os.urandom(5_000), "could not read"),
        ("random.sav", lambda: b"$FL2" + os.urandom(5_000), "could not read"),
        ("random.dta", lambda: b"<stata_dta>" + os.urandom(5_000), "could not read"),
        ("random.sas7bdat", lambda: bytes(12) + b"\xc2\xea\x81\x60" + os.urandom(5_000), "could not read"),
        ("random.xpt", lambda: b"HEADER RECORD*******LIBRARY" + os.urandom(5_000), "could not read"),
        ("random.ods", lambda: zipped({"mimetype": ODS}), "could not read"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_one_problem(
    describe: Describe, folder: Path, name: str, make: Callable[[], bytes], words: str
) -> None:
    (folder / name).write_bytes(make())
    (folder / "good.csv").write_text("a,b\n1,2\n")
    (good,), (problem,) = describe(name, "good.csv", memory=MEMORY, seconds=10)
    assert good.path == "good.csv"
    assert problem.name == name
    assert words in problem.why


def test_pages_that_hold_themselves_come_to_an_end(describe: Describe, folder: Path) -> None:
    (folder / "circle.pdf").write_bytes(circular_pdf())
    abstracts, problems = describe("circle.pdf", seconds=15)
    assert len(abstracts) + len(problems) == 1


def test_a_view_without_end_does_not_keep_a_table_from_being_described(describe: Describe, folder: Path) -> None:
    (folder / "endless.db").write_bytes(endless_sqlite(folder))
    (abstract,), problems = describe("endless.db", seconds=30)
    assert not problems
    assert {table.name: len(table.columns) for table in abstract.tables} == {"t": 1, "v": 0}


def test_a_view_without_end_is_left_by_the_clock_where_the_processor_is_busy(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "endless.db").write_bytes(endless_sqlite(folder))
    monkeypatch.setattr(databases, "_LOOKS", 10**9)
    about = databases.sqlite("endless.db", 0, Bounds(seconds=1))
    assert {table["name"]: len(table["columns"]) for table in about["tables"]} == {"t": 1, "v": 0}


def test_records_that_each_bring_their_own_keys_are_no_table(describe: Describe, folder: Path) -> None:
    (folder / "keys.json").write_text(json.dumps([{f"key{n}": n} for n in range(30_000)]))
    (folder / "keys.jsonl").write_text("\n".join(json.dumps({f"key{n}": n}) for n in range(30_000)))
    abstracts, problems = describe("keys.json", "keys.jsonl", seconds=20)
    assert not problems
    assert [abstract.tables for abstract in abstracts] == [(), ()]


def said_by(work: Callable[[], Any], seconds: float = 20.0) -> dict[str, Any]:
    return apart(work, Bounds(memory=MEMORY), seconds)


def test_a_reader_that_dies_is_a_problem_and_no_death() -> None:
    def dies() -> None:
        faulthandler.disable()  # it would write a page of traceback into the output of the tests
        os.abort()

    with pytest.raises(Unusable) as stopped:
        said_by(dies)
    assert stopped.value.code == "too_much"


def children() -> set[str]:
    """The processes that this one has begun and not waited for; other tests have some of their own."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_a_reader_that_never_ends_is_stopped_and_leaves_no_process() -> None:
    before = children()
    with pytest.raises(Unusable) as stopped:
        said_by(lambda: time.sleep(600), seconds=0.2)
    assert stopped.value.values == {"detail": "time"}
    assert children() <= before


def test_a_reader_that_takes_all_memory_is_said_so() -> None:
    assert said_by(lambda: {"n": len(bytearray(4_000_000_000))})["problem"]["code"] == "too_much"
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY, "ours is as it was"


def test_a_reader_that_says_too_much_is_not_believed() -> None:
    with pytest.raises(Unusable):
        said_by(lambda: {"text": "x" * 10_000_000})


def test_what_a_reader_prints_is_no_output_of_the_cell(capfd: pytest.CaptureFixture[str]) -> None:
    assert said_by(lambda: {"written": os.write(1, b"=== forged ===")}) == {"written": 14}
    assert capfd.readouterr().out == ""
