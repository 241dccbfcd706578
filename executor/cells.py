"""A cell that waits or runs, who is attached to it, and the words for what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from executor.collect import printable
from executor.frames import Message
from executor.loop import Timer
from executor.notices import said
from executor.values import CellResult, CellStatus, Language

_SOURCE_SHOWN = 80


class Attached(Protocol):
    """A client that waits for a cell."""

    answers: bool
    """Whether it serves the requests of cells."""
    approves: bool
    """Whether it decides on commands of bash."""

    def approve(self, command: str) -> None:
        """May this command run? The answer comes back through `Notebook.decide`."""

    def output(self, stream: str, text: str) -> None:
        """Lines that the cell completed."""

    def request(self, number: int, kind: str, payload: Message) -> None:
        """The cell asks; the answer comes back through `Notebook.reply`."""

    def result(self, result: CellResult) -> None:
        """The cell has ended."""


@dataclass(slots=True)
class Cell:
    """A cell that waits or runs."""

    id: str
    code: str
    timeout_s: float
    language: Language = "python"
    attached: list[Attached] = field(default_factory=list)
    started: float = 0.0
    number: int = 0
    deadline: Timer | None = None
    stopped_by: CellStatus | None = None
    line: int | None = None


def what(cell: Cell) -> str:
    """How it is called in a sentence."""
    return "cell" if cell.language == "python" else "command"


def source_of(cell: Cell, line: int | None) -> str:
    """Its line with this number, shortened; empty when there is no such line."""
    lines = cell.code.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return ""
    return printable(lines[line - 1].strip())[:_SOURCE_SHOWN]


def stopped(cell: Cell) -> str:
    """The sentence for a cell that was stopped: at its time limit or on request, and where."""
    code = "after_time" if cell.stopped_by == "timeout" else "on_request"
    values: dict[str, str | float] = {"what": what(cell)}
    if code == "after_time":
        values["seconds"] = cell.timeout_s
    if source := source_of(cell, cell.line):
        return said(f"{code}_in_line", **values, line=cell.line or 0, source=source)
    return said(code, **values)
