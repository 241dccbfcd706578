"""Broken programs, to try tests on: a test that a broken program passes shows nothing.

For Python: a comparison turned round, a number off by one, a condition negated, a text emptied, a result left out. For
every language: a program that does nothing.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.agent.code.source import tree
from workers.builder.requirements.components import Component

NOTHING = {
    "python": "pass\n",
    "bash": ":\n",
    "javascript": ";\n",
    "typescript": ";\n",
    "sql": "select 1 where 0;\n",
    "c": "int main(void) { return 0; }\n",
    "rust": "fn main() {}\n",
    "go": "package main\n\nfunc main() {}\n",
}
_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program with one fault: which file, at which line, what was done, and the file's text then."""

    path: str
    line: int
    what: str
    text: str


def mutants(component: Component, files: Mapping[str, str], most: int) -> tuple[Mutant, ...]:
    """At most `most` broken versions of a component, the empty one first, the others spread over its files."""
    language = component.language.name
    main = component.main_file
    made = [Mutant(main, 1, "the file does nothing", NOTHING[language])] if language in NOTHING and most else []
    if language != "python":
        return tuple(made)
    found = [one for path in component.files for one in _of_python(path, files.get(path, ""))]
    left = most - len(made)
    if left <= 0 or not found:
        return tuple(made[:most])
    step = max(1.0, len(found) / left)
    chosen = [found[int(at * step)] for at in range(min(left, len(found)))]
    return (*made, *chosen)


def python_mutants(path: str, text: str, most: int) -> tuple[Mutant, ...]:
    """At most `most` broken versions of a text of Python, spread over it."""
    found = list(_of_python(path, text))
    if not found or most <= 0:
        return ()
    step = max(1.0, len(found) / most)
    return tuple(found[int(at * step)] for at in range(min(most, len(found))))


def _of_python(path: str, text: str) -> Iterator[Mutant]:
    module = tree(text)
    if module is None:
        return
    seen = set()
    for number, node in enumerate(ast.walk(module)):
        for what, change in _changes(node):
            broken = copy.deepcopy(module)
            twin = next(one for at, one in enumerate(ast.walk(broken)) if at == number)
            change(twin)
            try:
                source = ast.unparse(ast.fix_missing_locations(broken)) + "\n"
            except (ValueError, RecursionError):
                continue
            if source not in seen:
                seen.add(source)
                yield Mutant(path, getattr(node, "lineno", 1), what, source)


_Change = Callable[[ast.AST], None]


def _changes(node: ast.AST) -> Sequence[tuple[str, _Change]]:
    """What can be broken at one place."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _TURNED and not _is_main(node):
            return [("a comparison is turned round", _turn)]
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not isinstance(node.left, ast.Constant):
            return [("an operator is another one", _recompute)]
        case ast.Constant() if type(node.value) is int:
            return [("a number is one more", _add_one)]
        case ast.If() | ast.While() if not isinstance(node.test, ast.Constant) and not _is_main(node.test):
            return [("a condition is negated", _negate)]
        case ast.Return() if node.value is not None:
            return [("a result is left out", _lose)]
        case ast.BoolOp():
            return [("and and or are exchanged", _exchange)]
    return []


def _is_main(node: ast.expr) -> bool:
    return "__name__" in ast.dump(node)


def _turn(node: ast.AST) -> None:
    if isinstance(node, ast.Compare):
        node.ops = [_TURNED[type(node.ops[0])]()]


def _recompute(node: ast.AST) -> None:
    if isinstance(node, ast.BinOp):
        node.op = _ARITHMETIC[type(node.op)]()


def _add_one(node: ast.AST) -> None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value = node.value + 1


def _negate(node: ast.AST) -> None:
    if isinstance(node, ast.If | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)


def _lose(node: ast.AST) -> None:
    if isinstance(node, ast.Return):
        node.value = ast.Constant(None)


def _exchange(node: ast.AST) -> None:
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
