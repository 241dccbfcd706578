"""The variables on the line where a cell failed, as text: what they are now, beside what the code believed of them.

It is data, as an output is. Nothing of the cell's own is called: values are shown only where their class is one of
Python's or of pandas'.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import Any

from executor.inside.compiling import parse

LIMIT = 4_000
_VARIABLES, _COLUMNS, _ITEMS, _TEXT = 8, 40, 8, 80
_SHOWN = (str, int, float, bool, complex, type(None))


def describe_variables_at(code: str, line: int | None, error: BaseException, namespace: dict[str, Any]) -> str:
    """One line per variable of the failing statement, "" when there is nothing to show."""
    if line is None:
        return ""
    lines = []
    names = list(_names_at(code, line))[:_VARIABLES]
    for name in names:
        if name in namespace:
            lines.append(f"{name}: {_described(namespace[name])}")
    if isinstance(error, KeyError) and error.args and type(error.args[0]) is str:
        lines += _nearest(error.args[0], [namespace[name] for name in names if name in namespace])
    return "\n".join(lines)[:LIMIT]


def _names_at(code: str, line: int) -> Iterator[str]:
    """The names that the innermost statement around a line reads, in order."""
    statements = [
        node
        for node in ast.walk(parse(code, "<cell>"))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not statements:
        return
    inner = min(statements, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    seen: set[str] = set()
    found = [node for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
        if node.id not in seen and not node.id.startswith("__"):
            seen.add(node.id)
            yield node.id


def _described(value: Any) -> str:
    kind, home = type(value).__name__, type(value).__module__
    if home.startswith("pandas") and kind == "DataFrame":
        shown = ", ".join(f"{_short(name)} {dtype}" for name, dtype in list(value.dtypes.items())[:_COLUMNS])
        more = f", and {value.shape[1] - _COLUMNS} more" if value.shape[1] > _COLUMNS else ""
        return f"DataFrame of {value.shape[0]} rows, columns {shown}{more}"
    if home.startswith("pandas") and kind in ("Series", "Index"):
        first = ", ".join(_short(item) for item in list(value[:_ITEMS]))
        return f"{kind} of {len(value)}, {value.dtype}: {first}"
    if home == "numpy" and kind == "ndarray":
        return f"array {value.shape}, {value.dtype}"
    if type(value) in _SHOWN:
        return f"{kind} {_short(value)}"
    if type(value) is dict:
        return f"dict of {len(value)}, keys {', '.join(_short(key) for key in list(value)[:_ITEMS])}"
    if type(value) in (list, tuple, set):
        return f"{kind} of {len(value)}: {', '.join(_short(item) for item in list(value)[:_ITEMS])}"
    return kind[:_TEXT]


def _short(value: object) -> str:
    """A value in a few characters; of a class of the cell's own only the name."""
    if type(value) in _SHOWN or type(value).__module__ in ("numpy", "pandas._libs.tslibs.timestamps"):
        text = repr(value)
        return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
    return type(value).__name__[:_TEXT]


def _nearest(key: str, values: list[Any]) -> list[str]:
    """The columns and keys that are most like the one that is not there."""
    known: list[str] = []
    for value in values:
        if type(value).__name__ == "DataFrame":
            known += [column for column in value.columns if type(column) is str]
        elif type(value) is dict:
            known += [name for name in value if type(name) is str]
    folded = {"".join(name.split()).casefold(): name for name in reversed(known[:2_000])}
    close = difflib.get_close_matches("".join(key.split()).casefold(), folded, n=3, cutoff=0.6)
    return [f"nearest to {_short(key)}: {', '.join(_short(folded[name]) for name in close)}"] if close else []
