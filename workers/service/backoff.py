"""How often a turn was tried, and when to try it again: counters in Redis. Losing them costs one try, no more."""

from __future__ import annotations

from collections.abc import Iterable

from redis import Redis

from core import scripts

MOST_CRASHES = 5
"""Workers that may die at the same step of a turn before the turn is closed as our fault."""
MOST_DELAYS = 100
"""Times a turn may be postponed, about two hours in all, before it is closed as our fault."""
LONGEST_DELAY_S, SHORT_DELAYS = 15, 40
"""For about ten minutes a turn is tried again every few seconds; after so many delays it is tried less often."""
LATE_DELAY_S = 120
MEMORY_S = 6 * 3600


class Backoff:
    """Counts per step of a turn: when a step is stored, the count begins again."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def begin(self, step: str) -> bool:
        """Count a try of this step; False when too many workers died at it or postponed it."""
        crashes, delays = scripts.run(self._redis, scripts.COUNT_TRY, [_crashes(step), _delays(step)], MEMORY_S)
        return int(crashes) <= MOST_CRASHES and int(delays) <= MOST_DELAYS

    def end(self, step: str) -> None:
        """Forget the try that began: the worker did not die at this step."""
        self._redis.delete(_crashes(step))

    def postpone(self, thread_id: str, step: str) -> int:
        """Delay the next try; returns the seconds, which grow with each delay. A new message does not wait for it."""
        delays = int(self._redis.incr(_delays(step)))
        self._redis.expire(_delays(step), MEMORY_S)
        seconds = min(1 << min(delays, 10), LONGEST_DELAY_S) if delays <= SHORT_DELAYS else LATE_DELAY_S
        self._redis.set(_later(thread_id), "1", ex=seconds)
        return seconds

    def postponed(self, thread_ids: Iterable[str]) -> set[str]:
        """Those of the threads whose turn is postponed and not due yet."""
        asked = list(thread_ids)
        marks = self._redis.mget([_later(each) for each in asked]) if asked else []
        return {each for each, mark in zip(asked, marks, strict=True) if mark is not None}


def _crashes(step: str) -> str:
    return f"threadbook:crashes:{step}"


def _delays(step: str) -> str:
    return f"threadbook:delays:{step}"


def _later(thread_id: str) -> str:
    return f"threadbook:later:{thread_id}"
