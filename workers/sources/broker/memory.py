"""Limits the broker's memory with its results, in two ways: by our own count, and by the kernel.

A result in memory is a file that no limit of a process counts, so we count it. The kernel limits the memory of drivers
and engines (RLIMIT_DATA). They then report that there is no memory.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.telemetry import get_logger
from executor.sessions.resource_monitor import held
from workers.sources.drivers.base import MB
from workers.sources.errors import LimitReached

log = get_logger(__name__)

STEP = 8 * MB
"""So much is written between two looks at what the broker holds. A look takes some milliseconds."""
TOO_MUCH = (
    "The broker of the data sources has no memory for this result, with all that it holds for others. "
    "Aggregate in the query, read fewer columns or rows, or try again in a moment."
)


def hold_to(limit_mb: int) -> None:
    """Have the kernel refuse this process more private memory than so much. It holds for the rest of its life."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit_mb * MB, limit_mb * MB))


class Memory:
    """Counts the memory of the broker's results, and the results that were refused. Threads may share it."""

    def __init__(self, limit_mb: int, used: Callable[[], int] = lambda: held([os.getpid()])) -> None:
        self.limit_mb = limit_mb
        self.refused = 0
        """Results that were refused because there was no memory for them."""
        self._used = used

    @property
    def used_mb(self) -> int:
        """What this process holds now: its own memory and the results that it has not given away."""
        return self._used() // MB

    @contextmanager
    def result(self) -> Iterator[Callable[[int], None]]:
        """Inside the block, what is called with the bytes that a result grows by. Raises LimitReached.

        When the kernel gives no more memory inside the block, that is a LimitReached too.
        """
        since = 0

        def grows(size: int) -> None:
            nonlocal since
            since += size
            if since >= STEP:
                if self._used() + since > self.limit_mb * MB:
                    raise MemoryError
                since = 0

        try:
            yield grows
        except MemoryError:
            self.refused += 1
            log.warning("source_result_too_large", used_mb=self.used_mb, limit_mb=self.limit_mb)
            raise LimitReached(TOO_MUCH) from None
