"""Looking at a cell's Python without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from core import python_source

_NAMING = frozenset({"agg", "aggregate", "assign", "rename"})
_NAME_CHARS, _MOST_NAMES = 200, 500
_GIVEN = re.compile(r"\bas\s+[\"`]?(\w+)", re.IGNORECASE)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@lru_cache(maxsize=256)
def tree(code: str) -> ast.Module | None:
    """The syntax tree of a program, None when it is not Python."""
    try:
        return python_source.parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def compiles(code: str) -> bool:
    """True when the text is Python."""
    return tree(code) is not None


@lru_cache(maxsize=256)
def fingerprint(code: str) -> str:
    """The same text for programs that differ only in comments, blanks and layout."""
    parsed = tree(code)
    try:
        return " ".join(code.split()) if parsed is None else ast.dump(parsed)
    except RecursionError:
        return " ".join(code.split())


@lru_cache(maxsize=256)
def strings(code: str) -> tuple[str, ...]:
    """Every string constant of a program, the fixed parts of f-strings included."""
    parsed = tree(code)
    nodes = ast.walk(parsed) if parsed else ()
    return tuple(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@lru_cache(maxsize=4_096)  # a hint about a name asks for those of every cell of the thread
def assigned_names(code: str, from_line: int = 1) -> tuple[str, ...]:
    """The names that top-level statements ending at `from_line` (1-based) or later bind: variables, imports,
    functions."""
    parsed = tree(code)
    statements = [s for s in parsed.body if (s.end_lineno or s.lineno) >= from_line] if parsed else []
    return tuple(dict.fromkeys(name for statement in statements for name in _bound(statement)))


def compared_values(code: str) -> tuple[tuple[str, str], ...]:
    """The texts that a program compares columns with: (column, text), of `df["c"] == "x"`, `df.c.isin(["x"])` and
    such."""
    parsed = tree(code)
    found: list[tuple[str, str]] = []
    for node in ast.walk(parsed) if parsed else ():
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            pairs = ((node.left, node.comparators[0]), (node.comparators[0], node.left))
            found += [(_column(left), text) for left, right in pairs for text in _texts(right)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "isin":
            listed = node.args[0].elts if node.args and isinstance(node.args[0], ast.List | ast.Tuple | ast.Set) else ()
            found += [(_column(node.func.value), text) for text in _texts(*listed)]
    return tuple(dict.fromkeys(pair for pair in found if pair[0]))


def _column(node: ast.AST) -> str:
    """The column that an expression is: `df["c"]` or `df.c`, also behind methods such as `.str.lower()`."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr != "str":
            return node.attr
        node = node.func if isinstance(node, ast.Call) else node.value
    names = _texts(node.slice) if isinstance(node, ast.Subscript) else []
    return names[0] if names else ""


def computed_names(code: str) -> tuple[str, ...]:
    """The names that a program gives to what it computes: variables, columns set by name, and those of `agg`, `assign`
    and `rename`; at most 500 of at most 200 characters.

    A name that an SQL text in it gives to a result (`AS name`) is not one of them: the statement computes that.
    """
    parsed = tree(code)
    found: list[str] = []
    given = {name.casefold() for text in strings(code) for name in _GIVEN.findall(text)}
    for node in ast.walk(parsed) if parsed else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found += _texts(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NAMING:
            found += [keyword.arg for keyword in node.keywords if keyword.arg]
            mappings = [each.value for each in node.keywords if isinstance(each.value, ast.Dict)]
            found += [text for mapping in mappings for text in _texts(*mapping.values)]
    own = (name for name in dict.fromkeys(found) if len(name) <= _NAME_CHARS and name.casefold() not in given)
    return tuple(own)[:_MOST_NAMES]


def _texts(*nodes: ast.AST) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its own scope."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    if isinstance(node, _COMPREHENSIONS):  # its variables are its own, apart from those that := sets
        walrus = (child.target for child in ast.walk(node) if isinstance(child, ast.NamedExpr))
        yield from (target.id for target in walrus)
    elif not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)
