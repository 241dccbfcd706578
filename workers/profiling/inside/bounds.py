"""Limits for reading and describing files. They keep large files cheap and descriptions short."""

from __future__ import annotations

from dataclasses import dataclass

SMALLER = ".smaller.jpg"
"""What the name of a picture's smaller copy ends with, behind the name of the picture."""


@dataclass(frozen=True)
class Bounds:
    """Sizes in bytes for what is read, counts and characters for what is said."""

    whole: int = 16_000_000
    """Files up to this size are read whole, larger ones are sampled."""
    head: int = 2_000_000
    blocks: int = 4
    block: int = 256_000
    unpacked: int = 1_000_000_000
    """A workbook that says it is larger than this when unpacked is not opened."""
    rows: int = 20_000
    """Rows read of a sheet, of JSON lines or of Parquet when the file is sampled."""
    sheets: int = 20
    workbook: int = 3_000_000
    workbook_cells: int = 200_000
    """Workbooks up to this size, and this many cells, are opened a second time for what is merged, noted or not
    computed. Cells that are only formatted count: half a million take as long as a file may."""
    columns: int = 60
    more_names: int = 1_000
    """Columns beyond those described are named only."""
    levels: int = 15
    totals: int = 10
    above: int = 8
    line: int = 200
    head_rows: int = 10
    samples: int = 5
    cell: int = 60
    name: int = 200
    text: int = 2_000
    notes: int = 40
    memory: int = 1_200_000_000
    """Bytes that describing one file may take."""
    seconds: int = 40
    total_seconds: int = 100
    """For one file, and for all of a message."""
    cells: int = 5_000_000
    """Cells of a file that has to be read whole before it can be sampled."""
    columns_most: int = 20_000
    office: int = 60_000_000
    pages: int = 30
    pixels: int = 50_000_000
    picture: int = 4_000_000
    """A picture of more bytes than that gets a smaller copy beside it."""
    side: int = 1_568
    """Pixels of the longer side of such a copy: models that see scale larger pictures down themselves."""
    members: int = 60
    member: int = 64_000_000
    packed: int = 200_000_000
    """Files of a zip that are described; bytes of one of them, and of all together, when unpacked."""
    part: int = 20_000_000
    """Bytes that are looked at of a packed text that is larger. They are more than `whole`, so they are sampled."""
    outline: int = 7_500
    """Characters of the outline of an archive of source code."""
    answer: int = 60_000
    """Characters of the whole answer; with many files each says less."""
