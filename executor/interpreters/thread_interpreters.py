"""The interpreters of one thread: its Python, and its bash where that is on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from executor.cell import Cell
from executor.interpreters.base import Interpreter
from executor.interpreters.bash import BashInterpreter
from executor.interpreters.python import PythonInterpreter
from executor.notices import Notices
from executor.sessions.session import Session
from executor.values import Notice


@dataclass(frozen=True, slots=True)
class Interpreters:
    """To iterate over it gives Python first. What ends them goes the other way: bash runs beside Python."""

    python: PythonInterpreter
    bash: BashInterpreter | None

    def __iter__(self) -> Iterator[Interpreter]:
        yield self.python
        if self.bash is not None:
            yield self.bash

    @property
    def sessions(self) -> list[Session]:
        """The living subprocesses."""
        return [one.session for one in self if one.session is not None]

    @property
    def kept(self) -> bool:
        """Whether what cells left in the variables is kept, as far as it can be."""
        return all(one.kept for one in self)

    def of(self, cell: Cell) -> Interpreter:
        """The one that runs this cell."""
        return self.bash if cell.language == "bash" and self.bash is not None else self.python

    def take_notices(self, cell: Cell) -> Notices:
        """What there is to say of them since their last cell, if this cell began."""
        used = [one for one in self if cell.started and is_needed(one, cell)]
        return tuple(said for one in used for said in one.take_notices())

    def end(self, why: Notice) -> None:
        """Kill the subprocesses on purpose."""
        for one in reversed(tuple(self)):
            one.end(why)

    def close(self) -> None:
        """Kill the subprocesses and let go of everything."""
        for one in reversed(tuple(self)):
            one.close()


def is_needed(interpreter: Interpreter, cell: Cell) -> bool:
    """Whether a cell cannot run without this interpreter: every cell needs Python, a command also bash."""
    return interpreter.language in ("python", cell.language)
