"""A test file of which `-m` can select no test is not imported: the imports of a thousand files take long.

Marks stand in the test files themselves and in the `conftest.py` of their folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

_NAMED = re.compile(r"\bmark\.(\w+)")
_OF_THE_FILE = re.compile(r"^pytestmark = pytest\.mark\.(\w+)$", re.MULTILINE)
_OF_THE_FOLDER = re.compile(r"^\s+item\.add_marker\(pytest\.mark\.(\w+)\)$", re.MULTILINE)
_WORDS = frozenset(("not", "and", "or"))
_TESTS = Path(__file__).parent


def is_left_out(path: Path, config: pytest.Config) -> bool:
    """Whether no test of a file can be selected by `-m`: by the marks that each of its tests has, and those it may."""
    expression = config.getoption("markexpr")
    if not expression or not path.name.startswith("test_") or path.suffix != ".py":
        return False
    own, shared = path.read_text(encoding="utf-8"), "\n".join(_conftests(path.parent))
    always = {*_OF_THE_FILE.findall(own), *_OF_THE_FOLDER.findall(shared)}
    return is_never(expression, frozenset(always), frozenset(_NAMED.findall(own + shared)))


@cache
def is_never(expression: str, always: frozenset[str], sometimes: frozenset[str]) -> bool:
    """Whether an expression is false for every test that has all of the first marks and any of the second ones."""
    some = sorted((set(re.findall(r"\w+", expression)) - _WORDS - always) & sometimes)
    sets = [always.union(more) for count in range(len(some) + 1) for more in combinations(some, count)]
    return not any(_selects(expression, marks) for marks in sets)


def _selects(expression: str, marks: frozenset[str]) -> bool:
    return Expression.compile(expression).evaluate(lambda name, /, **_: name in marks)


@cache
def _conftests(folder: Path) -> tuple[str, ...]:
    return tuple(_read(folder))


def _read(folder: Path) -> Iterator[str]:
    for one in (folder, *folder.parents):
        if (found := one / "conftest.py").is_file():
            yield found.read_text(encoding="utf-8")
        if one == _TESTS:
            return
