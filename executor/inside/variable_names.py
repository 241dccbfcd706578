"""What a cell does to names, read from its source.

Which it mentions, which it would set and where; and what it has set.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

_SHOWN = 12
_VARIABLES = 500
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MISSING = 0


def mentioned_names(tree: ast.AST, namespace: dict[str, Any]) -> set[str]:
    """Names that the cell uses, and those that the notebook's functions among them use."""
    waiting = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            waiting.append(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting.append(node.name)
        elif isinstance(node, ast.alias):
            waiting.append(node.asname or node.name.partition(".")[0])
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        value = namespace.get(name)
        if type(value) is FunctionType:  # other objects may answer anything when they are asked for an attribute
            waiting += value.__code__.co_names
    return found


def set_names(tree: ast.AST) -> list[str]:
    """Names that the cell's own statements set, in the order in which they come."""
    names: dict[str, None] = {}
    for node in _own_statements(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.setdefault(node.name)
    return list(names)


def changed_names(tree: ast.AST) -> set[str]:
    """Names whose object the cell's own statements change in place: `df["a"] = ...`, `x.y = ...`."""
    found = set()
    for node in _own_statements(tree):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            base: ast.AST = node
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name):
                found.add(base.id)
    return found


def _own_statements(tree: ast.AST) -> Iterator[ast.AST]:
    waiting = list(ast.iter_child_nodes(tree))[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _NESTED):
            waiting += list(ast.iter_child_nodes(node))[::-1]


def identities(names: list[str], namespace: dict[str, Any]) -> dict[str, int]:
    """Which object each name stands for now."""
    return {name: id(namespace[name]) if name in namespace else _MISSING for name in names}


def describe_failure(before: dict[str, int], namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """After a failed cell: which of the names it sets are new and which still hold what they held before it.

    As codes with names (executor/said.py).
    """
    after = identities(list(before), namespace)
    fresh = [name for name in before if after[name] != before[name]]
    stale = [name for name in before if after[name] == before[name] != _MISSING]
    return [
        {"code": code, "names": names[:_SHOWN], "more": max(0, len(names) - _SHOWN)}
        for code, names in (("set_before_failure", fresh), ("as_before_failure", stale))
        if names
    ]


def describe_variables(namespace: dict[str, Any], set_by: dict[str, int]) -> list[dict[str, Any]]:
    """Name, type, shape or length, size and last setting cell of each variable; imported things are left out.

    An object that raises when it is looked at has a name and nothing else.
    """
    found: list[dict[str, Any]] = []
    for name, value in list(namespace.items()):
        if type(name) is not str or name.startswith("_") or len(found) == _VARIABLES:
            continue
        try:
            if isinstance(value, type(sys)) or _is_imported(value):
                continue
            known = {"type": str(type(value).__name__)[:200], "shape": _shape(value), "bytes": _size(value)}
        except BaseException:
            known = {"type": "", "shape": "", "bytes": 0}
        found.append({"name": name[:200], **known, "cell": set_by.get(name, 0)})
    return found


def _is_imported(value: Any) -> bool:
    return isinstance(value, (type, FunctionType, BuiltinFunctionType)) and value.__module__ != "__main__"


def _shape(value: Any) -> str:
    if type(value).__module__.startswith(("numpy", "pandas")):
        shape = getattr(value, "shape", None)
        return " x ".join(str(side) for side in shape)[:100] if isinstance(shape, tuple) else ""
    if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)):
        return str(len(value))
    return ""


def _size(value: Any) -> int:
    if type(value).__module__.startswith("pandas") and type(value).__name__ in ("DataFrame", "Series"):
        used = value.memory_usage(deep=False)
        return int(used.sum() if hasattr(used, "sum") else used)
    if type(value).__module__ == "numpy" and hasattr(value, "nbytes"):
        return int(value.nbytes)
    return sys.getsizeof(value, 0)
