"""Reads Python without running it. Nothing else in a service calls `ast.parse` or `ast.literal_eval`.

CPython counts the depth of a tree in the making once for all threads (seen with 3.11). Of two threads that parse at the
same time one gets a SystemError: "AST constructor recursion depth mismatch". A worker has up to fifty turns in threads.
"""

from __future__ import annotations

import ast
import os
import threading
import warnings
from typing import Any

_alone = threading.Lock()


def parsed(code: str) -> ast.Module:
    """The syntax tree of a program. Raises SyntaxError, ValueError, RecursionError or MemoryError when it has none."""
    tree: ast.Module = _parsed(code, "exec")
    return tree


def expression(code: str) -> ast.expr:
    """The syntax tree of one expression. Raises as `parsed` does."""
    tree: ast.Expression = _parsed(code, "eval")
    return tree.body


def literal(text: str) -> Any:
    """The value of a literal: numbers, texts, tuples, lists, dicts, sets. Raises as `parsed` does, and TypeError."""
    return ast.literal_eval(expression(text.lstrip(" \t")))


def _parsed(code: str, mode: str) -> Any:
    with _alone, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a wrong escape in a model's string must not fill our log
        return ast.parse(code, mode=mode)


def _renew() -> None:
    """Another thread may have held the lock at the moment of a fork. It does not exist in the child."""
    global _alone  # noqa: PLW0603
    _alone = threading.Lock()


os.register_at_fork(after_in_child=_renew)
