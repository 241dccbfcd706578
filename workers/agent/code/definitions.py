"""How a cell makes its names: the statements that give each one its value, or change it, as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from workers.agent.code.source import tree
from workers.agent.text import one_line

STATEMENT_CHARS = 160
"""Of a longer statement the beginning is told."""


class Made(NamedTuple):
    """A statement that makes a name: its text on one line, without the body of a function. `anew`: it gives the name
    its value. `reads`: the names that it reads and does not set."""

    name: str
    text: str
    anew: bool
    reads: frozenset[str] = frozenset()


@lru_cache(maxsize=4_096)  # the note of a long thread asks for every cell of it
def made_in(code: str) -> tuple[Made, ...]:
    """What the statements of a cell make, in their order. Imports and the variables of loops are left out. Never
    raises."""
    parsed = tree(code)
    try:
        return tuple(_of(parsed.body)) if parsed else ()
    except RecursionError:  # Python runs deeper code than it writes out
        return ()


@lru_cache(maxsize=4_096)
def read_in(code: str) -> frozenset[str]:
    """The names that a cell reads and does not set by itself, those of comprehensions and of functions among them."""
    parsed = tree(code)
    return _read(parsed) if parsed else frozenset()


def _read(parsed: ast.AST) -> frozenset[str]:
    names = [node for node in ast.walk(parsed) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Load)) - own


def _of(body: Sequence[ast.stmt]) -> Iterator[Made]:
    for statement in body:
        match statement:
            case ast.Assign(targets=targets):
                yield from (made for target in targets for made in _by(target, statement))
            case ast.AnnAssign(target=target, value=ast.expr()):
                yield from _by(target, statement)
            case ast.AugAssign(target=target):
                yield from (made._replace(anew=False) for made in _by(target, statement))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield _made(statement.name, statement, anew=True)
            case ast.If(body=inner, orelse=other):
                yield from _of([*inner, *other])
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _of(inner)
            case ast.Try(body=inner, orelse=other, finalbody=last):
                yield from _of([*inner, *other, *last])
            case ast.For() | ast.While():
                names = {made.name for made in _of(statement.body) if not made.anew}
                yield from (_made(name, statement, anew=False) for name in sorted(names))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), keywords=keywords)):
                if any(keyword.arg == "inplace" for keyword in keywords):
                    yield _made(name, statement, anew=False)


def _by(target: ast.expr, statement: ast.stmt) -> Iterator[Made]:
    """What a statement makes through one of its targets: `a`, `a, b`, `a["column"]`, `a.loc[rows, "column"]`."""
    if isinstance(target, ast.Tuple | ast.List):
        yield from (made for item in target.elts for made in _by(item, statement))
        return
    anew = isinstance(target, ast.Name)
    while isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
        target = target.value
    if isinstance(target, ast.Name):
        yield _made(target.id, statement, anew=anew)


def _made(name: str, statement: ast.stmt, *, anew: bool) -> Made:
    text = ast.unparse(statement)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        text = text.split("\n")[len(statement.decorator_list)]
    return Made(name, one_line(text, STATEMENT_CHARS), anew, _read(statement))
