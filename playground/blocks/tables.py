"""table and data_table. Slack raised some limits later. The lower limits are kept, so what passes here passes there."""

from __future__ import annotations

from typing import Any

from playground.blocks.rich_text import rich_text
from playground.blocks.rules import (
    Complaint,
    Complaints,
    all_of,
    boolean,
    by_type,
    items,
    number,
    one_of,
    shape,
    string,
)

ROWS, COLUMNS, CHARACTERS = 100, 20, 10_000
BLOCK_ID = string(255, 0)

_raw_text = shape({"text": string(CHARACTERS)})
_raw_number = shape({"value": number(-1e308, 1e308), "text": string(CHARACTERS)})
_cell = by_type({"raw_text": _raw_text, "raw_number": _raw_number, "rich_text": rich_text})


def _column_setting(value: Any, pointer: str) -> Complaints:
    if value is not None:
        yield from shape({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean})(value, pointer)


def characters(value: Any) -> int:
    """The characters that people see in a cell, a row or a whole table."""
    match value:
        case list():
            return sum(characters(each) for each in value)
        case dict():
            return sum(
                len(each) if name == "text" and isinstance(each, str) else characters(each)
                for name, each in value.items()
            )
    return 0


def _few_characters(value: Any, pointer: str) -> Complaints:
    if characters(value.get("rows")) > CHARACTERS:
        yield Complaint(f"must be less than {CHARACTERS + 1} characters over all cells", f"{pointer}/rows")


def _rectangular(value: Any, pointer: str) -> Complaints:
    rows = value.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return
    if len({len(row) for row in rows}) > 1:
        yield Complaint("all rows must have the same number of cells", f"{pointer}/rows")
    for place, cell in enumerate(rows[0] if rows else []):
        if isinstance(cell, dict) and cell.get("type") == "rich_text":
            yield Complaint("a header cell cannot be rich_text", f"{pointer}/rows/0/{place}")


table = all_of(
    shape(
        {"rows": items(items(_cell, COLUMNS), ROWS)},
        {"column_settings": items(_column_setting, COLUMNS, 0), "block_id": BLOCK_ID},
    ),
    _few_characters,
)
data_table = all_of(
    shape(
        {"caption": string(255), "rows": items(items(_cell, COLUMNS), ROWS + 1, 2)},
        {
            "page_size": number(1, 100, whole=True),
            "row_header_column_index": number(0, COLUMNS - 1, whole=True),
            "block_id": BLOCK_ID,
        },
    ),
    _rectangular,
    _few_characters,
)
