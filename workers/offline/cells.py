"""The code of a cell: the functions of `templates/` and `cell_functions.py` that it needs, and the call of one."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from core import python_source
from core.values import Language
from workers.offline.values import Cell
from workers.offline.wording import say

MARK = "# {stage} · {title}"
"""The first line of every cell; `stage_of` reads it back from code that a thread remembers."""

FIRST = ("load", "survey")
"""The stages whose cells need no other cell before them."""

_MARK = re.compile(r"\A# ([a-z]+\d*) · ")
_WORD = re.compile(r'\bwords\["(\w+)"\]|\bfill\(\s*"(\w+)", words\b')
_FOR_CHECKS = re.compile(r"  # (?:fmt: |noqa|type: ignore).*")
_LINE = 116
_SHARED = "cell_functions.py"
_AT_HAND = ("tell", "copies_of", "look_at", "bars", "name_of", "spacing", "covered", "ends_early")
"""Functions that the first cell defines for all others."""


class Code(str):
    """A value that is source itself, such as the name of a variable."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Function:
    """A function that a cell may define, the file that it stands in, and the names that it uses and calls."""

    source: str
    node: ast.FunctionDef
    file: str
    names: frozenset[str]
    calls: frozenset[str]


@cache
def _library() -> tuple[Mapping[str, _Function], Mapping[str, str], frozenset[str]]:
    """Every function that a cell may define, the lines that import a name from outside, and the names that the first
    cell imports."""
    room = resources.files(__package__)
    files = [_SHARED, *(f"templates/{file.name}" for file in room.joinpath("templates").iterdir())]
    functions: dict[str, _Function] = {}
    imports: dict[str, str] = {}
    at_first: frozenset[str] = frozenset()
    for file in sorted(name for name in files if name.endswith(".py")):
        text = room.joinpath(file).read_text(encoding="utf-8")
        for node in python_source.parsed(text).body:
            if isinstance(node, ast.FunctionDef):
                source = _FOR_CHECKS.sub("", ast.get_source_segment(text, node) or "")
                functions[node.name] = _Function(source, node, file, _names(node), _called(node))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                origin = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                if not origin.startswith(("from __future__", "from workers")):
                    imports |= {each.asname or each.name: f"{origin}import {ast.unparse(each)}" for each in node.names}
        at_first = at_first or frozenset(imports)
    return functions, imports, at_first


def functions() -> Mapping[str, str]:
    """The source of every function that a cell may define, by name."""
    return {name: function.source for name, function in _library()[0].items()}


def templates() -> frozenset[str]:
    """The names of the functions that make a cell of their own."""
    return frozenset(name for name, function in _library()[0].items() if function.file != _SHARED)


def cell(
    template: str,
    stage: str,
    language: Language,
    values: Mapping[str, object],
    *,
    before: Sequence[str] = (),
    table: str = "",
) -> Cell:
    """The cell that calls a template after the lines `before`; what it returns is shown, and kept under `table`.

    At its head stand the imports and functions that the code needs and the first cell of the thread has not defined.
    Raises KeyError when a value is missing.
    """
    title = say("titles", template, language, **values)
    words = {key: say("cells", key, language, **values) for key in words_of(template)}
    called = call(template, {**values, "title": title, "words": words})
    code = "\n".join([*before, f"{table} = {called}\n{table}" if table else called])
    needed = _functions_for(code, stage)
    used = _names(python_source.parsed(code)).union(*(function.names for function in needed))
    _, lines, at_first = _library()
    wanted = used | at_first if stage in FIRST else used - at_first
    imports = "\n".join(dict.fromkeys(line for name, line in lines.items() if name in wanted))
    head = imports + "".join(f"\n\n\n{function.source}" for function in needed)
    body = f"{head.strip()}\n\n\n{code}".strip()
    return Cell(stage, title, f"{MARK.format(stage=stage, title=title)}\n{body}\n")


def words_of(template: str) -> tuple[str, ...]:
    """The keys of the words that a template, or a function that it calls, writes or draws."""
    found = [key for each in _with_called({template}) for key in _WORD.findall(_library()[0][each].source)]
    return tuple(sorted({one or other for one, other in found}))


def call(template: str, values: Mapping[str, object]) -> str:
    """The call of a template: its positional parameters are variables of the session, the others these values."""
    node = _library()[0][template].node
    given = [parameter.arg for parameter in node.args.args]
    given += [f"{name}={literal(values[name])}" for name in (parameter.arg for parameter in node.args.kwonlyargs)]
    lines = [""]
    for argument in given:
        if lines[-1] and len(lines[-1]) + len(argument) > _LINE - 6:
            lines.append("")
        lines[-1] += f"{argument}, "
    lines = [line.rstrip() for line in lines]
    whole = f"{template}({lines[0].rstrip(',')})"
    return whole if len(lines) == 1 and len(whole) < _LINE else "\n    ".join([f"{template}(", *lines]) + "\n)"


def literal(value: object) -> str:
    """A value as Python source, with double quotes: text, numbers, None, booleans, lists and dicts of these."""
    if isinstance(value, Code):
        return value
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    return repr(value)


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _called(node: ast.AST) -> frozenset[str]:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return frozenset(called.id for called in calls if isinstance(called, ast.Name))


def _functions_for(code: str, stage: str) -> list[_Function]:
    """The functions that a code calls, and those that these call, as far as no earlier cell has defined them."""
    library = _library()[0]
    first = set(_AT_HAND) if stage == "load" else set()
    wanted = _with_called(first | (_called(python_source.parsed(code)) & library.keys()))
    defined = () if stage in FIRST else _AT_HAND
    return [function for name, function in library.items() if name in wanted and name not in defined]


def _with_called(functions: Collection[str]) -> frozenset[str]:
    """These functions and all that they call, as far as cells may define them."""
    library = _library()[0]
    wanted: frozenset[str] = frozenset()
    found = frozenset(functions)
    while found - wanted:
        wanted |= found
        found = frozenset(name for each in wanted for name in library[each].calls) & library.keys()
    return wanted


def stage_of(code: str) -> str:
    """The stage that a cell was written for; empty for code that is not ours."""
    found = _MARK.match(code)
    return found[1] if found else ""
