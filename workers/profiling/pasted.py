"""A table that stands in a message: its lines, found among the prose around them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

_FEWEST_LINES = 3
"""A header and two rows: fewer lines with commas may be prose."""
_FENCE = re.compile(r"^\s*`{3}\w*\s*|\s*`{3}\s*$")
PLAIN = re.compile(r"-?\d+(\.\d+)?")
"""A number as a computer writes it."""


def pasted_lines(text: str) -> tuple[str, str, list[list[str]], str] | None:
    """The text without the table pasted into it, the table's own lines, its rows of cells, and what separates them.

    The first row is the header. None where there is no table.
    """
    lines = [_FENCE.sub("", line) for line in text.splitlines()]
    blocks = [block for separator in "\t;," if (block := _longest_block(lines, separator))]
    if not blocks:
        return None
    start, rows, separator = max(blocks, key=lambda block: len(block[1]))
    rest = "\n".join([*lines[:start], *lines[start + len(rows) :]]).strip()
    content = "\n".join(line.strip(" ") for line in lines[start : start + len(rows)]) + "\n"
    return rest, content, rows, separator


def _longest_block(lines: Sequence[str], separator: str) -> tuple[int, list[list[str]], str] | None:
    """The longest run of lines that a separator cuts into a header of names and rows of as many cells."""
    best: tuple[int, list[list[str]], str] | None = None
    for start in range(len(lines)):
        if separator not in lines[start] or (best and start < best[0] + len(best[1])):
            continue
        rows: list[list[str]] = []
        for line in lines[start:]:
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]
            if len(cells) < 2 or (rows and len(cells) != len(rows[0])):
                break
            rows.append(cells)
        if len(rows) >= _FEWEST_LINES and _is_header(rows) and (best is None or len(rows) > len(best[1])):
            best = start, rows, separator
    return best


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """True when the first row holds short different names, and a column below it holds numbers in every row."""
    names = rows[0]
    numbers = any(all(re.search(r"\d", row[place]) for row in rows[1:]) for place in range(len(names)))
    short = all(name and len(name) <= 40 and not PLAIN.fullmatch(name) for name in names)
    return numbers and short and len(set(names)) == len(names)
