"""One file per table: read, written, and completed without touching what a person wrote."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

import yaml

from workers.sources.knowledge.entries import ColumnEntry, TableEntry, Trust
from workers.sources.knowledge.page import Cells, Page, read_page

HEADINGS = ("column", "type", "meaning", "range", "unit")
OTHER_HEADINGS = {
    "name": "column",
    "values": "range",
    "description": "meaning",
    "列": "column",
    "字段": "column",
    "类型": "type",
    "含义": "meaning",
    "说明": "meaning",
    "范围": "range",
    "取值": "range",
    "单位": "unit",
}
"""Headings that people write instead; the order of the headings is free, and further ones are left alone."""

FRONT = ("table", "source", "trust", "synonyms")


def read_table(file: str, text: str) -> TableEntry:
    """The entry that a file describes. Raises PageFault."""
    page = read_page(file, text)
    refuse_unknown(page, FRONT)
    if not page.text("table"):
        raise page.fault("names no table: write `table: NAME` in the front matter.", line=1)
    columns: dict[str, ColumnEntry] = {}
    if page.table is not None:
        at = _places(page, page.table)
        for line, cells in page.table.rows:
            cell = {heading: _plain(cells[index]) for heading, index in at.items() if index < len(cells)}
            for name in _names(cell["column"]):
                if name.casefold() in columns:
                    raise page.fault(f"the column {name} stands twice.", line=line)
                columns[name.casefold()] = ColumnEntry(
                    name, cell.get("type", ""), cell.get("meaning", ""), cell.get("range", ""), cell.get("unit", "")
                )
            if not _names(cell["column"]):
                raise page.fault("a row names no column.", line=line)
    return TableEntry(
        page.text("table"),
        page.before,
        page.text("source"),
        trust_of(page),
        page.items("synonyms"),
        tuple(columns.values()),
        page.after,
    )


def write_table(entry: TableEntry) -> str:
    """The file of an entry. Reading it gives the same entry again."""
    front = [
        _line("table", entry.table),
        _line("source", entry.source),
        _line("trust", entry.trust.value),
        *([_line("synonyms", list(entry.synonyms))] if entry.synonyms else []),
    ]
    parts = ["---\n", *front, f"---\n\n# {entry.table}\n"]
    if entry.meaning:
        parts.append(f"\n{entry.meaning}\n")
    rows = [row(HEADINGS, column) for column in entry.columns]
    parts.append("\n" + "\n".join(["| " + " | ".join(HEADINGS) + " |", "| --- " * len(HEADINGS) + "|", *rows]) + "\n")
    if entry.notes:
        parts.append(f"\n{entry.notes}\n")
    return "".join(parts)


def with_columns(file: str, text: str, added: Sequence[ColumnEntry]) -> str:
    """The text with rows for further columns below the last one; all else stays as a person wrote it.

    Raises PageFault when the file has no table of columns.
    """
    page = read_page(file, text)
    if page.table is None:
        raise page.fault("has no table of columns to add to: write one, or move the file away and draft again.")
    at = _places(page, page.table)
    headings = ["" for _ in page.table.headings]
    for heading, index in at.items():
        headings[index] = heading
    lines = text.splitlines(keepends=True)
    last = page.table.rows[-1][0] if page.table.rows else page.table.first + 1
    end = "\r\n" if lines[last - 1].endswith("\r\n") else "\n"
    if not lines[last - 1].endswith(("\n", "\r")):
        lines[last - 1] += end
    return "".join([*lines[:last], *(row(headings, column) + end for column in added), *lines[last:]])


def row(headings: Iterable[str], column: ColumnEntry) -> str:
    """A row of the table of columns."""
    cells = {
        "column": column.name.replace(",", "\\,"),
        "type": column.type,
        "meaning": column.meaning,
        "range": column.range,
        "unit": column.unit,
    }
    return "|" + "|".join(f" {shown} " if (shown := _cell(cells.get(name, ""))) else " " for name in headings) + "|"


def trust_of(page: Page) -> Trust:
    """The trust that a page names; without one it is unreviewed. Raises PageFault for another word."""
    written = page.text("trust").lower()
    if not written:
        return Trust.UNREVIEWED
    try:
        return Trust(written)
    except ValueError:
        raise page.fault(f"trust is {written!r}; write one of {', '.join(Trust)}.", "trust") from None


def refuse_unknown(page: Page, known: Sequence[str]) -> None:
    """Raise PageFault for a name of the front matter that is not known, with the nearest one that is."""
    for name in page.front:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise page.fault(f"unknown name {name!r} in the front matter; the nearest known one is {near!r}.", name)


def _places(page: Page, table: Cells) -> dict[str, int]:
    """Where each known heading stands. Raises PageFault when no heading says which columns are meant."""
    at: dict[str, int] = {}
    for index, written in enumerate(table.headings):
        heading = OTHER_HEADINGS.get(written, written)
        if heading in HEADINGS:
            at.setdefault(heading, index)
    if "column" not in at:
        raise page.fault(f"the table has no heading `column`; write: {' | '.join(HEADINGS)}.", line=table.first)
    return at


def _names(cell: str) -> list[str]:
    """The columns that a row is about; a comma inside a name is written `\\,`."""
    parts = (part.replace("\\,", ",").strip().strip("`") for part in re.split(r"(?<!\\),", cell))
    return [part for part in parts if part]


def _plain(cell: str) -> str:
    """A cell without the marks that people put around names."""
    found = re.fullmatch(r"`([^`]*)`", cell)
    return found[1] if found else cell


def _line(name: str, value: str | list[str]) -> str:
    """A line of the front matter; what is empty stays empty, for a person to fill in."""
    if not value:
        return f"{name}:\n"
    if isinstance(value, list):
        return f"{name}: {yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=100_000)}"
    return str(yaml.safe_dump({name: value}, allow_unicode=True, width=100_000))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
