"""The steps of a thread, read as what the analyst works from: texts, tables and cells, turn by turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from core.language_detection import own_words
from core.steps import Asked, Briefed, CellRan, ColumnNote, FileAbstract, Questioned, Replied, Step
from workers.agent.turn import Turn
from workers.offline.cells import literal
from workers.offline.columns import kind_of
from workers.offline.values import Column, Facts, Table, TurnContent
from workers.profiling.pasted import PLAIN, pasted_lines

_FACT = re.compile(r"^([a-z_]+): (\{.*\})$", re.MULTILINE)
_SIMPLE = re.compile(r"[a-z_][a-z0-9_.]*")
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
    cells = tuple(step for step in steps if isinstance(step, CellRan) and step.language == "python")
    return TurnContent(
        texts=tuple(filter(None, _texts(steps))),
        tables=(*(table for file in files for table in _tables(file)), *pasted, *_source_tables(cells)),
        documents=tuple(file.path for file in files if not file.tables),
        problems=tuple(f"{problem.name}: {problem.why}" for briefed in briefings for problem in briefed.problems),
        cells=cells,
        calls=sum(len(reply.calls) for reply in replies),
        questions=sum(isinstance(step, Questioned) and step.approval is None for step in steps),
    )


def _texts(steps: Sequence[Step]) -> Iterator[str]:
    """What people wrote. Messages that the analyst sees together are one text; an answer to a question stands alone."""
    together: list[str] = []
    answering = False
    for step in steps:
        if isinstance(step, Asked):
            text = "\n".join(line.strip() for line in own_words(step.text[:_MAX_TEXT]).splitlines()).strip()
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


def _tables(file: FileAbstract) -> Iterator[Table]:
    """The tables of a file that have columns. A sheet is named when its file can hold several."""
    several = len(file.tables) > 1
    for note in file.tables:
        if note.columns:
            numbered = file.format == "html" and note.name.isdecimal()
            columns = tuple(_column(column, note.rows) for column in note.columns)
            names = [column.name for column in columns]
            yield Table(
                name=note.name if several and note.name else file.path.rsplit("/", 1)[-1].rsplit(".", 1)[0],
                path=file.path,
                format=file.format,
                columns=columns,
                rows=note.rows,
                sheet=note.name if note.name and (file.format.startswith("xls") or numbered) else None,
                encoding=file.encoding,
                read=note.read or file.read_hint,
                has_blanks=len(set(names)) == len(names) and names != [column.name for column in note.columns],
            )


def _source_tables(cells: Iterable[CellRan]) -> Iterator[Table]:
    """The tables of data sources that cells have looked at."""
    for told in facts_of(cells).get("table", ()):
        with suppress(ValueError, KeyError, TypeError):  # not as we print it
            columns = tuple(_column(ColumnNote(**note), told["rows"]) for note in told["columns"])
            name = str(told["name"])
            sql = f"SELECT * FROM {name if _SIMPLE.fullmatch(name) else literal(name)}"  # noqa: S608  the guard reads it
            read = f"query({literal(sql)}, source={literal(told['source'])})"
            yield Table(name, f"{told['source']}.{name}", "source", columns, rows=told["rows"], read=read)


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


def last_told(facts: Facts, name: str) -> dict[str, Any]:
    """The last fact of this name; empty when there is none."""
    return facts.get(name, [{}])[-1]


def pasted_table(text: str, path: str) -> tuple[str, Table | None]:
    """The text without the table that is pasted into it, and that table as a file of this path; None without one."""
    if (found := pasted_lines(text)) is None:
        return text, None
    rest, content, rows, separator = found
    columns = tuple(_pasted_column(name, [row[place] for row in rows[1:]]) for place, name in enumerate(rows[0]))
    read = f"pd.read_csv({path!r}, sep={separator!r}, skipinitialspace=True)"
    return rest, Table(path.rpartition(".")[0], path, "csv", columns, rows=len(rows) - 1, read=read, content=content)


def _pasted_column(name: str, cells: Sequence[str]) -> Column:
    """What pandas will make of these cells."""
    filled = [cell for cell in cells if cell]
    plain = bool(filled) and all(PLAIN.fullmatch(cell) for cell in filled)
    whole = plain and len(filled) == len(cells) and all("." not in cell for cell in filled)
    dtype = "int64" if whole else "float64" if plain else "str"
    missing, different = 1 - len(filled) / len(cells), tuple(dict.fromkeys(filled))
    return _column(ColumnNote(name=name, dtype=dtype, missing=missing, unique=len(different), samples=different[:8]),
                   len(cells))  # fmt: skip
