"""What a cell showed, without its values: what a stage has to show on other data, and what its report gives. Pure.

Where not everybody may have the data, only what the code says too is told: a playbook's page has the code anyway.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from core.steps import CellRan, SourcePlace
from workers.agent.code.source import tree
from workers.agent.provenance.language.words import CURRENCIES
from workers.agent.text import one_line
from workers.agent.turn import Told

UNSHOWN = "…"
"""What a stage shows where nothing of it may be told to everybody."""
NOTHING = "nothing; it prepares what follows"
_MOST_CHARS = 500
_MOST_COLUMNS, _MOST_ROWS, _MOST_TABLES, _MOST_LINES = 12, 8, 4, 4
_READ_LINES = 300
_NUMBER = re.compile(r"(?<!\w)[-+−]?\d(?:[\d.,:/%-]*[\d%])?")
_AROUND = " \t,;:.|=()[]{}<>%+-−→…\"'`"
_GAP = re.compile(r"\s{2,}|\t")
_WORD = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")
_MONEY = re.compile(
    rf"\A(?:{'|'.join(sorted((re.escape(name) for name in CURRENCIES), key=len, reverse=True))})(?!\w)", re.IGNORECASE
)
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d-[01]\d(?:-[0-3]\d)?(?!\d)")
_FEWEST_DIGITS = 3


def shows(cell: CellRan, told: Told = str) -> str:
    """What a cell showed, in a line: its tables with their columns and rows, its charts and files, its labels."""

    def may(texts: Iterable[str]) -> list[str]:
        return _tellable(texts, cell.code, told)

    parts = [_table(may(table.columns), []) for table in cell.tables[:1]]
    parts += [f"a chart: {', '.join(title)}" for chart in cell.charts[:2]
              if (title := may(_words_of(chart.title or chart.y or chart.figure)))]  # fmt: skip
    parts += [f"the file {name}" for name in may(file.name for file in cell.files[:2])]
    lines = tables = 0
    for columns, rows in _printed(cell.stdout):
        if columns and tables < _MOST_TABLES:
            parts.append(_table(may(columns), may(rows)))
            tables += 1
        elif not columns and lines < _MOST_LINES and (label := ", ".join(may(rows))):
            parts.append(one_line(label, 120))
            lines += 1
    found = [part for part in dict.fromkeys(parts) if part]
    while len(" · ".join(found)) > _MOST_CHARS and len(found) > 1:
        found.pop()
    if not found:
        return UNSHOWN if _printed(cell.stdout) or cell.charts or cell.tables else NOTHING
    return one_line(" · ".join(found), _MOST_CHARS)


def given(places: Iterable[SourcePlace], code: str, told: Told = str) -> Iterator[str]:
    """What figures are called where they were found, each once: their rows and columns, or the words before them."""
    labels = (" · ".join(_tellable(_label(place), code, told)) for place in places)
    return (label for label in dict.fromkeys(labels) if label)


def of_then(code: str, shown: str) -> list[str]:
    """The values in code that are of the data of then, in their order: dates, and figures that cells before it
    `shown`."""
    module = tree(code)
    if module is None:
        return []
    before = {one for one in map(_value, _NUMBER.findall(shown)) if one is not None}
    found: list[str] = []
    for node in (node for node in ast.walk(module) if isinstance(node, ast.Constant)):
        if isinstance(node.value, str):
            found += _DATE.findall(node.value)
        elif isinstance(node.value, int | float) and not isinstance(node.value, bool):
            digits = repr(node.value).replace(".", "").strip("0")
            if len(digits) >= _FEWEST_DIGITS and float(node.value) in before:
                found.append(repr(node.value))
    return list(dict.fromkeys(found))


def _table(columns: Sequence[str], rows: Sequence[str]) -> str:
    if not columns:
        return ""
    named = f"a table with {', '.join(columns[:_MOST_COLUMNS])}"
    more = ", …" if len(rows) > _MOST_ROWS else ""
    return f"{named} for {', '.join(rows[:_MOST_ROWS])}{more}" if rows else named


def _tellable(texts: Iterable[str], code: str, told: Told) -> list[str]:
    """Those of these texts that everybody may read, or reads in the code."""
    found = (told(text) or (text if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", code) else "") for text in texts)
    return [one_line(text, 120) for text in dict.fromkeys(found) if text.strip()]


def _printed(text: str) -> list[tuple[list[str], list[str]]]:
    """What a text has: the columns and the named rows of a table, or no columns and the words of a line."""
    found: list[tuple[list[str], list[str]]] = []
    lines = text.splitlines()[:_READ_LINES]
    first = -1
    """The place of the first row of the table that a line may belong to."""
    for at, line in enumerate(lines):
        cells = _GAP.split(line.strip())
        if at < first:
            continue  # the name of the index, on a line of its own
        if at == first or (first >= 0 and _goes_on(line, lines[first])):
            found[-1][1].extend([words for cell in cells for words in _words_of(cell)[:1]][:1])
            continue
        below = [place for place, row in enumerate(lines[at + 1 : at + 3], at + 1) if _figures(row)]
        if len(cells) > 1 and not _figures(line) and below:
            found.append((cells, []))
            first = below[0]
            continue
        first = -1
        if words := _words_of(line):
            found.append(([], words))
    return found


def _goes_on(line: str, row: str) -> bool:
    """Whether a line is one more row below this one: as long as it, or in columns with about as many figures."""
    in_columns = len(_GAP.split(line.strip())) > 1 and 2 * _figures(line) > _figures(row)
    return bool(_figures(line)) and (len(line) == len(row) or in_columns)


def _figures(line: str) -> int:
    """How many figures stand in a line beside something else."""
    words = line.split()
    return sum(_NUMBER.fullmatch(each) is not None for each in words) if len(words) > 1 else 0


def _words_of(line: str) -> list[str]:
    """The words of a line between its numbers, without signs and units around them."""
    return [words for piece in _NUMBER.split(line) if (words := _without_unit(piece))]


def _without_unit(piece: str) -> str:
    words = piece.strip(_AROUND)
    words = _MONEY.sub("", words).strip(_AROUND)
    return words if _WORD.search(words) else ""


def _label(place: SourcePlace) -> list[str]:
    """What a figure is called: the labels of its row and column, or the words before it in its line."""
    parts = [part.strip() for part in place.about.split(" · ")]
    if len(parts) > 1:
        return [words for part in parts if (words := ", ".join(_words_of(part)))]
    for number in _NUMBER.finditer(place.about):
        if place.number is not None and _value(number[0]) == place.number:
            before = _words_of(place.about[: number.start()])
            return before[-1:]
    return _words_of(place.about)[:3]


def _value(number: str) -> float | None:
    try:
        return float(number.replace(",", "").replace("−", "-").rstrip("%"))
    except ValueError:
        return None
