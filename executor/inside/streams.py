"""The stdout and stderr of cells: they count what threads print that an earlier cell left running."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from io import TextIOWrapper

_current_thread, _main_thread, _enumerate = threading.current_thread, threading.main_thread, threading.enumerate
_get_ident, _current_frames = threading.get_ident, sys._current_frames


Threads = tuple[frozenset[threading.Thread], frozenset[int]]


def threads_left() -> Threads:
    """The threads besides the main one: (those that `threading` knows, the idents of the others)."""
    known = _enumerate()
    unnamed = frozenset(_current_frames()) - {thread.ident for thread in known}
    return frozenset(known) - {_main_thread()}, unnamed


class CellStream(TextIOWrapper):
    """Text to a descriptor. `late` is how many characters older threads wrote since `begin`."""

    older: frozenset[threading.Thread] = frozenset()
    unnamed: frozenset[int] = frozenset()
    """The idents of those that `threading` does not know of, as `_thread.start_new_thread` makes them.

    One of these that has not begun when the next cell begins cannot be told from a thread of that cell.
    """
    late: int = 0

    def begin(self, left: Threads) -> None:
        """A cell begins: threads that are there already are an earlier one's."""
        self.late, (self.older, self.unnamed) = 0, left

    def write(self, text: str) -> int:
        """As usual."""
        if (self.older or self.unnamed) and self._is_late():
            self.late += len(text)
        return super().write(text)

    def _is_late(self) -> bool:
        # the kernel gives the ident of a thread that has ended to the next one: only one without a name goes by it
        thread = _current_thread()
        return thread in self.older or (thread.name.startswith("Dummy-") and _get_ident() in self.unnamed)

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]  # of text alone
        """As usual."""
        for line in lines:
            self.write(line)
