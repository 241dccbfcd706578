"""A test file that is marked as a whole is not imported where its mark is not asked for: its imports take long."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

_WHOLE = re.compile(r"^pytestmark = pytest\.mark\.(\w+)$", re.MULTILINE)
_WORDS = frozenset(("not", "and", "or"))


def is_left_out(path: Path, config: pytest.Config) -> bool:
    """Whether no test of a file can be selected by `-m`, whatever further marks it has."""
    expression = config.getoption("markexpr")
    if not expression or not path.name.startswith("test_") or path.suffix != ".py":
        return False
    whole = _WHOLE.search(path.read_text(encoding="utf-8"))
    return whole is not None and is_never(expression, whole[1])


@cache
def is_never(expression: str, mark: str) -> bool:
    """Whether an expression is false for every test that has this mark, with any other marks beside it."""
    others = sorted(set(re.findall(r"\w+", expression)) - _WORDS - {mark})
    sets = [{mark, *some} for count in range(len(others) + 1) for some in combinations(others, count)]
    return not any(_selects(expression, marks) for marks in sets)


def _selects(expression: str, marks: set[str]) -> bool:
    return Expression.compile(expression).evaluate(lambda name, /, **_: name in marks)
