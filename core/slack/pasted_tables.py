"""Cells that a person pasted from a spreadsheet: Slack sends them as a table block, not as text or as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_ROWS = 200
MAX_COLUMNS = 50
_MAX_DEPTH = 8


def pasted_tables(event: Mapping[str, Any]) -> str:
    """The table blocks of a message as tab-separated lines, with an empty line between tables; "" without any."""
    return "\n\n".join(_lines(block) for block in _blocks(event) if block.get("type") == "table").strip("\n")


def _blocks(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    attachments = [each for each in _list(event.get("attachments")) if isinstance(each, Mapping)]
    for holder in (event, *attachments):
        yield from (block for block in _list(holder.get("blocks")) if isinstance(block, Mapping))


def _lines(table: Mapping[str, Any]) -> str:
    rows = _list(table.get("rows"))[:MAX_ROWS]
    return "\n".join("\t".join(_text_in(cell) for cell in _list(row)[:MAX_COLUMNS]) for row in rows)


def _text_in(cell: Any, depth: int = 0) -> str:
    """The text of a cell of any block structure, on one line and without tabs."""
    if depth > _MAX_DEPTH or not isinstance(cell, Mapping):
        return ""
    if isinstance(cell.get("text"), str):
        return " ".join(cell["text"].split())
    return "".join(_text_in(part, depth + 1) for part in _list(cell.get("elements")))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
