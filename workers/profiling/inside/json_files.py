"""JSON: lists of records anywhere in a value as tables, JSON lines, and numbers too long for pandas."""

from __future__ import annotations

import json
import re
from typing import Any

from .bounds import Bounds
from .frames import LARGEST, cut, describe_frame
from .kinds import Unusable
from .lines import call, note
from .nested import is_records, tables_in, too_wide
from .texts import Text, document

_AS_WRITTEN = {"convert_axes": False, "dtype": False}
"""Without these pandas takes the key "2024" for a number, and the key "" for nothing at all."""


def json_value(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """A file of one JSON value, or of one on each line. Raises Unusable when it is neither."""
    text = Text(path, size, bounds)
    if text.is_sampled:
        return (
            json_lines(path, size, bounds)
            if _is_json_line(text.head)
            else document(text, "json") | {"notes": [note("large_json")]}
        )
    try:
        value = json.loads(text.head)
    except ValueError as error:
        if _is_json_line(text.head):
            return json_lines(path, size, bounds)
        raise Unusable("corrupt", detail=f"JSON: {cut(error, 120)}") from None
    except RecursionError:
        raise Unusable("too_much", detail="JSON: nested too deeply") from None
    return _records_of(text, value) or document(text, "json")


def tables_of(path: str, size: int, bounds: Bounds) -> dict[str, Any] | None:
    """The tables of a file whose name does not say that it is JSON. None where it holds none."""
    try:
        described = json_value(path, size, bounds)
    except Unusable:
        return None
    return described if described.get("tables") else None


def _records_of(text: Text, value: Any) -> dict[str, Any] | None:
    """A JSON value that holds lists of records, at its top or anywhere under its keys, as tables."""
    arguments = text.arguments() | _AS_WRITTEN
    keys = [key for key, held in value.items() if is_records(held)] if isinstance(value, dict) else []
    whole = f"json.loads({call('Path', text.path, {})}{call('.read_text', None, {'encoding': text.encoding.name})})"
    tables = tables_in(value, whole, text.stem, text.bounds)
    if not tables:
        return None
    loses_digits = _loses_digits(text.head, tables)
    if loses_digits:
        whole = f"{whole[:-1]}, {_LONG_AS_TEXT})"
        tables = tables_in(json.loads(text.head, parse_int=_long_as_text), whole, text.stem, text.bounds)
    if loses_digits:
        loading = tables[0]["read"]
    elif is_records(value):
        loading = call("pd.read_json", text.path, arguments)
        if any(isinstance(field, dict) for record in value[:1_000] for field in record.values()):
            loading = f"pd.json_normalize({loading}.to_dict('records'))"
    elif key := [key for key in keys if tables[0]["read"] == f"pd.json_normalize({whole}[{key!r}])"]:
        series = call("pd.read_json", text.path, {"typ": "series"} | arguments)
        loading = f"pd.json_normalize({series}[{key[0]!r}])"
    else:
        loading = tables[0]["read"]
    if len(tables) == 1:
        tables[0]["read"] = ""
    return {
        "format": "json",
        "encoding": text.encoding.name,
        "tables": tables,
        "read_hint": loading,
        "notes": [note("tables")] if len(tables) > 1 else [],
    }


_LONG_NUMBER = re.compile(r"(?<![\w.+-])-?(\d{16,400})(?![\w.])")
_LONG_AS_TEXT = "parse_int=lambda n: n if len(n) > 15 else int(n)"


def _long_as_text(digits: str) -> str | int:
    return digits if len(digits) > 15 else int(digits)


def _loses_digits(text: str, tables: list[dict[str, Any]]) -> bool:
    """Whether whole numbers are too long for pandas: beside gaps they become numbers with decimals."""
    longest = max((len(digits), int(digits)) for digits in _LONG_NUMBER.findall(text)[:_LOOKED_AT] or ["0"])[1]
    columns = [column for table in tables for column in table["columns"]]
    return longest > LARGEST and any(
        (column["dtype"] == "object" and longest >= 2**63)
        or (column["dtype"] == "float64" and any(abs(float(end)) >= LARGEST for end in column["spread"]))
        for column in columns
    )


_LOOKED_AT = 1_000


def _is_json_line(head: str) -> bool:
    line = head.lstrip().partition("\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def json_lines(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """A file with a JSON value on each line. Raises Unusable when a line has none, but for a few that are cut."""
    import pandas as pd  # noqa: PLC0415 - as above

    text = Text(path, size, bounds)
    lines = [line for line in text.lines() if line.strip()]
    records, bad = [], 0
    for line in lines[: bounds.rows] if text.is_sampled else lines:
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            bad += 1
    cut_lines = bad if 0 < bad <= _MOST_CUT * len(records) and not text.is_sampled and _shows_cuts(lines, bad) else 0
    if bad > cut_lines or not records:
        raise Unusable("corrupt", detail=f"JSON lines: {bad} of {len(records) + bad} lines are not JSON")
    if not is_records(records):
        return document(text, "jsonl")
    if too_wide(records, bounds):
        return document(text, "jsonl") | {"notes": [note("large_json")]}
    arguments = {"lines": True} | _AS_WRITTEN | text.arguments()
    arguments.pop("low_memory", None)
    loading = call("pd.read_json", path, arguments)
    if any(isinstance(field, dict) for record in records[:1_000] for field in record.values()):
        loading = f"pd.json_normalize({loading}.to_dict('records'))"
    if cut_lines:
        loading = _line_by_line(path, text, "", _WHOLE_LINE)
    rows = text.count_lines() if text.is_sampled else len(records)
    table = describe_frame(pd.json_normalize(records), text.stem, bounds, rows=rows, sampled=text.is_sampled)
    if _loses_digits(text.head, [table]):
        loading = _line_by_line(path, text, f", {_LONG_AS_TEXT}", _WHOLE_LINE if cut_lines else "line.strip()")
        whole = [line for line in lines if not cut_lines or _is_whole(line)]
        records = [json.loads(line, parse_int=_long_as_text) for line in whole[: len(records)]]
        table = describe_frame(pd.json_normalize(records), text.stem, bounds, rows=rows, sampled=text.is_sampled)
    notes = [note("first_rows", rows=len(records))] if text.is_sampled else []
    if cut_lines:
        notes.append(note("cut_lines", count=cut_lines))
    return {
        "format": "jsonl",
        "encoding": text.encoding.name,
        "tables": [table],
        "read_hint": loading,
        "notes": notes,
    }


_MOST_CUT = 0.1
_WHOLE_LINE = "line.strip()[:1] + line.strip()[-1:] == '{}'"


def _is_whole(line: str) -> bool:
    return line.strip()[:1] + line.strip()[-1:] == "{}"


def _shows_cuts(lines: list[str], bad: int) -> bool:
    """Whether lines without an end or a beginning are all that is wrong: a program stopped while it wrote them."""
    return sum(not _is_whole(line) for line in lines) == bad


def _line_by_line(path: str, text: Text, numbers: str, which: str) -> str:
    """The code that reads these lines as records."""
    read = call(".read_text", None, {"encoding": text.encoding.name})
    written = f"{call('Path', path, {})}{read}.split('\\n')"
    return f"pd.json_normalize([json.loads(line{numbers}) for line in {written} if {which}])"
