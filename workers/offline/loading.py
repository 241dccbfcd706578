"""The expression that loads a table: the one of its file's description, with what earlier errors taught."""

from __future__ import annotations

import ast
import re

from workers.offline.cells import literal
from workers.offline.values import Table


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
