"""How many turns of this process only wait: for a model, or for a cell. The others use its processor time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Waiting:
    """Counts the waiting turns. Safe to share between threads; `changed` gets each new count, one at a time."""

    def __init__(self, changed: Callable[[int], None] = lambda _: None) -> None:
        self._changed = changed
        self._count = 0
        self._lock = threading.Lock()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Inside the block one turn more waits."""
        self._add(1)
        try:
            yield
        finally:
            self._add(-1)

    def _add(self, more: int) -> None:
        with self._lock:
            self._count += more
            self._changed(self._count)
