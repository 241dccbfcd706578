"""The approvals of a thread's bash commands: a command is queued once a client that is attached to it has agreed."""

from __future__ import annotations

from collections.abc import Callable

from executor.cell import Attached, Cell
from executor.cells.queue import CellQueue
from executor.frames import to_json
from executor.notices import notice
from executor.values import CellResult, Notice
from executor.wire import result_to


class Approvals:
    """One thread's."""

    def __init__(self, cells: CellQueue, advance: Callable[[], None]) -> None:
        """`advance` runs what is queued."""
        self._cells = cells
        self._advance = advance

    def ask(self, cell: Cell, attached: Attached) -> None:
        """Ask this client whether a command may run. It does not run for a client that cannot decide."""
        if attached.approves:
            attached.approve(cell.code)
        else:
            self._refuse(attached, notice("no_approver"))

    def decide(self, attached: Attached, *, approved: bool, why: str | None = None) -> None:
        """The answer of one who was asked about a command. A refused one did not run: it may be asked for again."""
        if not approved:
            self._refuse(attached, why or notice("not_approved"))
            return
        for cell in self._cells.undecided_of(attached):
            self._cells.approve(cell)
            self._advance()

    def _refuse(self, attached: Attached, why: str | Notice) -> None:
        for cell in self._cells.undecided_of(attached):
            self._cells.refuse(cell)
            result = CellResult(cell.id, "killed", notices=(notice("not_run", why=why),))
            for waiting in cell.attached:
                waiting.result(to_json(result_to(result)))
