"""The steps of a thread, read as what the analyst works from: texts, tables and cells, turn by turn."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from core.steps import Asked, Briefed, CellRan, ColumnNote, FileAbstract, Questioned, Replied, Step
from workers.agent.turn import Turn
from workers.offline.columns import kind_of
from workers.offline.values import Column, Facts, Table, TurnContent

_FACT = re.compile(r"^([a-z_]+): (\{.*\})$", re.MULTILINE)
_MAX_TEXT = 12_000
"""Characters of one message that are read: the search for column names takes time with each word."""


def read(turn: Turn) -> tuple[TurnContent, ...]:
    """The turns of the thread, oldest first; the last one is being worked on."""
    return tuple(_content(steps, n) for n, steps in enumerate((*turn.earlier, turn.steps), start=1))


def _content(given: Sequence[Step], number: int) -> TurnContent:
    """One turn; a table that stands in a message is one of its tables and no longer part of the text."""
    steps, pasted = list(given), list[Table]()
    for place, step in enumerate(steps):
        if isinstance(step, Asked):
            text, table = pasted_table(step.text, f"message-{number}-{len(pasted) + 1}.csv")
            if table:
                steps[place] = step.model_copy(update={"text": text})
                pasted.append(table)
    briefings = [step for step in steps if isinstance(step, Briefed)]
    files = [file for briefed in briefings for file in briefed.files]
    replies = [step for step in steps if isinstance(step, Replied) and step.purpose == "act"]
    return TurnContent(
        texts=tuple(filter(None, _texts(steps))),
        tables=(*(table for file in files for table in _tables(file)), *pasted),
        documents=tuple(file.path for file in files if not file.tables),
        problems=tuple(f"{problem.name}: {problem.why}" for briefed in briefings for problem in briefed.problems),
        cells=tuple(step for step in steps if isinstance(step, CellRan) and step.language == "python"),
        calls=sum(len(reply.calls) for reply in replies),
        questions=sum(isinstance(step, Questioned) and step.approval is None for step in steps),
    )


def _texts(steps: Sequence[Step]) -> Iterator[str]:
    """What people wrote. Messages that the analyst sees together are one text; an answer to a question stands alone."""
    together: list[str] = []
    answering = False
    for step in steps:
        if isinstance(step, Asked):
            text = "\n".join(line.strip() for line in step.text[:_MAX_TEXT].splitlines()).strip()
            if answering:
                yield text
            else:
                together.append(text)
            answering = False
        elif isinstance(step, Questioned) or (isinstance(step, Replied) and step.purpose == "act"):
            yield "\n".join(together).strip()
            together = []
            answering = isinstance(step, Questioned) and step.approval is None
    yield "\n".join(together).strip()


def _tables(file: FileAbstract) -> list[Table]:
    """The tables of a file that have columns. A sheet is named when its file can hold several."""
    found = []
    several = len(file.tables) > 1
    for note in file.tables:
        if note.columns:
            numbered = file.format == "html" and note.name.isdecimal()
            found.append(
                Table(
                    name=note.name if several and note.name else file.path.rsplit("/", 1)[-1].rsplit(".", 1)[0],
                    path=file.path,
                    format=file.format,
                    columns=tuple(_column(column, note.rows) for column in note.columns),
                    rows=note.rows,
                    sheet=note.name if note.name and (file.format.startswith("xls") or numbered) else None,
                    encoding=file.encoding,
                    read=file.read_hint,
                )
            )
    return found


def _column(note: ColumnNote, rows: int | None) -> Column:
    name = " ".join(note.name.split())
    samples = tuple(dict.fromkeys(" ".join(sample.split()) for sample in note.samples))
    kind, raw = kind_of(name, note.dtype, note.unique, rows, samples)
    return Column(name, kind, note.dtype, raw, note.missing, note.unique, samples)


def facts_of(cells: Iterable[CellRan]) -> Facts:
    """Everything that cells which ended well printed as facts, in order."""
    facts: Facts = {}
    for cell in cells:
        if cell.status == "ok":
            for name, document in _FACT.findall(cell.stdout):
                try:
                    facts.setdefault(name, []).append(json.loads(document))
                except ValueError:
                    continue
    return facts


def last_told(facts: Facts, name: str) -> dict[str, Any] | None:
    """The last fact of this name; None when there is none."""
    told = facts.get(name)
    return told[-1] if told else None


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
    columns = tuple(_pasted_column(name, [row[place] for row in rows[1:]]) for place, name in enumerate(rows[0]))
    name = path.rpartition(".")[0]
    read = f"pd.read_csv({path!r}, sep={separator!r}, skipinitialspace=True)"
    return rest, Table(name, path, "csv", columns, rows=len(rows) - 1, read=read, content=content)


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


def _pasted_column(name: str, cells: Sequence[str]) -> Column:
    """What pandas will make of these cells."""
    filled = [cell for cell in cells if cell]
    plain = bool(filled) and all(_PLAIN.fullmatch(cell) for cell in filled)
    whole = plain and len(filled) == len(cells) and all("." not in cell for cell in filled)
    dtype = "int64" if whole else "float64" if plain else "str"
    missing, different = 1 - len(filled) / len(cells), tuple(dict.fromkeys(filled))
    return _column(ColumnNote(name=name, dtype=dtype, missing=missing, unique=len(different), samples=different[:8]),
                   len(cells))  # fmt: skip
