"""Concrete hints after an error: similar names, existing columns, available modules. Given only when sure."""

from __future__ import annotations

import builtins
import difflib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from core.steps import CellRan, Step
from workers.agent.about_steps import since_reset
from workers.agent.code.source import assigned_names, compared_values
from workers.agent.text import one_line
from workers.agent.turn import files_of

_QUOTED = re.compile(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"")
_NOT_IN_INDEX = re.compile(r"\[(?P<names>.{1,400}?)\] not (?:found )?in index|None of .*?\[(?P<none>.{1,400}?)\]")
_MAX_LISTED = 40
_SOME_LEVELS = 5
_SHELL_LINE = re.compile(r"^\s*[!%]\w", re.MULTILINE)


def error_line(cell: CellRan) -> str:
    """The error of a cell in one line: the last line of its traceback, or its status."""
    lines = [line for line in cell.error.splitlines() if line.strip()]
    return one_line(lines[-1] if lines else cell.error_name or cell.status, 300)


def hint(cell: CellRan, before: Sequence[Step], packages: Iterable[str]) -> str:
    """One line that helps to repair this cell, or "". `before`: the thread's steps up to the cell."""
    line = error_line(cell)
    words = [a or b for a, b in _QUOTED.findall(line)]
    if cell.error_name == "NameError" and words:
        return _near(words[0], "names in this session", _names(before))
    if cell.error_name == "KeyError":
        missing = _missing_keys(line, words)
        seen = "columns " in cell.variables  # the table that the line asked is described there, with its own columns
        return _near(missing[0], "columns of the given files", _columns(before), list_all=not seen) if missing else ""
    if cell.error_name == "AttributeError" and len(words) > 1:
        return _near(words[-1], "columns of the given files", _columns(before))
    if cell.error_name == "FileNotFoundError" and words:
        return _near(words[-1], "files in the working folder", _paths(before), list_all=True)
    if cell.error_name in ("ModuleNotFoundError", "ImportError"):
        return f"nothing can be installed; at hand are {', '.join(name.split()[0] for name in packages)}"
    if cell.error_name in ("SyntaxError", "IndentationError") and _SHELL_LINE.search(cell.code):
        return "lines that start with ! or % do not work here, only Python"
    return ""


def near_values(cell: CellRan, before: Sequence[Step]) -> list[str]:
    """Values that the code compares a column with but that the column does not have, each with its nearest existing
    value.

    Only for columns whose values are all listed in a file's description.
    """
    levels: dict[str, list[str]] = {}
    for file in files_of(before):
        for column in (column for table in file.tables for column in table.columns if column.levels):
            levels[column.name] = [level.value for level in column.levels]
    found = []
    for name, value in compared_values(cell.code):
        known = levels.get(name)
        if known and value not in known:
            loosely = [one for one in known if _loosely(one) == _loosely(value)]
            close = loosely or difflib.get_close_matches(value, known, n=2, cutoff=0.6)
            near = " or ".join(repr(one[:60]) for one in close or known[:_SOME_LEVELS])
            found.append(f"{name[:60]!r} has no {value[:60]!r}; it has {near}")
    return found[:_SOME_LEVELS]


def _near(word: str, what: str, candidates: Iterable[str], list_all: bool = False) -> str:
    """ "Did you mean …?" when a name is similar, else (if wanted) the existing names."""
    known = tuple(dict.fromkeys(candidates))
    if found := _similar(word, known):
        return f"{found} (among the {what})"
    if list_all and known:
        more = f" and {len(known) - _MAX_LISTED} more" if len(known) > _MAX_LISTED else ""
        return f"{what}: {', '.join(repr(one_line(name, 80)) for name in known[:_MAX_LISTED])}{more}"
    return ""


@lru_cache(maxsize=512)  # each prompt of a thread asks again for every error that it shows
def _similar(word: str, known: tuple[str, ...]) -> str:
    for name in known:
        if _loosely(name) == _loosely(word) and name != " ".join(name.split()):
            return f"it is called {name!r}{_edges(name)}"
    folded = {name.casefold().strip(): name for name in reversed(known)}
    close = difflib.get_close_matches(word.casefold().strip(), folded, n=3, cutoff=0.7)
    return f"did you mean {' or '.join(repr(folded[name]) for name in close)}?" if close else ""


def _loosely(name: str) -> str:
    """The name in a form that ignores case and blanks."""
    return "".join(name.split()).casefold()


def _edges(name: str) -> str:
    """Which blanks at the edges of a text a reader could overlook."""
    found = [word for word, part in (("leading", name.lstrip()), ("trailing", name.rstrip())) if part != name]
    return f", with {' and '.join(found)} blanks" if found else ""


def _missing_keys(line: str, words: list[str]) -> list[str]:
    """The keys that a KeyError of pandas or of a dict names."""
    if found := _NOT_IN_INDEX.search(line):
        inner = found["names"] or found["none"]
        return [a or b for a, b in _QUOTED.findall(inner)]
    return words


def _names(before: Sequence[Step]) -> list[str]:
    cells = [step for step in since_reset(before) if isinstance(step, CellRan) and step.status == "ok"]
    own = [name for cell in reversed(cells) for name in assigned_names(cell.code)]
    return [*own, *(name for name in dir(builtins) if not name.startswith("_"))]


def _columns(before: Sequence[Step]) -> list[str]:
    tables = [table for file in reversed(files_of(before)) for table in file.tables]
    return [name for table in tables for name in (*(column.name for column in table.columns), *table.more_names)]


def _paths(before: Sequence[Step]) -> list[str]:
    return [file.path for file in reversed(files_of(before))]
