"""The code of a cell, composed from the files in `templates/` and the functions in `cell_functions.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from workers.models.offline.values import Cell, Column, Table

MARK = "# {stage} · {title}"
"""The first line of every cell; `stage_of` reads it back from code that a thread remembers."""

_MARK = re.compile(r"\A# ([a-z]+\d*) · ")


def py(value: object) -> str:
    """A value as Python source, with double quotes: text, numbers, None, booleans, lists, tuples and dicts of these."""
    if isinstance(value, str):
        inner = (
            value.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\r", "\\r")
            .replace("\t", "\\t")
        )
        return f'"{inner}"' if value.isprintable() else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{py(key)}: {py(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(py(item) for item in value) + "]"
    return repr(value)


_JINJA = Environment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # noqa: S701 - Python source, not HTML
)
_JINJA.filters["py"] = py
_JINJA.filters["cap"] = lambda text: text[:1].upper() + text[1:]


@cache
def functions() -> dict[str, str]:
    """The source of every function that a cell may define, by name."""
    source = resources.files(__package__).joinpath("cell_functions.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    return {
        node.name: (ast.get_source_segment(source, node) or "").strip()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


@cache
def _template(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(f"templates/{name}.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def cell(kind: str, stage: str, language: str, variables: Mapping[str, Any]) -> Cell:
    """The cell of the template `kind`. Raises jinja2.UndefinedError when a variable is missing."""
    template = _template(kind)
    everything = {"functions": functions(), "language": language, **variables}
    title = " ".join(_render(template["title"][language], everything).split())
    labels = template["labels"].get(language, {})
    everything["labels"] = {key: _render(text, everything) for key, text in labels.items()}
    code = _render(template["code"], {"title": title, **everything})
    return Cell(stage, title, _tidy(f"{MARK.format(stage=stage, title=title)}\n{code}"))


def _render(template: str, variables: Mapping[str, Any]) -> str:
    return _JINJA.from_string(template).render(variables)


def _tidy(code: str) -> str:
    code = "\n".join(line.rstrip() for line in code.splitlines())
    return re.sub(r"\n{4,}", "\n\n\n", code).strip() + "\n"


def stage_of(code: str) -> str:
    """The stage that a cell was written for; empty for code that is not ours."""
    found = _MARK.match(code)
    return found[1] if found else ""


def variable(name: str, taken: Sequence[str] = ()) -> str:
    """A Python name for a table."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "table"
    plain = (
        f"t_{plain}" if plain[0].isdigit() or plain in ("df", "raw", "pd", "np", "plt", "re", "json", "work") else plain
    )
    unique, number = plain, 2
    while unique in taken:
        unique, number = f"{plain}_{number}", number + 1
    return unique


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
    arguments = [py(table.path), *(f"{key}={_quoted(value)}" for key, value in {**given, **_sources(changes)}.items())]
    read = f"{ast.unparse(call.func)}({', '.join(arguments)})"
    whole = expression.replace(ast.get_source_segment(expression, call) or expression, read)
    if table.sheet is not None and table.format == "html":
        whole = f"{whole.removesuffix('[0]')}[{int(table.sheet)}]"  # a page's tables are numbered
    return f"{whole}.rename(columns=str)" if given.get("header") == "None" else whole


def _plain_reading(table: Table) -> str:
    """The simplest expression that loads a file of this format."""
    path = py(table.path)
    text = f"Path({path}).read_text(encoding={py(table.encoding or 'utf-8')})"
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


def _sources(values: Mapping[str, object]) -> dict[str, str]:
    return {key: py(value) for key, value in values.items()}


def _quoted(source: str) -> str:
    """Source of a constant with our double quotes."""
    try:
        return py(ast.literal_eval(source))
    except ValueError:
        return source


def categories_of(columns: Sequence[Column]) -> list[str]:
    """The columns whose values are listed and brought to one spelling."""
    return [
        column.name
        for column in columns
        if column.kind in ("category", "flag") and column.dtype in ("str", "object", "string", "category")
    ]
