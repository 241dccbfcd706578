"""Names that carry nothing from cell to cell, because every cell that mentions them gives them a value first. Pure.

`fig, ax = plt.subplots()`, `for i, v in …`: each cell of a thread has an `ax` and an `i` of its own. Errors are
possible in one direction only: a name is shared unless the order of the statements shows that it is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from workers.agent.code.source import tree
from workers.agent.code.uses import plain_names, with_own_names

_PASSING = re.compile(
    r"open|urlopen|connect|begin|cursor|catch_warnings|errstate|printoptions|\w*context|"
    r"redirect_std(?:out|err)|closing|ExcelWriter|ExcelFile|HDFStore|ZipFile|TarFile|read_\w+|TemporaryDirectory|"
    r"NamedTemporaryFile|\w*Pool|\w*PoolExecutor|get|Session"
)
"""What a `with` may enter that ends no error."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one cell: those that it gives a value before it reads them, and all others."""

    own: frozenset[str]
    shared: frozenset[str]


def own_names(codes: Sequence[str]) -> frozenset[str]:
    """The names that are own names in every cell that mentions them. None if a cell cannot be read. Never raises."""
    found = [names_of(code) for code in codes]
    if None in found:
        return frozenset()
    read = [each for each in found if each is not None]
    return frozenset[str]().union(*(each.own for each in read)).difference(*(each.shared for each in read))


@lru_cache(maxsize=512)
def names_of(code: str) -> Names | None:
    """The names of one cell, None when it cannot be read."""
    parsed = tree(code)
    if parsed is None:
        return None
    try:
        reader = _Reader()
        reader.read(with_own_names(parsed).body)
    except RecursionError:
        return None
    return Names(frozenset((reader.bound | reader.loose) - reader.shared), frozenset(reader.shared))


@dataclass
class _Reader:
    """Reads statements in their order. `bound` names have a value now; `loose` ones have it inside of a block that may
    not run, and may not be read outside of it."""

    bound: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)

    def read(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    self._bind(targets, [value])
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind([target], [value])
                case ast.For(target=target, iter=over, body=body, orelse=orelse):
                    self._mention(over)
                    self._block(body, [target])
                    self._block(orelse)
                case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                    self._mention(test)
                    self._block(body)
                    self._block(orelse)
                case ast.With(items=items, body=body):
                    given = [item.optional_vars for item in items if item.optional_vars is not None]
                    self._bind(given, [item.context_expr for item in items])
                    if all(_lets_errors_through(item.context_expr) for item in items):
                        self.read(body)
                    else:
                        self._block(body)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    self.bound |= {(each.asname or each.name).partition(".")[0] for each in names}
                case ast.Expr(value=value):
                    self._mention(value)
                case _:
                    self.shared |= set(_all_names(statement))

    def _bind(self, targets: Iterable[ast.expr], values: Iterable[ast.expr]) -> None:
        for value in values:
            self._mention(value)
        for target in targets:
            plain = set(plain_names(target))
            self._mention(target, besides=plain)
            self.bound |= plain

    def _block(self, body: Iterable[ast.stmt], targets: Iterable[ast.expr] = ()) -> None:
        """Statements that may not run. What they bind is bound only inside."""
        before = set(self.bound)
        self._bind(targets, ())
        self.read(body)
        self.loose |= self.bound - before
        self.bound = before

    def _mention(self, node: ast.expr, besides: Iterable[str] = ()) -> None:
        self.shared |= set(_all_names(node)) - self.bound - set(besides)
        for each in ast.walk(node):
            if isinstance(each, ast.Lambda | ast.GeneratorExp):  # read when they are used, perhaps in another cell
                self.shared |= set(_all_names(each))


def _lets_errors_through(context: ast.expr) -> bool:
    """Whether what a `with` enters surely ends no error: behind `suppress(…)`, its statements may not have run."""
    func = context.func if isinstance(context, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return _PASSING.fullmatch(name) is not None


def _all_names(node: ast.AST) -> Iterator[str]:
    """Every name and word that may be one, in whatever role."""
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.alias(name=name, asname=asname):
                yield (asname or name).partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                pass
