"""Changes to the code of the next attempt, read from the error of a cell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from core.steps import CellRan
from workers.offline.cells import stage_of
from workers.offline.values import Fix, Fixes, Join, Table

_COLUMN = re.compile(r'df\[("(?:[^"\\]|\\.)+")\] = ')
_ENCODINGS = ("utf-8", "gb18030", "cp1252", "latin-1")


def fixes_of(ran: Iterable[CellRan], join: Join) -> Fixes:
    """All that follows from the errors of these cells, in order."""
    found: tuple[Fix, ...] = ()
    for cell in ran:
        if cell.status != "ok":
            found = (*found, *_read_error(cell, join, Fixes(found)))
    return Fixes(found)


def error_of(cell: CellRan) -> str:
    """The error of a failed cell in one line, as Python wrote it; the status when there was none."""
    pattern = r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt)\b(?::.*)?)$"
    lines = re.findall(pattern, cell.error, re.MULTILINE)
    return str(lines[-1]).strip()[:300] if lines else cell.status


def _read_error(cell: CellRan, join: Join, before: Fixes) -> list[Fix]:
    error = error_of(cell)
    line = _failing_line(cell)
    column = _COLUMN.search(line)
    name = str(ast.literal_eval(column[1])) if column else ""
    if "UnicodeDecodeError" in error or "UnicodeError" in error:
        table = _table_in(line, join) or join.base
        later = tuple(name for name in _ENCODINGS if name not in _tried_encodings(before, table))
        return [Fix("encoding", table.path, _likely_encoding(cell.error, later))] if later else []
    if "ParserError" in error or "EmptyDataError" in error:
        table = _table_in(line, join) or join.base
        return [Fix("bad_lines" if ("separator", table.path) in before else "separator", table.path)]
    if name and "to_datetime" in line:
        return [Fix("date", name)]
    if name and "astype(float)" in line:
        return [Fix("number", name)]
    if "MergeError" in error:
        return [Fix("merge", join.key or "")]
    if stage_of(cell.code) == "load":
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


def _failing_line(cell: CellRan) -> str:
    """The line of the cell's code that the error stopped at; the whole error when that is not known."""
    code = cell.code.splitlines()
    if cell.error_line and 0 < cell.error_line <= len(code):
        return code[cell.error_line - 1]
    return cell.error


def _table_in(line: str, join: Join) -> Table | None:
    return next((table for table in (*join.tables, *join.unused) if table.path in line), None)


def _likely_encoding(text: str, options: tuple[str, ...]) -> str:
    """The likeliest of the encodings not yet tried: a byte that cannot start UTF-8 text suggests a Western one."""
    byte = re.search(r"can't decode byte (0x[0-9a-f]{2})", text)
    western = byte is not None and int(byte[1], 16) >= 0xE0 and "cp1252" in options
    return "cp1252" if western else options[0]
