"""From the cells behind a report to the stages of a playbook: each becomes a function with parameters. Pure.

A cell's imports and definitions stay at the top; the rest becomes the body of a function. It takes the variables that
it reads, returns those that later cells read, and has a parameter for each file name and for each number or word that
the question named. A cell whose code cannot be moved into a function safely stays as it is. Whether the stages give
what the cells gave is proved by running them in the clean room, not by reading them.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from workers.agent.code.source import tree
from workers.memory.playbooks.page import Parameter

SHOWN = "shown"
_OF_LINES = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})
_MOST_PARAMETERS = 12
_BUILTINS = frozenset(dir(builtins))
_HOSTS = frozenset({"query", "tables", "columns", "search_schema", "sample", "describe", "display", "ask", "note"})
_OPAQUE = frozenset({"exec", "eval", "globals", "locals", "vars", "dir", "__import__", "get_ipython"})
_WORD = re.compile(r"[\w.%-]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is to become a stage."""

    id: str
    title: str
    code: str


@dataclass(frozen=True, slots=True)
class Lifted:
    """The code of a stage, and its call, by the cell that it comes from."""

    id: str
    title: str
    code: str


@dataclass(frozen=True, slots=True)
class _Constant:
    """A value of the code that becomes a parameter, with its place in bytes."""

    name: str
    value: str | int | float
    line: int
    start: int
    end: int


def lift(
    cells: Sequence[Cell],
    files: Collection[str],
    columns: Collection[str],
    question: str,
    *,
    passes: bool = False,
) -> tuple[list[Lifted], list[Parameter]]:
    """The stages of these cells, and the parameters of all of them. `columns` are names that are never a parameter.

    `passes`: each call passes the parameters on, from variables that have their names.
    """
    trees = [tree(cell.code) for cell in cells]
    reads = [_reads(one) if one is not None else set() for one in trees]
    names: dict[str, Parameter] = {}
    taken: set[str] = set().union(*(_all_names(one) for one in trees if one is not None))
    lifted = []
    for place, (cell, one) in enumerate(zip(cells, trees, strict=True)):
        later = set().union(*reads[place + 1 :]) if place + 1 < len(reads) else set()
        code = None
        if one is not None:
            name = _function_name(cell.title, place + 1, taken | {each.name for each in names.values()})
            constants = _Constants(files, columns, question, names, taken | {name})
            code = _lifted(cell.code, one, name, later, constants, passes=passes)
            if code is not None:
                taken.add(name)
        lifted.append(Lifted(cell.id, cell.title, cell.code if code is None else code))
    used = "\n".join(each.code for each in lifted)
    return lifted, [each for each in names.values() if re.search(rf"\b{each.name}\b", used)]


class _Constants:
    """Finds the values of a cell that differ from one use to the next. The same value has the same name everywhere."""

    def __init__(
        self,
        files: Collection[str],
        columns: Collection[str],
        question: str,
        names: dict[str, Parameter],
        taken: Collection[str],
    ) -> None:
        self._files = files
        self._columns = columns
        self._asked = {word.strip(".-%").casefold() for word in _WORD.findall(question)}
        self._names = names
        self._taken = taken

    def of(self, statements: Sequence[ast.stmt]) -> list[_Constant]:
        found: list[_Constant] = []
        for statement in statements:
            self._walk(statement, "", found)
        return found

    def _walk(self, node: ast.AST, hint: str, found: list[_Constant]) -> None:
        if isinstance(node, ast.JoinedStr | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return
        if isinstance(node, ast.Constant):
            if (name := self._name(node.value, hint)) and node.lineno == node.end_lineno:
                found.append(_Constant(name, node.value, node.lineno, node.col_offset, node.end_col_offset or 0))  # type: ignore[arg-type]
            return
        for child in ast.iter_child_nodes(node):
            self._walk(child, _hint(node, child) or hint, found)

    def _name(self, value: object, hint: str) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        key = f"{type(value).__name__}:{value}"
        if key in self._names:
            return self._names[key].name
        if len(self._names) >= _MOST_PARAMETERS:
            return ""
        if isinstance(value, str) and value in self._files:
            base, meaning = f"{_slug(PurePath(value).stem) or 'input'}_file", "file to read"
        elif self._is_asked(value):
            base, meaning = _slug(hint) or "value", "named in the question"
        else:
            return ""
        name, number = base, 2
        known = {each.name for each in self._names.values()} | set(self._taken)
        while name in known or name in _BUILTINS:
            name, number = f"{base}_{number}", number + 1
        self._names[key] = Parameter(name, type(value).__name__, value, meaning)
        return name

    def _is_asked(self, value: str | int | float) -> bool:
        """Whether the question names this value. Small whole numbers and names of columns are part of the method."""
        if isinstance(value, str):
            return len(value) > 1 and value not in self._columns and value.casefold() in self._asked
        return abs(value) > 2 and f"{value:g}" in self._asked


def _lifted(
    code: str, module: ast.Module, name: str, later: set[str], constants: _Constants, *, passes: bool
) -> str | None:
    """The cell as a function with its call; None when it has to stay as it is."""
    top = [node for node in module.body if _stays_on_top(node)]
    body = [node for node in module.body if not _stays_on_top(node)]
    if not body or _cannot_move(module, body):
        return None
    set_here, surely = _bound(body)
    defined = {node.name for node in top if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imported = {alias for node in top for alias in _aliases(node)}
    outputs = sorted((set_here & later) - defined - imported)
    if any(each not in surely for each in outputs):
        return None
    if defined and any(_free_names(node) & set_here for node in top if isinstance(node, ast.FunctionDef)):
        return None  # it would look for what is a local variable now
    inputs = sorted(_reads_of(body) - defined - imported - _BUILTINS - _HOSTS)
    found = constants.of(body)
    used = list({each.name: each.value for each in found}.items())
    lines = _with_names(code, found)
    last = body[-1]
    shows = isinstance(last, ast.Expr) and not _prints(last.value)
    if shows:
        line = lines[last.lineno - 1]
        lines[last.lineno - 1] = line[: last.col_offset] + f"{SHOWN} = ".encode() + line[last.col_offset :]
    inside = _inside_strings(b"\n".join(lines).decode())
    head = [_source(code, node) for node in top]
    indented = []
    for node in body:
        for number in range(_first_line(node), (node.end_lineno or node.lineno) + 1):
            text = lines[number - 1].decode()
            indented.append(text if number in inside or not text.strip() else f"    {text}")
    returned = [*outputs, *([SHOWN] if shows else [])]
    signature = ", ".join([*inputs, *(["*"] if used else []), *(f"{each}={value!r}" for each, value in used)])
    call = f"{name}({', '.join([*inputs, *(f'{each}={each}' for each, _ in used if passes)])})"
    parts = [*head, *([""] if head else []), f"def {name}({signature}):", *indented]
    parts += [f"    return {', '.join(returned)}"] if returned else []
    parts += ["", "", f"{', '.join(returned)} = {call}" if returned else call]
    parts += [SHOWN] if shows else []
    made = "\n".join(parts)
    return made if tree(made) is not None else None


def _stays_on_top(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _cannot_move(module: ast.Module, body: Sequence[ast.stmt]) -> bool:
    for node in ast.walk(module):
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Await | ast.Delete):
            return True
        if isinstance(node, ast.Name) and node.id in (*_OPAQUE, SHOWN):
            return True
    starts = [_first_line(node) for node in module.body]
    return len(starts) != len(set(starts)) or any(
        isinstance(node, ast.Import | ast.ImportFrom) for statement in body for node in ast.walk(statement)
    )


def _bound(body: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that statements give a value, and those that surely get one."""
    every = {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    surely: set[str] = set()
    for statement in body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.AnnAssign) and statement.value):
            targets = [statement.target]
        elif isinstance(statement, ast.With):
            targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
            inner = _bound(statement.body)[1]
            surely |= inner
        surely |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
                   and isinstance(node.ctx, ast.Store)}  # fmt: skip
    return every, surely


def _reads(module: ast.Module) -> set[str]:
    """All names that a cell may read, also inside of its functions."""
    return {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}


def _reads_of(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements need from outside: read before they are surely set."""
    known: set[str] = set()
    found: set[str] = set()
    for statement in body:
        local = _comprehension_names(statement)
        bound_in = _bound([statement])[0] if isinstance(statement, ast.For | ast.With) else set()
        loads = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            loads.add(statement.target.id)
        found |= loads - known - local - (bound_in if isinstance(statement, ast.For | ast.With) else set())
        known |= _bound([statement])[0]
    return found


def _comprehension_names(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.comprehension):
            found |= {name.id for name in ast.walk(each.target) if isinstance(name, ast.Name)}
        elif isinstance(each, ast.Lambda):
            found |= {argument.arg for argument in ast.walk(each.args) if isinstance(argument, ast.arg)}
        elif isinstance(each, ast.ExceptHandler) and each.name:
            found.add(each.name)
    return found


def _free_names(function: ast.FunctionDef) -> set[str]:
    own = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    loads = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return loads - own - stored


def _all_names(module: ast.Module) -> set[str]:
    found = _reads(module)
    for node in ast.walk(module):
        found |= set(_aliases(node)) if isinstance(node, ast.Import | ast.ImportFrom) else set()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def _aliases(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return []


def _prints(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"


def _hint(node: ast.AST, child: ast.AST) -> str:
    """A name for a constant below this child: what it is compared with, assigned to, or passed as."""
    if isinstance(node, ast.keyword) and node.arg:
        return node.arg
    if isinstance(node, ast.Assign) and child is node.value and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.Compare):
        left = node.left
        while isinstance(left, ast.Call) and len(left.args) == 1:
            left = left.args[0]  # int(row["units"]) is about the units
        if isinstance(left, ast.Subscript) and isinstance(left.slice, ast.Constant):
            return str(left.slice.value)
        if isinstance(left, ast.Attribute):
            return left.attr
        if isinstance(left, ast.Name):
            return left.id
    return ""


def _function_name(title: str, number: int, taken: Collection[str]) -> str:
    base = _slug(title)[:40].strip("_") or f"stage_{number}"
    return base if base not in taken and base not in _BUILTINS else f"{base}_{number}"


def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")
    return f"n_{slug}" if slug[:1].isdigit() else slug if slug.isidentifier() else ""


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(int(each.lineno) for each in decorators)])


def _source(code: str, node: ast.stmt) -> str:
    return "\n".join(code.split("\n")[_first_line(node) - 1 : node.end_lineno])


def _with_names(code: str, found: Sequence[_Constant]) -> list[bytes]:
    """The lines of the code, as bytes, with names in the place of constants."""
    lines = [line.encode() for line in code.split("\n")]
    for each in sorted(found, key=lambda one: (one.line, one.start), reverse=True):
        line = lines[each.line - 1]
        lines[each.line - 1] = line[: each.start] + each.name.encode() + line[each.end :]
    return lines


def _inside_strings(code: str) -> set[int]:
    """The lines that go on with a string of the line before: blanks at their beginning are part of it."""
    found: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type not in _OF_LINES and token.start[0] != token.end[0]:
                found |= set(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return set(range(1, code.count("\n") + 2))
    return found
