"""How a cell makes its names: the statements that give each one its value, or change it, as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from workers.agent.code.source import tree


class Made(NamedTuple):
    """A statement that makes a name: its text without the body of a function. `anew`: it gives the name its value."""

    name: str
    text: str
    anew: bool


@lru_cache(maxsize=512)
def made_in(code: str) -> tuple[Made, ...]:
    """What the statements of a cell make, in their order. Imports and the variables of loops are left out."""
    parsed = tree(code)
    return tuple(_of(parsed.body)) if parsed else ()


@lru_cache(maxsize=512)
def read_in(code: str) -> frozenset[str]:
    """The names that a cell reads and does not set by itself, those of comprehensions and of functions among them."""
    parsed = tree(code)
    names = [node for node in ast.walk(parsed) if isinstance(node, ast.Name)] if parsed else []
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
                yield Made(statement.name, ast.unparse(statement).partition("\n")[0], anew=True)
            case ast.If(body=inner, orelse=other):
                yield from _of([*inner, *other])
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _of(inner)
            case ast.Try(body=inner, orelse=other, finalbody=last):
                yield from _of([*inner, *other, *last])
            case ast.For() | ast.While():
                names = {made.name for made in _of(statement.body) if not made.anew}
                yield from (Made(name, ast.unparse(statement), anew=False) for name in sorted(names))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), keywords=keywords)):
                if any(keyword.arg == "inplace" for keyword in keywords):
                    yield Made(name, ast.unparse(statement), anew=False)


def _by(target: ast.expr, statement: ast.stmt) -> Iterator[Made]:
    """What a statement makes through one of its targets: `a`, `a, b`, `a["column"]`, `a.loc[rows, "column"]`."""
    if isinstance(target, ast.Tuple | ast.List):
        yield from (made for item in target.elts for made in _by(item, statement))
        return
    anew = isinstance(target, ast.Name)
    while isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
        target = target.value
    if isinstance(target, ast.Name):
        yield Made(target.id, ast.unparse(statement), anew)
