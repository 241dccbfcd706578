"""Counts work, for tests of what a size costs: what a clock shows differs from machine to machine."""

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


def instructions_in(act: Callable[[], object]) -> int:
    """How many instructions Python performs while this is done. It takes longer than `calls_in`, and counts loops."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> object:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def growth(act: Callable[[int], object], size: int, work: Callable[[Callable[[], object]], int] = calls_in) -> float:
    """By what factor the work grows from `size` things to four times as many. Linear work grows 4 times."""
    act(1)  # what is done once for a process is no part of it
    return work(lambda: act(4 * size)) / work(lambda: act(size))
