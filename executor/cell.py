"""A cell that waits or runs, who is attached to it, and the notices for how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from executor.files.collect import printable
from executor.frames import Message
from executor.notices import Notices, notice
from executor.values import CellStatus, Language, Notice

_SOURCE_SHOWN = 80


class Attached(Protocol):
    """A client that waits for a cell."""

    answers: bool
    """Whether it serves the requests of cells."""
    approves: bool
    """Whether it decides on commands of bash."""

    def approve(self, command: str) -> None:
        """Asks whether this command may run. The answer comes back through `Approvals.decide`."""

    def output(self, stream: str, text: str) -> None:
        """Lines that the cell completed."""

    def request(self, number: int, kind: str, payload: Message) -> None:
        """The cell asks; the answer comes back through `Notebook.reply`."""

    def result(self, result: str) -> None:
        """The cell has ended: its CellResult as JSON, as `wire.result_to` gives it."""

    def refused(self, error: OSError) -> None:
        """The machine refused what the cell needs; no result is to come now."""


@dataclass(slots=True)
class Cell:
    """A cell that waits or runs. `answers`: its code gets the function `query`, which asks those attached to it."""

    id: str
    code: str
    timeout_s: float
    language: Language = "python"
    attached: list[Attached] = field(default_factory=list)
    answers: bool = False
    started: float = 0.0
    """Monotonic seconds; 0 while it has not begun."""
    number: int = 0
    """Its place among the cells of the thread that began, from 1."""
    stopped_by: CellStatus | None = None
    line: int | None = None
    """The line that it was in when it was stopped, from 1."""


def noun(cell: Cell) -> str:
    """How a sentence calls it."""
    return "cell" if cell.language == "python" else "command"


def process_of(cell: Cell) -> str:
    """How a sentence calls the process that it runs in."""
    return "Python" if cell.language == "python" else "bash"


def source_of(cell: Cell, line: int | None) -> str:
    """Its line with this number, shortened; empty when there is no such line."""
    lines = cell.code.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return ""
    return printable(lines[line - 1].strip())[:_SOURCE_SHOWN]


def stopped(cell: Cell) -> Notice:
    """That a cell was stopped: at its time limit or on request, and in which line."""
    code = "after_time" if cell.stopped_by == "timeout" else "on_request"
    values: dict[str, str | float] = {"what": noun(cell)}
    if code == "after_time":
        values["seconds"] = cell.timeout_s
    if source := source_of(cell, cell.line):
        return notice(f"{code}_in_line", **values, line=cell.line or 0, source=source)
    return notice(code, **values)


def ended_with(cell: Cell, why: Notice, *, by_limit: bool, fate: Notices) -> Notices:
    """That a cell ended because its subprocess did. `fate` says what becomes of the variables."""
    if cell.stopped_by is not None:
        return (stopped(cell), notice("had_to_be_killed"), *fate)
    if not cell.started:
        return (notice("not_started", process=process_of(cell), why=why),)
    if by_limit:
        return (notice("over_limit", what=noun(cell), why=why), *fate)
    return (notice("ended", process=process_of(cell), what=noun(cell), why=why), *fate)
