"""A table that stands in a message: its lines, found among the prose around them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import groupby

_FEWEST_LINES = 3
"""A header and two rows: fewer lines with commas may be prose."""
_FENCE = "`" * 3
_OPENING = re.compile(rf"^\s*+{_FENCE}\w*\s*")
PLAIN = re.compile(r"-?\d+(\.\d+)?")
"""A number as a computer writes it."""


def pasted_lines(text: str) -> tuple[str, str, list[list[str]], str] | None:
    """The text without the table pasted into it, the table's own lines, its rows of cells, and what separates them.

    The first row is the header. None where there is no table.
    """
    lines = [_without_fence(line) for line in text.splitlines()]
    blocks = [block for separator in "\t;," if (block := _longest_block(lines, separator))]
    if not blocks:
        return None
    start, rows, separator = max(blocks, key=lambda block: len(block[1]))
    rest = "\n".join([*lines[:start], *lines[start + len(rows) :]]).strip()
    content = "\n".join(line.strip(" ") for line in lines[start : start + len(rows)]) + "\n"
    return rest, content, rows, separator


def _without_fence(line: str) -> str:
    line = _OPENING.sub("", line)
    ended = line.rstrip()
    return ended.removesuffix(_FENCE).rstrip() if ended.endswith(_FENCE) else line


def _longest_block(lines: Sequence[str], separator: str) -> tuple[int, list[list[str]], str] | None:
    """The longest run of lines that a separator cuts into a header of names and rows of as many cells."""
    best: tuple[int, list[list[str]], str] | None = None
    at = 0
    for width, rows in groupby((_cells(line, separator) for line in lines), key=len):
        run = list(rows)
        start = _header_in(run) if width > 1 else len(run)
        if len(run) - start >= (len(best[1]) + 1 if best else _FEWEST_LINES):
            best = at + start, run[start:], separator
        at += len(run)
    return best


def _cells(line: str, separator: str) -> list[str]:
    if separator not in line:
        return []
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]


def _header_in(run: Sequence[Sequence[str]]) -> int:
    """The place of the first row that holds short different names, and below which a column holds numbers in every
    row; else the end."""
    lowest = [
        max((place for place, cell in enumerate(column) if not re.search(r"\d", cell)), default=0)
        for column in zip(*run, strict=True)
    ]
    return next((place for place in range(min(lowest), len(run)) if _are_names(run[place])), len(run))


def _are_names(row: Sequence[str]) -> bool:
    return len(set(row)) == len(row) and all(name and len(name) <= 40 and not PLAIN.fullmatch(name) for name in row)
