"""Threads that read Python at the same time and take turns as often as they can, also in the midst of a syntax tree."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

STATEMENTS = 40
NESTED = "\n".join(f"x{n} = [a for a in range({n}) if f(a, [1, 2, {{'k': (1, {n}, -a)}}])]" for n in range(STATEMENTS))


class _Slow:
    """Garbage in a circle: the collector runs this in the midst of whatever makes objects, and threads take turns."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(50))


def read_by_many(statements_of: Callable[[str], int]) -> set[int]:
    """What 600 reads of `NESTED` found, in eight threads."""

    def read(_: int) -> int:
        _Slow()
        return statements_of(NESTED)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            return set(threads.map(read, range(600)))
    finally:
        sys.setswitchinterval(before)
