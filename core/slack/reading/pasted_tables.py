"""Cells that a person pasted from a spreadsheet: Slack sends them as a table block, not as text or as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_ROWS = 200
MAX_COLUMNS = 50
TABLES = frozenset({"table", "data_table"})
"""Types of blocks. Apps post the second one."""
_MAX_DEPTH = 8

_TOGETHER = frozenset({"rich_text_section", "rich_text_quote", "rich_text_preformatted"})
"""Their parts are one text. Those of other structures are texts of their own, such as the items of a list."""
_MAIL = ("mailto:", "tel:")


def pasted_tables(event: Mapping[str, Any], name_of: Callable[[str], str] = str) -> str:
    """The table blocks of a message as tab-separated lines, with an empty line between tables; "" without any.

    `name_of` turns the id of a person into a name.
    """
    tables = (block for block in _blocks(event) if block.get("type") in TABLES)
    return "\n\n".join(_lines(table, name_of) for table in tables).strip("\n")


def _blocks(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    attachments = [each for each in _list(event.get("attachments")) if isinstance(each, Mapping)]
    for holder in (event, *attachments):
        yield from (block for block in _list(holder.get("blocks")) if isinstance(block, Mapping))


def _lines(table: Mapping[str, Any], name_of: Callable[[str], str]) -> str:
    rows = _list(table.get("rows"))[:MAX_ROWS]
    return "\n".join("\t".join(_cell(cell, name_of) for cell in _list(row)[:MAX_COLUMNS]) for row in rows)


def _cell(cell: Any, name_of: Callable[[str], str]) -> str:
    """The text of a cell of any block structure, on one line and without tabs."""
    return " ".join(_text_in(cell, name_of).split())


def _text_in(part: Any, name_of: Callable[[str], str], depth: int = 0) -> str:
    if depth > _MAX_DEPTH or not isinstance(part, Mapping):
        return ""
    if isinstance(part.get("text"), str) and part["text"]:
        return str(part["text"])
    if "elements" not in part:
        return _without_text(part, name_of)
    texts = (_text_in(each, name_of, depth + 1) for each in _list(part["elements"]))
    return ("" if part.get("type") in _TOGETHER else " ").join(texts)


def _without_text(part: Mapping[str, Any], name_of: Callable[[str], str]) -> str:
    """What stands in a cell where Slack shows something in place of a text, such as an address that it found there."""
    match part:
        case {"type": "link", "url": str(url)}:
            return next((url.removeprefix(scheme) for scheme in _MAIL if url.startswith(scheme)), url)
        case {"type": "emoji", "unicode": str(codes)} if shown := _signs(codes):
            return shown
        case {"type": "emoji", "name": str(name)}:
            return f":{name}:"
        case {"type": "user", "user_id": str(user)}:
            return f"@{name_of(user)}"
        case {"type": "channel", "channel_id": str(channel)}:
            return f"#{channel}"
        case {"type": "usergroup", "usergroup_id": str(name)} | {"type": "broadcast", "range": str(name)}:
            return f"@{name}"
        case {"type": "date", "fallback": str(value)} | {"type": "color", "value": str(value)}:
            return value
        case {"type": "raw_number", "value": int(number) | float(number)}:
            return str(number)
    return ""


def _signs(codes: str) -> str:
    """The signs of code points such as "1f1e9-1f1ea"; "" if they are none."""
    try:
        return "".join(chr(int(code, 16)) for code in codes.split("-"))
    except (ValueError, OverflowError):
        return ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
