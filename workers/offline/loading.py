"""The expression that loads a table: the one of its file's description, with what earlier errors taught."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from core import python_source
from core.steps import CellRan
from workers.offline.cells import literal, stage_of
from workers.offline.values import Fixes, Join, Table


def read_line(table: Table, **changes: object) -> str:
    """The expression that loads a table: the one of its abstract, with `changes` to its reader's keyword arguments.

    Without a usable expression in the abstract one is made for the table's format.
    """
    named = '.rename(columns=lambda name: " ".join(str(name).split()))' if table.has_blanks else ""
    return _read_line(table, changes) + named


def _read_line(table: Table, changes: dict[str, object]) -> str:
    if table.has_own_line:
        return table.read
    if table.sheet is not None and table.format != "html":
        changes = {"sheet_name": table.sheet, **changes}
    plain = _READERS.get(table.format, "pd.read_csv({})").format(literal(table.path))
    expression, call = next((text, call) for text in (table.read.strip(), plain) if (call := _reader_in(text)))
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg}
    if table.sheet is not None and given.get("sheet_name", repr(table.sheet)) != repr(table.sheet):
        given.pop("header", None)  # the abstract's expression loads another sheet
    given |= {key: literal(value) for key, value in changes.items()}
    arguments = ", ".join([literal(table.path), *(f"{key}={value}" for key, value in given.items())])
    read = f"{ast.unparse(call.func)}({arguments})"
    whole = expression.replace(ast.get_source_segment(expression, call) or expression, read)
    if table.sheet is not None and table.format == "html":
        whole = f"{whole.removesuffix('[0]')}[{int(table.sheet)}]"  # a page's tables are numbered
    return f"{whole}.rename(columns=str)" if given.get("header") == "None" else whole


_READERS = {
    "tsv": "pd.read_table({})",
    "xlsx": "pd.read_excel({})",
    "parquet": "pd.read_parquet({})",
    "feather": "pd.read_feather({})",
    "orc": "pd.read_orc({})",
    "json": 'pd.json_normalize(pd.read_json({}, convert_axes=False, dtype=False).to_dict("records"))',
    "jsonl": 'pd.json_normalize(pd.read_json({}, lines=True, dtype=False).to_dict("records"))',
    "html": "pd.read_html({})[0]",
}
"""The simplest expression that loads a file of a format."""


def _reader_in(expression: str) -> ast.Call | None:
    """The call within an expression of pandas that reads a file: it names the file, and all else by keyword."""
    try:
        node = python_source.expression(expression)
    except (SyntaxError, ValueError):
        return None
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    readers = [call for call in calls if re.fullmatch(r"pd\.read_\w+", ast.unparse(call.func)) and len(call.args) == 1]
    return readers[0] if readers and expression.startswith("pd.") else None


_COLUMN = re.compile(r'df\[("(?:[^"\\]|\\.)+")\] = ')
_ENCODINGS = ("utf-8", "gb18030", "cp1252", "latin-1")


def fixes_of(ran: Iterable[CellRan], join: Join) -> Fixes:
    """All that follows from the errors of these cells, in order."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in ran:
        if cell.status != "ok":
            for kind, subject, value in _read_error(cell, join, found):
                found.setdefault((kind, subject), []).append(value)
    return found


def error_of(cell: CellRan) -> str:
    """The error of a failed cell in one line, as Python wrote it; the status when there was none."""
    pattern = r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt)\b(?::.*)?)$"
    lines = re.findall(pattern, cell.error, re.MULTILINE)
    return str(lines[-1]).strip()[:300] if lines else cell.status


def _read_error(cell: CellRan, join: Join, before: Fixes) -> list[tuple[str, str, str]]:
    """Kind, subject and value of the fixes that one error calls for."""
    error, line = error_of(cell), _failing_line(cell)
    column = _COLUMN.search(line)
    name = str(python_source.literal(column[1])) if column else ""
    named = next((table for table in (*join.tables, *join.unused) if table.path in line), None)
    path = (named or join.base).path
    if "UnicodeDecodeError" in error or "UnicodeError" in error:
        tried = {"utf-8", ((named or join.base).encoding or "utf-8").casefold(), *before.get(("encoding", path), ())}
        later = [encoding for encoding in _ENCODINGS if encoding not in tried]
        return [("encoding", path, _likely_encoding(cell.error, later))] if later else []
    if "ParserError" in error or "EmptyDataError" in error:
        return [("bad_lines" if ("separator", path) in before else "separator", path, "")]
    if name and ("to_datetime" in line or "astype(float)" in line):
        return [("date" if "to_datetime" in line else "number", name, "")]
    if "MergeError" in error:
        return [("merge", join.key or "", "")]
    if stage_of(cell.code) == "load":
        return [("reader", table.path, "") for table in ([named] if named else join.tables)]
    return []


def read_plainly(join: Join, fixes: Fixes) -> Join:
    """The same tables, without the loading lines that have failed: the plain reader of the format takes their place."""

    def plain(table: Table) -> Table:
        failed = ("reader", table.path) in fixes and not table.has_own_line
        return replace(table, read="") if failed else table

    return replace(join, base=plain(join.base), others=tuple(map(plain, join.others)))


def _failing_line(cell: CellRan) -> str:
    """The line of the cell's code that the error stopped at; the whole error when that is not known."""
    code = cell.code.splitlines()
    if cell.error_line and 0 < cell.error_line <= len(code):
        return code[cell.error_line - 1]
    return cell.error


def _likely_encoding(text: str, options: Sequence[str]) -> str:
    """The likeliest of the encodings not yet tried: a byte that cannot start UTF-8 text suggests a Western one."""
    byte = re.search(r"can't decode byte (0x[0-9a-f]{2})", text)
    western = byte is not None and int(byte[1], 16) >= 0xE0 and "cp1252" in options
    return "cp1252" if western else options[0]
