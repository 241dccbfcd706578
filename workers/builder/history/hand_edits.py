"""Code that people changed by hand after a build: found by hash, kept as a patch, put into the next build.

There are three versions: the code that was built, the code in the folder now, and the next build. A change by hand is
applied if it touches other lines than the rebuild. If both touch the same lines, there is a conflict: the rebuilt lines
stay, and the changes by hand are shown. No work is lost, because the patch is kept.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line as patches count them: a form feed in it ends none."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A file after a merge: its text, and the conflicts as (line of the rebuilt file, what the hand wrote)."""

    text: str
    conflicts: tuple[tuple[int, str], ...] = ()


def patch(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """A unified diff of two states of a program's folder."""
    parts: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path, ""), after.get(path, "")
        if old != new:
            parts += difflib.unified_diff(
                _LINE.findall(old),
                _LINE.findall(new),
                f"a/{path}" if path in before else "/dev/null",
                f"b/{path}" if path in after else "/dev/null",
            )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts)


def merge(built: str, by_hand: str, rebuilt: str) -> Merged:
    """Put the changes from `built` to `by_hand` into `rebuilt`, line by line."""
    base, ours, theirs = (_LINE.findall(text) for text in (built, by_hand, rebuilt))
    hand, again = list(_hunks(base, ours)), list(_hunks(base, theirs))
    out: list[str] = []
    conflicts: list[tuple[int, str]] = []
    at = 0
    while hand or again:
        start = min(one.start for one in (*hand[:1], *again[:1]))
        out += base[at:start]
        left, right, end = _together(hand, again, start)
        if not left or not right:
            out += _applied(base, left or right, start, end)
        else:
            by_left, by_right = _applied(base, left, start, end), _applied(base, right, start, end)
            if by_left != by_right:
                conflicts.append((len(out) + 1, "".join(by_left)))
            out += by_right
        at = end
    return Merged("".join([*out, *base[at:]]), tuple(conflicts))


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines `start` to `end` of the base become `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


def _hunks(base: list[str], changed: list[str]) -> Iterator[_Hunk]:
    for tag, start, end, first, last in difflib.SequenceMatcher(None, base, changed, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Hunk(start, end, tuple(changed[first:last]))


def _together(hand: list[_Hunk], again: list[_Hunk], start: int) -> tuple[list[_Hunk], list[_Hunk], int]:
    """Take the hunks of both sides that touch each other from `start` on; returns them and where they end."""
    left: list[_Hunk] = []
    right: list[_Hunk] = []
    end = start
    grown = True
    while grown:
        grown = False
        for waiting, taken in ((hand, left), (again, right)):
            while waiting and (waiting[0].start < end or waiting[0].start == start):
                one = waiting.pop(0)
                taken.append(one)
                end, grown = max(end, one.end), True
    return left, right, end


def _applied(base: list[str], hunks: list[_Hunk], start: int, end: int) -> list[str]:
    out, at = list[str](), start
    for one in hunks:
        out += [*base[at : one.start], *one.lines]
        at = one.end
    return [*out, *base[at:end]]
