"""The stdout and stderr of cells: they count what threads print that an earlier cell left running."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from io import TextIOWrapper

_current_thread, _main_thread, _enumerate = threading.current_thread, threading.main_thread, threading.enumerate


class CellStream(TextIOWrapper):
    """Text to a descriptor. `late` is how many characters older threads wrote since `begin`."""

    older: frozenset[threading.Thread] = frozenset()
    late: int = 0

    def begin(self) -> None:
        """A cell begins: threads that are there already are an earlier one's."""
        self.late, self.older = 0, frozenset(_enumerate()) - {_main_thread()}

    def write(self, text: str) -> int:
        """As usual."""
        if self.older and _current_thread() in self.older:
            self.late += len(text)
        return super().write(text)

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]  # of text alone
        """As usual."""
        for line in lines:
            self.write(line)
