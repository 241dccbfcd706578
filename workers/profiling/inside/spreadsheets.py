"""Spreadsheets that are no .xlsx: .ods, .xlsb and the old .xls, read by calamine. How large they are is counted."""

from __future__ import annotations

import os
import re
import struct
import xml.parsers.expat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from .bounds import Bounds
from .columns import Column, dtype_of, gap_words_of, is_text, named_gap_words, with_lost_words, with_signs
from .frames import cut, describe_frame, exact
from .headers import is_units, is_upper_row, named_units
from .kinds import Unusable
from .lines import call, note

_CHUNK = 1 << 20
_DEEPEST = 100
"""Elements inside elements. Tables need about ten."""


def refuse_entities(path: str, bounds: Bounds) -> None:
    """Refuse an Office file that is larger than it may be, or whose XML defines entities: none of ours does.

    Raises Unusable. The sizes in a zip's directory may lie, so the bytes are counted as they come.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir()]
            if len(parts) > _MOST_PARTS or len({part.filename for part in parts}) != len(parts):
                raise Unusable("too_much", detail=f"{len(parts)} parts")
            if sum(part.file_size for part in parts) > bounds.unpacked:
                raise Unusable("too_much", detail=f"{sum(p.file_size for p in parts) // 1_000_000:,} MB unpacked")
            for part in parts:
                if part.filename.endswith((".xml", ".rels", ".vml")):
                    _look_for_entities(archive, part)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None


_MOST_PARTS = 10_000
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_VALUES = (b"<v>", b"<v ", b"<is>")
_ROW = re.compile(rb'<row\b[^>]*?\sr="(\d{1,7})"')
_KEPT = 100_000


def last_filled_row(path: str, name: str) -> int | None:
    """The last row of a workbook's sheet that holds a value, counted from 1. None where the file does not tell.

    A sheet's own size counts rows that are only formatted.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_part_of(archive, name)) as part:
            found, seen = None, b""
            while chunk := part.read(_CHUNK):
                seen = seen[-_KEPT:] + chunk
                value = max(map(seen.rfind, _VALUES))
                if value >= 0 and (row := _ROW.match(seen, max(seen.rfind(b"<row", 0, value), 0))):
                    found = int(row[1])
    except (zipfile.BadZipFile, KeyError, StopIteration, SyntaxError, OSError, ValueError):
        return None
    return found


def has_more_cells(path: str, limit: int) -> bool:
    """Whether the sheets of a workbook hold more cells than that, those that are only formatted too.

    So it is where they cannot be counted.
    """
    count = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("xl/worksheets/"):
                    count += _cells_in(archive, name, limit - count)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return True
    return count > limit


def _cells_in(archive: zipfile.ZipFile, name: str, most: int) -> int:
    """The cells of one part, counted until there are more than `most`."""
    count, last = 0, b""
    with archive.open(name) as part:
        while count <= most and (chunk := part.read(_CHUNK)):
            count += (last + chunk).count(b"<c ")
            last = chunk[-2:]
    return count


def _part_of(archive: zipfile.ZipFile, name: str) -> str:
    """The name of the part that holds a sheet's cells."""
    sheets = ElementTree.fromstring(archive.read("xl/workbook.xml")).iter()  # noqa: S314 - entities were refused
    relation = next(each.get(_RELATION) for each in sheets if each.tag.endswith("}sheet") and each.get("name") == name)
    targets = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels")).iter()  # noqa: S314 - as above
    target = next(str(each.get("Target")) for each in targets if each.get("Id") == relation)
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _look_for_entities(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """A document type stands before the first element, so the beginning is enough, in any encoding XML may have."""
    with archive.open(part) as content:
        head = content.read(_CHUNK)
    plain = head.replace(b"\0", b"")
    if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise Unusable("too_much", detail=f"{cut(part.filename, 60)} defines entities")


def ods(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The sheets of an OpenDocument spreadsheet. A cell may say that it repeats a million times: that is counted."""
    refuse_entities(path, bounds)
    _refuse_repeated(path, bounds)
    return _sheets(path, "ods", bounds)


def xls(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The sheets of an Excel workbook from before 2007."""
    _refuse_sparse(path, bounds)
    return _sheets(path, "xls", bounds)


def xlsb(path: str, _size: int, bounds: Bounds) -> dict[str, Any]:
    """The sheets of a binary Excel workbook, which large models are kept in."""
    refuse_entities(path, bounds)
    _refuse_far_cells(path, bounds)
    return _sheets(path, "xlsb", bounds)


def _sheets(path: str, kind: str, bounds: Bounds) -> dict[str, Any]:
    import pandas as pd  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    try:
        book = pd.ExcelFile(path, engine="calamine")
    except MemoryError:
        raise
    except Exception as error:
        if "password" in str(error).casefold():
            raise Unusable("password") from None
        raise Unusable("corrupt", detail=cut(error, 160)) from None  # calamine has no list of what it raises
    tables: list[dict[str, Any]] = []
    notes = [note("not_looked_for")]
    with book:
        names = [str(name) for name in book.sheet_names]
        opened: Any = book.book
        hidden = [str(s.name) for s in opened.sheets_metadata if "Visible" not in str(s.visible)]
        for name in names[: bounds.sheets]:
            table, header, spoilt = _sheet(book, name, bounds)
            if table["columns"]:
                arguments = ({"sheet_name": name} if len(names) > 1 else {}) | ({"header": header} if header else {})
                table["read"] = call("pd.read_excel", path, arguments | spoilt.arguments() | {"engine": "calamine"})
            notes += spoilt.notes()
            if header:
                notes.append(note("sheet_header", sheet=cut(name, 60), header=header))
            if name in hidden:
                notes.append(note("hidden_sheet", sheet=cut(name, 60)))
            if is_unread(table):
                notes.insert(0, note("sheet_unread", sheet=cut(name, 60)))
            tables.append(table)
    if not any(table["columns"] for table in tables) and any(map(is_unread, tables)):
        raise Unusable("corrupt", detail=next(table["head"][0] for table in tables if is_unread(table)))
    if len(names) > len(tables):
        notes.append(note("more_sheets", count=len(names) - len(tables)))
    if len(names) > 1:
        notes.append(note("sheets"))
    if any(table["sampled"] for table in tables):
        notes.append(note("first_rows", rows=bounds.rows))
    lines = sorted((table["rows"] == 0, place) for place, table in enumerate(tables) if table.get("read"))
    first = tables[lines[0][1]]["read"] if lines else ""
    return {"format": kind, "tables": tables, "read_hint": first, "notes": notes[:30]}


@dataclass(frozen=True)
class Spoilt:
    """What pandas would change in the text cells of a sheet, and a row that it would take for values."""

    columns: tuple[str | int, ...] = ()
    """Those in which it would make numbers of text such as 00123."""
    words: tuple[str, ...] = ()
    """Those with a word that it reads as missing and that may be a value."""
    gap_words: tuple[tuple[str | int, list[str]], ...] = ()
    """Those of numbers among which words stand for a missing one."""
    signs: tuple[str, ...] = ()
    """Those of numbers that stay text because of signs, with examples."""
    units: tuple[tuple[int, str], ...] = ()
    """The row of units right below the header, counted from 0, and its cells with their names."""

    def arguments(self) -> dict[str, Any]:
        """What a reader must be told."""
        found: dict[str, Any] = {"skiprows": [row for row, _ in self.units]} if self.units else {}
        found |= {"dtype": dtype_of(self.columns)} if self.columns else {}
        return found | ({"na_values": dict(self.gap_words)} if self.gap_words else {})

    def notes(self) -> list[dict[str, Any]]:
        """What is left to say."""
        said = {
            "units_row": ", ".join(units for _, units in self.units),
            "gap_words": named_gap_words(dict(self.gap_words)),
            "number_signs": ", ".join(self.signs),
            "maybe_words": ", ".join(self.words),
        }
        return [note(code, names=cut(names, 200)) for code, names in said.items() if names]


def spoilt_in(book: Any, name: str, header: int, bounds: Bounds) -> Spoilt:
    """Look at the cells of a sheet as they are, before pandas reads text as numbers."""
    given: dict[str, Any] = {"dtype": object, "keep_default_na": False, "na_values": [""]}
    raw = book.parse(name, header=header, nrows=bounds.rows, **given)
    first = [[_written(value) for value in row] for row in raw.head(51).fillna("").itertuples(index=False)]
    units: tuple[tuple[int, str], ...] = ()
    if first and is_units(first[0], first[1:]):
        raw, units = raw.iloc[1:], ((header + 1, named_units(raw.columns, first[0])),)
    held = [
        Column(label, map(str, raw.iloc[:, place].fillna("")))
        for place, label in enumerate(raw.columns)
        if isinstance(label, str | int) and any(isinstance(value, str) for value in raw.iloc[:, place])
    ]
    columns = tuple(column.name for column in held if is_text(column, (".", None)))
    return Spoilt(columns, with_lost_words(held), tuple(gap_words_of(held).items()), with_signs(held), units)


def _sheet(book: Any, name: str, bounds: Bounds) -> tuple[dict[str, Any], int, Spoilt]:
    """A sheet's note, the row that holds its header, counted from 0 as pandas does, and what pandas would change."""
    import pandas as pd  # noqa: PLC0415 - as above

    try:
        top = book.parse(name, header=None, nrows=30)
        if top.empty:
            return describe_frame(pd.DataFrame(), name, bounds), 0, Spoilt()
        header = header_row(top)
        spoilt = spoilt_in(book, name, header, bounds)
        whole = book.parse(name, header=header, **spoilt.arguments())
    except MemoryError:
        raise
    except Exception as error:
        # one broken sheet is no reason to refuse the others
        return unread(name, bounds, error), 0, Spoilt()
    above = lines_above(top, header, bounds)
    frame = whole.iloc[: bounds.rows]
    sampled = len(whole) > len(frame)
    return describe_frame(frame, name, bounds, rows=len(whole), sampled=sampled, above=above), header, spoilt


_LOCALE = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_NO_SIGN = re.compile(r"\[[^\]]*\]|_.|\*.|[\\\"]")
_TOLD = re.compile(r"[^\W\d_]|[$€£¥₹₽₩]|^00+$|[0#],+$")


def signs_of(sheet: Any) -> Iterator[str]:
    """The formats of numbers whose signs are lost when they are loaded: currencies, units, zeros in front, thousands.

    By column, each with its number of cells.
    """
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 - as above

    for place, column in enumerate(sheet.iter_cols(), 1):
        shown = Counter(c.number_format for c in column if c.data_type == "n" and c.value is not None and not c.is_date)
        told: Counter[str] = Counter()
        for written, count in shown.items():
            plain = _NO_SIGN.sub("", _LOCALE.sub(r"\1", written.partition(";")[0])).strip()
            if written != "General" and _TOLD.search(re.sub(r"E[+-]", "", plain)):
                told[cut(plain, 30)] += count
        if told:
            formats = " / ".join(f"{each} ({count})" for each, count in told.most_common(3))
            yield f"{get_column_letter(place)}: {formats}"


def unread(name: str, bounds: Bounds, error: Exception) -> dict[str, Any]:
    """The note of a sheet that could not be read: nobody knows its rows, and its first line says why."""
    import pandas as pd  # noqa: PLC0415 - as above

    why = cut(error, 160) or type(error).__name__
    return describe_frame(pd.DataFrame(), name, bounds) | {"rows": None, "head": [why]}


def is_unread(table: dict[str, Any]) -> bool:
    """Whether it is such a note."""
    return table["rows"] is None and not table["columns"]


def header_row(top: Any) -> int:
    """The first row that is about as wide as the table and holds words: titles above it are narrow.

    Where that row only groups the names in the row below it, it is the row below.
    """
    filled = top.notna().sum(axis=1)
    wide = 0.7 * filled.max()
    for number in range(len(top)):
        values = top.iloc[number].dropna()
        words = sum(isinstance(value, str) for value in values)
        if filled.iloc[number] >= wide and 2 * words >= len(values):
            written = top.iloc[number:].astype(object).where(top.iloc[number:].notna(), "")
            rows = [[_written(value) for value in row] for row in written.itertuples(index=False)]
            return number + (len(rows) > 1 and is_upper_row(rows[0], rows[1], rows[2:]))
    return 0


def lines_above(top: Any, header: int, bounds: Bounds) -> list[str]:
    """The rows above the header as lines. Groups right above names that repeat keep their places over them."""
    lines = []
    has_twins = bool(top.iloc[header].dropna().duplicated().any())
    for row in range(header):
        values = top.iloc[row]
        if row == header - 1 and has_twins and values.count() > 1:
            values = values.loc[: values.last_valid_index()].astype(object).fillna("")
        lines.append(" | ".join(exact(value, bounds.cell) for value in values.dropna()))
    return lines


def _written(value: Any) -> str:
    """A cell as it is in a text file."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# --- how large an .ods really is


class _Extent:
    """The cells of each sheet's rectangle, counted while its XML is read. Empty cells at the ends count nothing."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._depth = self._before = self._row = self._column = self._wide = self._filled = 0
        self._tall = self._row_repeats = 0
        self._repeats = 0
        self._has_value = False
        self.parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _doctype(self, *_: object) -> None:
        raise Unusable("too_much", detail="content.xml defines entities")

    def _start(self, name: str, given: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unusable("too_much", detail="content.xml is nested too deeply")
        attributes = {key.rpartition(" ")[2]: value for key, value in given.items()}
        match name.rpartition(" ")[2]:
            case "table":
                self._row = self._wide = self._tall = 0
            case "table-row":
                self._row_repeats = _count(attributes.get("number-rows-repeated"))
                self._column = self._filled = 0
            case "table-cell" | "covered-table-cell":
                self._repeats = _count(attributes.get("number-columns-repeated"))
                self._has_value = "value-type" in attributes or "formula" in attributes

    def _text(self, text: str) -> None:
        self._has_value = self._has_value or bool(text.strip())

    def _end(self, name: str) -> None:
        self._depth -= 1
        match name.rpartition(" ")[2]:
            case "table-cell" | "covered-table-cell":
                self._column += self._repeats
                if self._has_value:
                    self._filled = self._column
                self._has_value = False
            case "table-row":
                self._row += self._row_repeats
                if self._filled:
                    self._tall = self._row
                    self._wide = max(self._wide, self._filled)
                if self._before + self._tall * self._wide > self._limit:
                    raise Unusable("too_much", detail=f"{self._before + self._tall * self._wide:,} cells")
            case "table":
                self._before += self._tall * self._wide
                self._tall = self._wide = 0


def _count(text: str | None) -> int:
    """How often something repeats. A number that is none counts once."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 1 if not text else 10**11


def _refuse_repeated(path: str, bounds: Bounds) -> None:
    """Raise Unusable when the sheets together have more cells than may be read at once."""
    extent = _Extent(bounds.cells)
    try:
        with zipfile.ZipFile(path) as archive, archive.open("content.xml") as content:
            while chunk := content.read(_CHUNK):
                extent.parser.Parse(chunk, False)
            extent.parser.Parse(b"", True)
    except (xml.parsers.expat.ExpatError, KeyError, zipfile.BadZipFile, RuntimeError, OSError, EOFError) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None


# --- how large an .xls really is

_CELL_RECORDS = {0x0006, 0x00BD, 0x00BE, 0x00D6, 0x00FD, 0x0201, 0x0203, 0x0204, 0x0205, 0x027E, 0x0002, 0x0003, 0x0004,
                 0x0005, 0x007E, 0x0001}  # fmt: skip
"""FORMULA, MULRK, MULBLANK, RSTRING, LABELSST, BLANK, NUMBER, LABEL, BOOLERR, RK and their forms of older versions."""
_BEGIN = {0x0009, 0x0209, 0x0409, 0x0809}


def _refuse_sparse(path: str, bounds: Bounds) -> None:
    """Raise Unusable when the rectangles around all filled cells are more than may be read at once.

    Two cells in far corners make a rectangle of 16 million. The records are looked for in the whole file, in the order
    of its sectors: a workbook is written in order, and what is not found here meets the bound on memory.
    """
    if os.path.getsize(path) > bounds.office:
        raise Unusable("too_much", detail=f"{os.path.getsize(path) // 1_000_000:,} MB")
    with open(path, "rb") as file:
        data = file.read()
    total = tall = wide = 0
    for kind, row, column in _cells(data):
        if kind in _BEGIN:
            total, tall, wide = total + tall * wide, 0, 0
        else:
            tall, wide = max(tall, row + 1), max(wide, column + 1)
        if total + tall * wide > bounds.cells:
            raise Unusable("too_much", detail=f"{total + tall * wide:,} cells")


def _cells(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(record, row, last column) of each cell, and (record, 0, 0) where a sheet begins."""
    start = next((place for kind in (b"\x09\x08\x10\x00\x00\x06", b"\x09\x08\x08\x00\x00\x05") if
                  (place := data.find(kind, 512)) > 0), len(data))  # fmt: skip
    while start + 4 <= len(data):
        kind, length = struct.unpack_from("<HH", data, start)
        if length > 8_228:
            return  # no record is longer: another stream of the file begins here
        if kind in _BEGIN:
            yield kind, 0, 0
        elif kind in _CELL_RECORDS and length >= 4 and start + 4 + length <= len(data):
            row, column = struct.unpack_from("<HH", data, start + 4)
            if kind in (0x00BD, 0x00BE) and length >= 6:
                column = struct.unpack_from("<H", data, start + 2 + length)[0]
            yield kind, row, column
        start += 4 + length


# --- how large an .xlsb really is

_ROW_BEGINS = 0
_BINARY_CELLS = range(1, 12)
"""BrtRowHdr, and the records from BrtCellBlank to BrtFmlaError ([MS-XLSB] 2.3.2)."""


def _refuse_far_cells(path: str, bounds: Bounds) -> None:
    """Raise Unusable when the rectangles around the cells of all sheets are more than may be read at once."""
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for part in archive.namelist():
                if re.fullmatch(r"xl/(work|macro|dialog)?sheets/[^/]+\.bin", part):
                    total += _rectangle(archive.read(part))
                    if total > bounds.cells:
                        raise Unusable("too_much", detail=f"{total:,} cells")
    except (zipfile.BadZipFile, RuntimeError, OSError, EOFError, struct.error, IndexError) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None


def _rectangle(data: bytes) -> int:
    """The cells of the rectangle around those of a sheet's part. Raises IndexError and struct.error where it is cut."""
    place = row = 0
    rows: list[int] = []
    columns: list[int] = []
    while place < len(data):
        kind, place = _length(data, place, 2)
        size, place = _length(data, place, 4)
        if kind == _ROW_BEGINS and size >= 4:
            (row,) = struct.unpack_from("<I", data, place)
        elif kind in _BINARY_CELLS and size >= 4:
            (column,) = struct.unpack_from("<I", data, place)
            rows, columns = _ends(rows, row), _ends(columns, column)
        place += size
    return (rows[1] - rows[0] + 1) * (columns[1] - columns[0] + 1) if rows else 0


def _ends(known: list[int], value: int) -> list[int]:
    return [min(known[0], value), max(known[1], value)] if known else [value, value]


def _length(data: bytes, place: int, most: int) -> tuple[int, int]:
    """A number of up to `most` bytes of seven bits each, and the place behind it."""
    value = 0
    for shift in range(most):
        byte = data[place + shift]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, place + shift + 1
    return value, place + most
