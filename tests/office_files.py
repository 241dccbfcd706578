"""Word documents and binary workbooks as tests need them: what a reader asks for, and nothing else."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Cells are XML, so that one may hold several paragraphs."""
    cells = ("".join(f"<w:tc>{cell if '<' in cell else paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def document(*blocks: str) -> bytes:
    """A Word document, with what a reader needs and nothing else."""
    target = f"<Relationship Id='r1' Type='{OFFICE}/officeDocument' Target='word/document.xml'/>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("_rels/.rels", f"<Relationships xmlns='{RELATIONS}'>{target}</Relationships>")
        archive.writestr(
            "word/document.xml", f"<w:document xmlns:w='{W}'><w:body>{''.join(blocks)}</w:body></w:document>"
        )
    return packed.getvalue()


def record(kind: int, content: bytes = b"") -> bytes:
    """One record of [MS-XLSB]: its kind and length are written with seven bits in a byte."""
    written = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size = len(content)
    length = b""
    while size >= 128:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return written + length + bytes([size]) + content


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def sheet(cells: dict[tuple[int, int], str | float]) -> bytes:
    parts = [record(129), record(148, struct.pack("<4I", 0, 9, 0, 9)), record(145)]
    for row in sorted({row for row, _ in cells}):
        parts.append(record(0, struct.pack("<I", row) + bytes(13)))
        for column, value in sorted((c, v) for (r, c), v in cells.items() if r == row):
            kind, content = (6, wide(value)) if isinstance(value, str) else (5, struct.pack("<d", value))
            parts.append(record(kind, struct.pack("<II", column, 0) + content))
    return b"".join([*parts, record(146), record(130)])


def binary_workbook(**sheets: dict[tuple[int, int], str | float]) -> bytes:
    book = b"".join(
        record(156, struct.pack("<II", 0, number) + wide(f"r{number}") + wide(name))
        for number, name in enumerate(sheets, 1)
    )
    related = "".join(
        f"<Relationship Id='r{number}' Type='{OFFICE}/worksheet' Target='worksheets/sheet{number}.bin'/>"
        for number in range(1, len(sheets) + 1)
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/_rels/workbook.bin.rels", f"<Relationships xmlns='{RELATIONS}'>{related}</Relationships>")
        archive.writestr("xl/workbook.bin", record(131) + record(143) + book + record(144) + record(132))
        for number, cells in enumerate(sheets.values(), 1):
            archive.writestr(f"xl/worksheets/sheet{number}.bin", sheet(cells))
    return packed.getvalue()


def cells_of(rows: Sequence[Sequence[str | float]]) -> dict[tuple[int, int], str | float]:
    return {(r, c): value for r, row in enumerate(rows) for c, value in enumerate(row)}
