"""The cells of one thread that are not finished: commands that wait for their approval, queued cells, the running one.

submit → (undecided, for bash) → queued → running → end
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from executor.cell import Attached, Cell


class CellQueue:
    """Cells run one after the other, in the order in which they were queued."""

    def __init__(self) -> None:
        self.running: Cell | None = None
        self.last_used = time.monotonic()
        """When a cell last began or ended, in monotonic seconds."""
        self._queued: deque[Cell] = deque()
        self._undecided: list[Cell] = []
        """Commands that wait for their approval. They hold no other cell up."""

    @property
    def next(self) -> Cell | None:
        """The cell that runs next, if one is queued."""
        return self._queued[0] if self._queued else None

    @property
    def empty(self) -> bool:
        """Whether no cell is queued or runs."""
        return self.running is None and not self._queued

    def find(self, cell_id: str) -> Cell | None:
        """The cell with this id, in whatever state."""
        return next((cell for cell in self._all() if cell.id == cell_id), None)

    def is_undecided(self, cell: Cell) -> bool:
        """Whether a command waits for its approval."""
        return cell in self._undecided

    def add(self, cell: Cell) -> None:
        """Queue a cell; a command of bash waits for its approval first."""
        (self._undecided if cell.language == "bash" else self._queued).append(cell)

    def undecided_of(self, attached: Attached) -> list[Cell]:
        """The undecided commands that this client is attached to."""
        return [cell for cell in self._undecided if attached in cell.attached]

    def approve(self, cell: Cell) -> None:
        """Queue an undecided command."""
        self._undecided.remove(cell)
        self._queued.append(cell)

    def refuse(self, cell: Cell) -> None:
        """Drop an undecided command."""
        self._undecided.remove(cell)

    def detach(self, attached: Attached) -> None:
        """A client has gone. An undecided command that nobody waits for any more is dropped; cells stay."""
        for cell in self._all():
            if attached in cell.attached:
                cell.attached.remove(attached)
        self._undecided = [cell for cell in self._undecided if cell.attached]

    def begin(self) -> Cell:
        """The next cell runs now. Raises IndexError when none is queued."""
        self.running = self._queued.popleft()
        return self.running

    def end(self) -> None:
        """The running cell has ended."""
        self.running = None

    def drop(self, cell: Cell) -> None:
        """Forget a cell that could not begin."""
        if cell is self.running:
            self.running = None
        else:
            self._queued.remove(cell)

    def clear(self) -> None:
        """Drop the queued cells."""
        self._queued.clear()

    def _all(self) -> Iterator[Cell]:
        if self.running is not None:
            yield self.running
        yield from self._queued
        yield from self._undecided
