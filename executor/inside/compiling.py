"""A cell's source, as code: its statements, and the last expression apart so that its value can be shown."""

from __future__ import annotations
import __future__

import ast
import linecache
from dataclasses import dataclass
from types import CodeType

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_TRIES = 100


@dataclass(frozen=True, slots=True)
class Compiled:
    """A cell ready to run.

    `body` for its statements, `last` for the expression to show, and the `from __future__` flags so far.
    """

    tree: ast.Module
    body: CodeType
    last: CodeType | None
    future: int


def compile_cell(code: str, filename: str, future: int = 0) -> Compiled:
    """Compile `code` as it stands, changing no line of it.

    Raises SyntaxError or ValueError like the built-in `compile`.
    """
    tree = parse(code, filename, future)
    last = tree.body[-1] if tree.body and not code.rstrip().endswith(";") else None
    if not isinstance(last, ast.Expr):
        body = compile(tree, filename, "exec", future, dont_inherit=True)
        return Compiled(tree, body, None, future | body.co_flags & _FUTURE)
    body = compile(ast.Module(tree.body[:-1], []), filename, "exec", future, dont_inherit=True)
    future |= body.co_flags & _FUTURE
    shown = compile(ast.Expression(last.value), filename, "eval", future, dont_inherit=True)
    return Compiled(tree, body, shown, future)


def parse(code: str, filename: str, future: int = 0) -> ast.Module:
    """The syntax tree of `code`. Raises like the built-in `compile`.

    A thread that a cell started may parse at the same moment. CPython counts the depth of a tree in the making once for
    all threads (seen with 3.11), and one of the two gets a SystemError that says nothing about the code.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            tree = compile(code, filename, "exec", ast.PyCF_ONLY_AST | future, dont_inherit=True)
        except SystemError:
            if not tries_left:
                raise
        else:
            break
    assert isinstance(tree, ast.Module)  # noqa: S101  what PyCF_ONLY_AST with "exec" always gives
    return tree


def remember_source(code: str, filename: str) -> None:
    """Let tracebacks quote the cell's lines."""
    lines = [line + "\n" for line in code.split("\n")]
    linecache.cache[filename] = (len(code), None, lines, filename)
