"""Live notices for open pages, as server-sent events that can be resumed."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

HEARTBEAT_S = 15.0
REMEMBERED = 1_000


class Feed:
    """Numbers the notices and remembers the last thousand; a page says which it saw last and gets all after that."""

    def __init__(self) -> None:
        self._notices: deque[tuple[int, str]] = deque(maxlen=REMEMBERED)
        self._wakes: set[asyncio.Event] = set()
        self._closed = False
        self.last = 0

    def tell(self, kind: str, **fields: Any) -> None:
        """Sends a notice: `kind` and its fields, small and JSON-able."""
        self.last += 1
        self._notices.append((self.last, json.dumps({"kind": kind, **fields}, ensure_ascii=False)))
        self._wake()

    def close(self) -> None:
        """Ends every stream."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        for wake in self._wakes:
            wake.set()

    async def stream(self, after: int) -> AsyncIterator[str]:
        """The notices numbered above `after`, as lines of text/event-stream, with a comment whenever it is quiet.

        When some are forgotten, or `after` is from an earlier start, it says "stale" and the page reloads.
        """
        wake = asyncio.Event()
        self._wakes.add(wake)
        try:
            yield "retry: 1000\n\n"
            if after > self.last or (self._notices and after < self._notices[0][0] - 1):
                yield f'id: {self.last}\ndata: {{"kind": "stale"}}\n\n'
                after = self.last
            while not self._closed:
                wake.clear()
                for number, notice in [each for each in self._notices if each[0] > after]:
                    yield f"id: {number}\ndata: {notice}\n\n"
                    after = number
                try:
                    await asyncio.wait_for(wake.wait(), HEARTBEAT_S)
                except TimeoutError:
                    yield ": quiet\n\n"
        finally:
            self._wakes.discard(wake)
