"""A table that stands in a message as lines of CSV or TSV: found, taken out of the text, and described."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from workers.offline.columns import kind_of
from workers.offline.values import Column, Table

_FEWEST_LINES = 3
"""A header and two rows: fewer lines with commas may be prose."""
_FENCE = re.compile(r"^\s*`{3}\w*\s*|\s*`{3}\s*$")
_PLAIN = re.compile(r"-?\d+(\.\d+)?")


def pasted_table(text: str, path: str) -> tuple[str, Table | None]:
    """The text without the table that is pasted into it, and that table as a file of this path; None without one."""
    lines = [_FENCE.sub("", line) for line in text.splitlines()]
    blocks = [block for separator in "\t;," if (block := _longest_block(lines, separator))]
    if not blocks:
        return text, None
    start, rows, separator = max(blocks, key=lambda block: len(block[1]))
    rest = "\n".join([*lines[:start], *lines[start + len(rows) :]]).strip()
    content = "\n".join(line.strip(" ") for line in lines[start : start + len(rows)]) + "\n"
    columns = tuple(
        _column(name, [row[place] for row in rows[1:]], len(rows) - 1) for place, name in enumerate(rows[0])
    )
    name = path.rpartition(".")[0]
    read = f"pd.read_csv({path!r}, sep={separator!r}, skipinitialspace=True)"
    return rest, Table(name, path, "csv", columns, rows=len(rows) - 1, separator=separator, read=read, content=content)


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
    short = all(name and len(name) <= 40 and not _PLAIN.fullmatch(name) for name in names)
    return numbers and short and len(set(names)) == len(names)


def _column(name: str, cells: Sequence[str], rows: int) -> Column:
    """What pandas will make of these cells."""
    filled = [cell for cell in cells if cell]
    plain = bool(filled) and all(_PLAIN.fullmatch(cell) for cell in filled)
    whole = plain and len(filled) == rows and all("." not in cell for cell in filled)
    dtype = "int64" if whole else "float64" if plain else "str"
    unique = len(set(filled))
    kind, raw = kind_of(name, dtype, unique, rows, tuple(dict.fromkeys(filled))[:8])
    return Column(name, kind, dtype, raw, 1 - len(filled) / max(rows, 1), unique, tuple(dict.fromkeys(filled))[:8])
