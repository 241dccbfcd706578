"""Rows are counted where that is certain, and hostile files are no reason to fail."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest

from workers.delivery.table_rows import table_rows


def written(folder: Path, data: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(data)
    return path


def workbook(*sheets: int) -> bytes:
    """A workbook with so many rows below a header in each sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for number in range(rows + 1):
            sheet.append([number])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def zipped(name: str, text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, text)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [
        ("a.csv", b"a,b\n1,2\n3,4\n", 2),
        ("a.csv", b'a,b\n1,"two\nlines"\n', 1),
        ("a.csv", b"a;b\r\n1;2\r\n\r\n", 1),
        ("a.csv", b"", 0),
        ("a.tsv", "a\tb\n1\t2\n".encode("utf-16"), 1),
        ("a.csv", b"a\n\xff\xfe\n", 1),
        ("A.XLSX", workbook(3, 2), 5),
        ("a.xlsx", workbook(0), 0),
        ("a.xlsx", b"no workbook", None),
        ("a.xlsx", zipped("xl/worksheets/sheet1.xml", "<row"), None),
        ("a.xlsx", zipped("xl/worksheets/sheet1.xml", '<!DOCTYPE x [<!ENTITY a "b">]><row/>'), None),
        ("a.xlsx", zipped("other.xml", "<row/>"), None),
        ("a.parquet", b"PAR1", None),
    ],
)
def test_rows_are_counted_without_the_header(tmp_path: Path, name: str, data: bytes, rows: int | None) -> None:
    assert table_rows(name, written(tmp_path, data)) == rows
