"""Facts in lists that have the name at the end of the line, as shells print them: `wc`, `uniq -c`, `ls -l`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from workers.agent.provenance.language.numerals import scan
from workers.agent.provenance.outputs.grids import Found, Reader, add_grid, note_days, number_in

_MAX_RUN = 400
_COUNT = re.compile(r"^(?P<counts> *\d+(?: +\d+){0,3}) (?P<name>\S.*)$")
"""A line of `uniq -c` or `wc`: the counts, one blank, and the name that they belong to."""
_FILE = re.compile(
    r"^[-bcdlps](?:[-r][-w][-xsStT]){3}[.+@]?\s+\d+\s+\S+\s+\S+\s+(?P<size>\d[\d.,]{0,20}[KMGT]?)\s+"
    r"(?P<time>\w+[ .-]+\w+[ .-]+[\d:]+(?: [\d:.]+(?: [+-]\d+)?)?) (?P<name>\S.*)$"
)
"""A line of `ls -l`: its first number counts links, and the size stands before the time and the name."""
_NAMED_FILE = re.compile(r"[\w./-]+\.\w{1,8}")


def run_of(lines: Sequence[str], at: int, like: Callable[[str], bool]) -> int:
    """The end of the lines that are so, from the one behind `at`, which is taken as it is."""
    end = at
    while end < len(lines) and end - at < _MAX_RUN and lines[end].strip() and like(lines[end]):
        end += 1
    return max(end, at + 1)


def listed(lines: Sequence[str], at: int, reader: Reader, found: Found) -> int:
    """Read a list of names with figures before them. Returns where it ends, `at` when there is none."""
    if _FILE.match(lines[at]):
        return _files(lines, at, reader, found)
    return _counted(lines, at, reader, found)


def _files(lines: Sequence[str], at: int, reader: Reader, found: Found) -> int:
    end = run_of(lines, at, lambda line: _FILE.match(line) is not None)
    told = [one for line in lines[at:end] if (one := _FILE.match(line))]
    _add(["file", "size"], [(one["name"], [one["size"]]) for one in told], at, reader, found)
    note_days([one["time"] for one in told], reader, found, at)
    return end


def _counted(lines: Sequence[str], at: int, reader: Reader, found: Found) -> int:
    """Counts that stand one below the other in front of their names."""
    first = _COUNT.match(lines[at])
    if first is None:
        return at
    width = first.end("counts")
    end = run_of(lines, at, lambda line: (told := _COUNT.match(line)) is not None and told.end("counts") == width)
    told = [_COUNT.match(line) for line in lines[at:end]]
    cells = [(one["name"], one["counts"].split()) for one in told if one]
    names = {name for name, _ in cells}
    of_files = all(_NAMED_FILE.fullmatch(name) or name == "total" for name in names)
    if end - at < 2 or len(names) < len(cells) or len({len(counts) for _, counts in cells}) > 1:
        return at
    if not of_files and (len(cells[0][1]) > 1 or not any(one["counts"][0] == " " for one in told if one)):
        return at
    if any(" " in name and any(one.kind == "number" for one in scan(name, reader.marks)) for name in names):
        return at
    _add(["", *([""] * len(cells[0][1]))], cells, at, reader, found)
    note_days(lines[at:end], reader, found, at)
    return end


def _add(header: Sequence[str], cells: Sequence[tuple[str, Sequence[str]]], at: int, reader: Reader,
         found: Found) -> None:  # fmt: skip
    """Add a table of names, each with the figures that stood before it."""
    rows = [(at + place, [name, *figures]) for place, (name, figures) in enumerate(cells, 1)]
    values = [[None, *(number_in(each, reader.marks) for each in figures)] for _, figures in cells]
    add_grid(header, rows, values, reader, found)
