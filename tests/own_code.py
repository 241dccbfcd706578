"""The product's own code as tests read it: all of it takes seconds, so only what can matter is parsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that hold further statements."""


@cache
def files(*rooms: str) -> tuple[Path, ...]:
    """Every Python file of these rooms, in order."""
    return tuple(path for room in rooms for path in sorted((ROOT / room).rglob("*.py")))


def name_of(path: Path) -> str:
    """A file as people name it: its path in the project."""
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def words_of(path: Path) -> frozenset[str]:
    """Every name that stands in a file, also inside texts and comments."""
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def nodes_of(paths: tuple[Path, ...], names: Set[str]) -> Iterator[tuple[Path, ast.AST]]:
    """Every node of the files in which one of these names stands. No other file can have a node with such a name."""
    for path in paths:
        if not names.isdisjoint(words_of(path)):
            for node in ast.walk(tree_of(path)):
                yield path, node


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """The modules that a file imports by their full names, at any depth."""
    found: list[str] = []
    for node in _statements(tree_of(path)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return tuple(found)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in BLOCKS:
            inner = getattr(node, block, None)
            if isinstance(inner, list):  # the body of a lambda is one expression
                waiting += inner
