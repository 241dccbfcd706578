"""A cell that has ended: what was known of it then, and the result that is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from executor.cell import Cell
from executor.cells.outcome import Outcome
from executor.notices import Notices, notice
from executor.values import Artifact, CellResult, Rejected


@dataclass(frozen=True, slots=True)
class EndedCell:
    """It has no result yet: what it made is being taken."""

    cell: Cell
    outcome: Outcome
    duration_s: float
    stdout: str
    stderr: str
    whole_outputs: tuple[Artifact, ...]
    files_read: tuple[str, ...] | None
    late: int
    """Characters that were printed before it, after the cell before had ended."""
    keeps: bool
    """Whether what it left in the variables is about to be kept."""
    notifies: bool
    """Whether its result says which variables are lost."""
    follow: list[Callable[[], None]] = field(default_factory=list)
    """What waits for its result to be on the disk."""

    def result(self, artifacts: Sequence[Artifact], rejected: Sequence[Rejected], notices: Notices) -> CellResult:
        """Its result. `artifacts` and `rejected` are the files that it made; `notices` stand before its own."""
        if self.late:
            notices += (notice("late_output", count=self.late),)
        return CellResult(
            id=self.cell.id,
            status=self.outcome.status,
            stdout=self.stdout,
            stderr=self.stderr,
            result=self.outcome.display,
            error=self.outcome.error,
            artifacts=(*artifacts, *self.whole_outputs),
            rejected=(*rejected, *self.outcome.problems),
            files_read=self.files_read,
            duration_s=round(self.duration_s, 6),
            notices=(*notices, *self.outcome.notices),
            exit_status=self.outcome.exit_status,
            checks=self.outcome.checks,
        )
