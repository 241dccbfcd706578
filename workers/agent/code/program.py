"""Which code of a thread makes a program that runs on its own.

Python cells that ran without an error are kept. Shell commands are left out, because they were approved only for their
thread. A failed cell may have set variables before its error, and the repaired cell often uses them; so does the cell
after one that was stopped. So the statements before that line are kept if later code reads a name that they set. All
other failed code is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeGuard

from core import python_source
from core.steps import CellRan


@dataclass(frozen=True, slots=True)
class Part:
    """One cell in the program. `code` is empty when all of it is left out; "partly" keeps what ran before the error."""

    cell: CellRan
    code: str
    kept: Literal["whole", "partly", "not"]


def program(cells: Sequence[CellRan], *, whole_state: bool = False) -> tuple[Part, ...]:
    """The parts in order, one per cell.

    With `whole_state` all that ran before an error is kept, whether or not later code reads it.
    """
    parts: list[Part] = []
    needed: set[str] = set()
    for cell in reversed(cells):
        part = _part(cell, None if whole_state else needed)
        reads, binds = _reads_and_binds(part.code)
        needed = reads | (needed - binds)
        parts.append(part)
    return tuple(reversed(parts))


def _part(cell: CellRan, needed: set[str] | None) -> Part:
    code = cell.code.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    tree = parsed(code)
    if tree is None or cell.language != "python":
        return Part(cell, "", "not")
    if cell.status == "ok":
        return Part(cell, code, "whole")
    if cell.error_line is None or not ended_in_a_line(cell):
        return Part(cell, "", "not")
    before = _ran_before(tree.body, cell.error_line)
    if not before or (needed is not None and not _names_set(before) & needed):
        return Part(cell, "", "not")
    lines = code.split("\n")[: before[-1].end_lineno]
    return Part(cell, "\n".join(lines), "partly")


def ended_in_a_line(cell: CellRan) -> bool:
    """Whether an error, a stop or the time limit ended the cell in a line that is known. What it set before is kept."""
    return cell.status in ("error", "timeout", "killed") and cell.error_line is not None


def parsed(code: str) -> ast.Module | None:
    """The code's tree, or None when it is not Python."""
    try:
        return python_source.parsed(code)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _ran_before(statements: Sequence[ast.stmt], line: int) -> list[ast.stmt]:
    """The statements that ended before the error. A statement that shares its last line with the failing one is left
    out."""
    return [
        statement for statement in statements if (statement.end_lineno or statement.lineno) < _start(statements, line)
    ]


def _start(statements: Sequence[ast.stmt], line: int) -> int:
    """The first line of the failing statement. In a function it is the call that failed, somewhere below."""
    for statement in statements:
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            return (statement.end_lineno or line) + 1 if is_definition else statement.lineno
    return line


def _reads_and_binds(code: str) -> tuple[set[str], set[str]]:
    """The names that code reads before it gives them a value itself, and those it surely gives a new value."""
    tree = parsed(code)
    reads: set[str] = set()
    binds: set[str] = set()
    later: set[str] = set()
    for statement in tree.body if tree else ():
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                # a body runs when it is called, perhaps after the rest of the cell
                later |= _names_read(statement)
            case _:
                reads |= _names_read(statement) - binds
        if isinstance(statement, _SURE):
            binds |= _names_bound(statement)
    return reads | (later - binds), binds


_SURE = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements that always bind their names. What a loop or a condition binds may not happen."""


def _names_read(statement: ast.stmt) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Name(ctx=ast.Del()):
                names.add(node.id)
            case ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return names


def _names_bound(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Assign(targets=targets):
            return {node.id for target in targets for node in ast.walk(target) if _is_bound(node)}
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).partition(".")[0] for alias in names}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case _:
            return set()


def _is_bound(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _names_set(statements: Sequence[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                names.add(name)
            case _:
                pass
    return names
