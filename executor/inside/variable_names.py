"""What a cell does to names, read from its source.

Which it mentions, which it would set and where; and what it has set.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType
from typing import Any

_SHOWN = 12
_VARIABLES = 500
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NESTED = (*_DEFINITIONS, ast.Lambda)
_MISSING = 0
_TO_OTHERS = ("__", "f_", "gi_", "cr_", "ag_", "tb_")
"""How attributes begin that lead to variables which are not mentioned: `function.__globals__`, `frame.f_locals`."""


@dataclass(slots=True)
class CellNames:
    """What the source of a cell says of names."""

    used: set[str] = field(default_factory=set)
    """All that it mentions, in functions that it defines too, and attributes that lead to other variables."""
    assigned: dict[str, None] = field(default_factory=dict)
    """Those that its own statements set, in the order in which they come."""
    changed: set[str] = field(default_factory=set)
    """Those whose object its own statements change in place: `df["a"] = ...`, `x.y = ...`."""
    assignments: list[ast.Assign] = field(default_factory=list)
    """Its assignments, in functions that it defines too."""


def names_in(tree: ast.AST) -> CellNames:
    """Read a cell's source once."""
    found = CellNames()
    waiting = [(tree, True)]
    while waiting:
        node, own = waiting.pop()
        _note(node, own, found)
        own = own and not isinstance(node, _NESTED)
        waiting += [(child, own) for child in _children(node)][::-1]
    return found


def _note(node: ast.AST, own: bool, found: CellNames) -> None:
    if isinstance(node, ast.Name):
        found.used.add(node.id)
        if own and isinstance(node.ctx, ast.Store):
            found.assigned.setdefault(node.id)
    elif isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Attribute) and node.attr.startswith(_TO_OTHERS):
            found.used.add(node.attr)
        if own and not isinstance(node.ctx, ast.Load) and (base := _base(node)) is not None:
            found.changed.add(base)
    elif isinstance(node, ast.Assign):
        found.assignments.append(node)
    elif isinstance(node, _DEFINITIONS):
        found.used.add(node.name)
        if own:
            found.assigned.setdefault(node.name)
    elif isinstance(node, ast.alias):
        found.used.add(node.asname or node.name.partition(".")[0])


def _base(node: ast.AST) -> str | None:
    """The name at the left of `df["a"].x`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _children(node: ast.AST) -> list[ast.AST]:
    children: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            children += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:  # an operator has none, and is of no interest
            children.append(value)
    return children


def reached_names(used: Iterable[str], namespace: dict[str, Any]) -> set[str]:
    """The names that a cell uses, and those that the notebook's functions among them use."""
    waiting, found = list(used), set[str]()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        value = namespace.get(name)
        if type(value) is FunctionType:  # other objects may answer anything when they are asked for an attribute
            waiting += value.__code__.co_names
    return found


def identities(names: Iterable[str], namespace: dict[str, Any]) -> dict[str, int]:
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
