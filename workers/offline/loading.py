"""The expression that loads a table: the one of its file's description, with what earlier errors taught."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from core.steps import CellRan
from workers.offline.cells import literal, stage_of
from workers.offline.values import Fix, Fixes, Join, Table


def read_line(table: Table, **changes: object) -> str:
    """The expression that loads a table: the one of its abstract, with `changes` to its reader's keyword arguments.

    Without a usable expression in the abstract one is made for the table's format.
    """
    if table.sheet is not None and table.format != "html":
        changes = {"sheet_name": table.sheet, **changes}
    expression = table.read.strip()
    call = _reader_in(expression)
    if call is None:
        expression = _plain_reading(table)
        call = _reader_in(expression)
    if call is None:
        return expression
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg}
    if table.sheet is not None and given.get("sheet_name", repr(table.sheet)) != repr(table.sheet):
        given.pop("header", None)  # the abstract's expression loads another sheet
    arguments = [
        literal(table.path),
        *(
            f"{key}={_quoted(value)}"
            for key, value in {**given, **{key: literal(value) for key, value in changes.items()}}.items()
        ),
    ]
    read = f"{ast.unparse(call.func)}({', '.join(arguments)})"
    whole = expression.replace(ast.get_source_segment(expression, call) or expression, read)
    if table.sheet is not None and table.format == "html":
        whole = f"{whole.removesuffix('[0]')}[{int(table.sheet)}]"  # a page's tables are numbered
    return f"{whole}.rename(columns=str)" if given.get("header") == "None" else whole


def _plain_reading(table: Table) -> str:
    """The simplest expression that loads a file of this format."""
    path = literal(table.path)
    text = f"Path({path}).read_text(encoding={literal(table.encoding or 'utf-8')})"
    match table.format:
        case "json":
            return f"pd.json_normalize(json.loads({text}))"
        case "jsonl":
            return f'pd.json_normalize([json.loads(line) for line in {text}.split("\\n") if line.strip()])'
        case "html":
            return f"pd.read_html({path})[0]"
        case _:
            return f"pd.{_READERS.get(table.format, 'read_csv')}({path})"


_READERS = {
    "csv": "read_csv",
    "tsv": "read_table",
    "xlsx": "read_excel",
    "parquet": "read_parquet",
}


def _reader_in(expression: str) -> ast.Call | None:
    """The call within an expression of pandas that reads a file: it names the file, and all else by keyword."""
    try:
        node = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    readers = [call for call in calls if re.fullmatch(r"pd\.read_\w+", ast.unparse(call.func)) and len(call.args) == 1]
    return readers[0] if readers and expression.startswith("pd.") else None


def _quoted(source: str) -> str:
    """Source of a constant with our double quotes."""
    try:
        return literal(ast.literal_eval(source))
    except ValueError:
        return source


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
