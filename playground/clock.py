"""Slack's clock. It follows the machine's clock until a test speeds it up or moves it ahead."""

from __future__ import annotations

import asyncio
import time


class Clock:
    """Seconds that only rise. Slack's own waits use this clock. The app's time to acknowledge stays real."""

    def __init__(self) -> None:
        self.rate = 1.0
        self._base = self._since = time.monotonic()
        self._changed = asyncio.Event()

    def now(self) -> float:
        """This clock's seconds, from an arbitrary beginning."""
        return self._base + (time.monotonic() - self._since) * self.rate

    def change(self, *, rate: float | None = None, advance: float = 0.0) -> None:
        """Runs `rate` times as fast from now on, jumps `advance` seconds ahead. Raises ValueError for a step back."""
        if advance < 0 or (rate is not None and rate <= 0):
            raise ValueError("a clock goes forward: rate is above 0, advance at least 0")
        self._base, self._since = self.now() + advance, time.monotonic()
        self.rate = self.rate if rate is None else rate
        self._changed.set()
        self._changed = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Return when this many seconds have passed here, however the clock is changed meanwhile."""
        end = self.now() + seconds
        while (left := end - self.now()) > 0:
            try:
                await asyncio.wait_for(self._changed.wait(), left / self.rate)
            except TimeoutError:
                continue
