"""Counts work for tests that a size is no danger: what a clock would show differs from machine to machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls_in(act: Callable[[], object]) -> int:
    """How many functions are called while this is done: ours, those of libraries, and built-in ones."""
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(before)
    return calls


def growth(act: Callable[[int], object], size: int) -> float:
    """How many times the calls of `size` things are those of four times as many. Linear work grows 4 times."""
    act(1)  # what is done once for a process is no part of it
    return calls_in(lambda: act(4 * size)) / calls_in(lambda: act(size))
