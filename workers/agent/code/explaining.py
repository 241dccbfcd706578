"""What code does, in words: read from its text, without running it and without a model. Pure.

It says what it recognises, in the order of the code, and how many lines it says nothing about.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from core import python_source
from core.phrases import decimal, say
from core.steps import Approval, CellRan
from core.values import Language
from workers.agent.code.risks import touched
from workers.agent.text import one_line

_MOST = 12
_NAME_CHARS = 60
_VERBS = {
    "groupby": "group",
    "pivot_table": "pivot",
    "pivot": "pivot",
    "crosstab": "pivot",
    "merge": "join",
    "join": "join",
    "concat": "stack",
    "sort_values": "sort",
    "nlargest": "sort",
    "nsmallest": "sort",
    "dropna": "drop_missing",
    "fillna": "fill_missing",
    "drop_duplicates": "drop_twins",
    "query": "filter",
    "isin": "filter",
    "to_datetime": "dates",
    "to_numeric": "numbers",
    "resample": "periods",
    "value_counts": "count",
    "describe": "describe",
    "corr": "relate",
    "fit": "model",
    "predict": "predict",
}
_COLUMNS_OF = {"groupby", "sort_values", "merge", "value_counts", "nlargest", "nsmallest"}
_CHARTS = {"plot", "bar", "barh", "hist", "scatter", "pie", "boxplot", "barplot", "lineplot", "heatmap", "histplot"}
_SUMS = {"sum": "sum", "mean": "mean", "median": "median", "count": "count", "max": "max", "min": "min"}


def explained(cell: CellRan, language: Language) -> list[str]:
    """The sentences about a cell: what it is for, what it reads, what it does, what it writes, how it ended."""
    lines = [say("explain_title", language, title=one_line(cell.title, 120) or say("progress_cell", language))]
    lines += _about(cell.code, cell.language, language)
    if cell.figures:
        lines.append(say("explain_charts", language, count=len(cell.figures)))
    ended = "ok" if cell.status == "ok" else "undone" if cell.status == "undone" else "failed"
    seconds = decimal(cell.duration_s, 1, language)
    lines.append(say(f"explain_end_{ended}", language, seconds=seconds, why=cell.error_name))
    return lines


def explained_before(approval: Approval, language: Language) -> list[str]:
    """The sentences about code that waits for a person's yes: what it is for, what it reads, does and writes."""
    title = one_line(approval.title, 120) or say("progress_cell", language)
    kind: str = "bash" if approval.what == "bash" else "python"
    return [say("explain_waits", language, title=title), *_about(approval.code, kind, language)]


def _about(code: str, kind: str, language: Language) -> list[str]:
    lines: list[str] = []
    found = touched(code, kind)
    if found.reads:
        lines.append(say("explain_reads", language, names=", ".join(found.reads)))
    try:
        tree = python_source.parsed(code) if kind == "python" else None
    except (SyntaxError, ValueError, RecursionError):
        tree = None
    done = list(dict.fromkeys(_steps(tree, language))) if tree is not None else []
    lines += [f"• {line}" for line in done[:_MOST]]
    if not done:
        lines.append(say("explain_unknown", language))
    if found.writes:
        lines.append(say("explain_writes", language, names=", ".join(found.writes)))
    return lines


def _steps(tree: ast.Module, language: Language) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield say("explain_does_function", language, names=statement.name)
        elif isinstance(statement, ast.For | ast.While):
            yield say("explain_does_loop", language, names="")
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        calls.sort(key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))
        for call in calls:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if verb := _VERBS.get(name):
                yield say(f"explain_does_{verb}", language, names=_names(call) if name in _COLUMNS_OF else "")
            elif name in _SUMS and isinstance(call.func, ast.Attribute):
                yield say(f"explain_does_{_SUMS[name]}", language, names=_column(call.func.value))
            elif name in _CHARTS:
                yield say("explain_does_chart", language, names="")
        if _is_filter(statement):
            yield say("explain_does_filter", language, names="")


def _names(call: ast.Call) -> str:
    given = [*call.args, *(word.value for word in call.keywords if word.arg in ("by", "on", "subset", "left_on"))]
    names = [name for each in given for name in _texts(each)]
    return ", ".join(one_line(name, _NAME_CHARS) for name in names[:4])


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts of an expression that may name columns: not what a method is given, as in `.dt.strftime("%Y-%m")`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Call):
        for part in (node.func, *(word.value for word in node.keywords if word.arg == "key")):
            yield from _texts(part)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _column(value: ast.expr) -> str:
    """The column that a sum is of: `frame["amount"].sum()`."""
    if (
        isinstance(value, ast.Subscript)
        and isinstance(value.slice, ast.Constant)
        and isinstance(value.slice.value, str)
    ):
        return one_line(value.slice.value, _NAME_CHARS)
    return ""


def _is_filter(statement: ast.stmt) -> bool:
    """Whether rows are chosen by a comparison: `frame[frame["year"] == 2024]`."""
    return any(
        isinstance(node, ast.Subscript) and any(isinstance(part, ast.Compare) for part in ast.walk(node.slice))
        for node in ast.walk(statement)
    )
