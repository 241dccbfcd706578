"""From a cell's error to a change of its code: the traceback is read, and the next attempt avoids what it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from workers.models.offline.cells import stage_of
from workers.models.offline.reading import failed
from workers.models.offline.values import Exchange, Fix, Fixes, Join, Table

_COLUMN = re.compile(r'df\[("(?:[^"\\]|\\.)+")\] = ')
_ENCODINGS = ("utf-8", "gb18030", "cp1252", "latin-1")


def fixes_of(exchanges: Iterable[Exchange], join: Join) -> Fixes:
    """All that follows from the errors of these cells, in order."""
    found: tuple[Fix, ...] = ()
    for exchange in exchanges:
        if failed(exchange):
            found = (*found, *_read_error(exchange, join, Fixes(found)))
    return Fixes(found)


def error_of(exchange: Exchange) -> str:
    """The error of a failed cell in one line, as Python wrote it; the status when there was none."""
    text = exchange.observation or ""
    lines = re.findall(r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt)\b(?::.*)?)$", text, re.MULTILINE)
    if lines:
        return str(lines[-1]).strip()[:300]
    status = re.match(r'Cell ".*": (\w+)', text)
    return status[1] if status else "error"


def _read_error(exchange: Exchange, join: Join, before: Fixes) -> list[Fix]:
    error = error_of(exchange)
    text = exchange.observation or ""
    line = _failing_line(exchange)
    column = _COLUMN.search(line)
    name = str(ast.literal_eval(column[1])) if column else ""
    if "UnicodeDecodeError" in error or "UnicodeError" in error:
        table = _table_in(line, join) or join.base
        later = tuple(name for name in _ENCODINGS if name not in _tried_encodings(before, table))
        return [Fix("encoding", table.path, _likely_encoding(text, later))] if later else []
    if "ParserError" in error or "EmptyDataError" in error:
        table = _table_in(line, join) or join.base
        return [Fix("bad_lines" if ("separator", table.path) in before else "separator", table.path)]
    if name and "to_datetime" in line:
        return [Fix("date", name)]
    if name and "astype(float)" in line:
        return [Fix("number", name)]
    if "MergeError" in error:
        return [Fix("merge", join.key or "")]
    if stage_of(str(exchange.arguments.get("code", ""))) == "load":
        named = _table_in(line, join)
        return [Fix("reader", table.path) for table in ([named] if named else join.tables)]
    return []


def read_plainly(join: Join, fixes: Fixes) -> Join:
    """The same tables, without the loading lines that have failed: the plain reader of the format takes their place."""

    def plain(table: Table) -> Table:
        return replace(table, read="") if ("reader", table.path) in fixes else table

    return replace(join, base=plain(join.base), others=tuple(map(plain, join.others)))


def _tried_encodings(before: Fixes, table: Table) -> set[str]:
    tried = {fix.value for fix in before.all if (fix.kind, fix.subject) == ("encoding", table.path)}
    return {"utf-8", (table.encoding or "utf-8").casefold(), *tried}


def _failing_line(exchange: Exchange) -> str:
    """The line of the cell's code that the error stopped at."""
    code = str(exchange.arguments.get("code", "")).splitlines()
    text = exchange.observation or ""
    numbers = re.findall(r"The cell stopped at line (\d+)", text) or re.findall(
        r'File "<[^"]*>", line (\d+), in <module>', text
    )
    if numbers and 0 < int(numbers[-1]) <= len(code):
        return code[int(numbers[-1]) - 1]
    return text


def _table_in(line: str, join: Join) -> Table | None:
    return next((table for table in (*join.tables, *join.unused) if table.path in line), None)


def _likely_encoding(text: str, options: tuple[str, ...]) -> str:
    """Of the encodings not yet tried: a high byte that starts no UTF-8 text suggests a Western one."""
    byte = re.search(r"can't decode byte (0x[0-9a-f]{2})", text)
    western = byte is not None and int(byte[1], 16) >= 0xE0 and "cp1252" in options
    return "cp1252" if western else options[0]
