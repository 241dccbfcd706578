"""How many rows a table file has, for people who decide whether it may leave. The bytes are hostile: all is bounded."""

from __future__ import annotations

import codecs
import csv
import re
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, Final
from xml.parsers import expat

_MOST_BYTES: Final = 200_000_000
"""Size of text, or of the unpacked sheets of a workbook. Rows of a larger file are not counted."""
_CHUNK: Final = 1 << 16
_SHEET: Final = re.compile(r"xl/worksheets/\w+\.xml")


def table_rows(name: str, path: Path) -> int | None:
    """The rows of a .csv, .tsv or .xlsx without one header for each table; None for other files and for broken ones."""
    ending = name.rpartition(".")[2].casefold()
    with suppress(csv.Error, UnicodeError, zipfile.BadZipFile, zlib.error, expat.ExpatError, OSError, ValueError):
        if ending in ("csv", "tsv", "tab"):
            return _rows_of_text(path)
        if ending == "xlsx":
            return _rows_of_workbook(path)
    return None


def _rows_of_text(path: Path) -> int | None:
    if path.stat().st_size > _MOST_BYTES:
        return None
    with path.open("rb") as file:
        is_wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    with path.open(encoding="utf-16" if is_wide else "utf-8", errors="surrogateescape", newline="") as lines:
        return max(sum(bool(row) for row in csv.reader(lines)) - 1, 0)


def _rows_of_workbook(path: Path) -> int | None:
    with zipfile.ZipFile(path) as workbook:
        sheets = [info for info in workbook.infolist() if _SHEET.fullmatch(info.filename)]
        left, rows = _MOST_BYTES, 0
        for sheet in sheets:
            with workbook.open(sheet) as part:
                counted, left = _rows_of_sheet(part, left)
            rows += max(counted - 1, 0)
        return rows if sheets else None


def _rows_of_sheet(part: IO[bytes], left: int) -> tuple[int, int]:
    """The rows of a sheet, and how many bytes the next ones may have. Raises ValueError beyond that, or for a document
    type: it could make the parser read forever."""
    rows = 0

    def begins(name: str, _: object) -> None:
        nonlocal rows
        rows += name.rpartition(":")[2] == "row"

    def refuse(*_: object) -> None:
        raise ValueError("a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler = begins
    parser.StartDoctypeDeclHandler = refuse
    while chunk := part.read(_CHUNK):
        left -= len(chunk)
        if left < 0:
            raise ValueError("too large")
        parser.Parse(chunk, False)
    parser.Parse(b"", True)
    return rows, left
