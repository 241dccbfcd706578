"""How often a turn was tried, and when to try it again: counters in Redis. Losing them costs one try, no more."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from redis import Redis

from core import scripts

MOST_CRASHES = 5
"""Workers that may die at the same step of a turn before the turn is closed as our fault."""
ALONE_AFTER = 2
"""After so many crashes at a step, the turn gets a process of its own. The first ones may be another turn's fault."""
MOST_DELAYS = 100
"""Times a turn may be postponed, about two hours in all, before it is closed as our fault."""
LONGEST_DELAY_S, SHORT_DELAYS = 15, 40
"""For about ten minutes a turn is tried again every few seconds; after so many delays it is tried less often."""
LATE_DELAY_S = 120
MEMORY_S = 6 * 3600


@dataclass(frozen=True, slots=True)
class Try:
    """A try of a step that begins: how often a worker died at this step before, and how often it was postponed."""

    crashes: int
    delays: int

    @property
    def is_hopeless(self) -> bool:
        """Whether the turn is to be closed instead."""
        return self.crashes >= MOST_CRASHES or self.delays > MOST_DELAYS

    @property
    def is_suspect(self) -> bool:
        """Whether the turn may be what its processes die of: then it must not take others along."""
        return self.crashes >= ALONE_AFTER


class Backoff:
    """Counts per step of a turn: when a step is stored, the count begins again. Safe to share between threads."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._begun: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, step: str) -> Try:
        """Count a try of this step. It counts as a crash unless `end` or `withdraw` follows."""
        crashes, delays = scripts.run(self._redis, scripts.COUNT_TRY, [_crashes(step), _delays(step)], MEMORY_S)
        with self._lock:
            self._begun.add(step)
        return Try(crashes=int(crashes) - 1, delays=int(delays))

    def end(self, step: str, *, forgets_delays: bool = False) -> None:
        """Forget the tries of this step: the worker did not die at it.

        With `forgets_delays` the delays are forgotten too: the turn went on. The next turn of a thread begins at the
        same step.
        """
        self._redis.delete(_crashes(step), *([_delays(step)] if forgets_delays else []))
        with self._lock:
            self._begun.discard(step)

    def withdraw(self, step: str) -> None:
        """Forget the try that began, and no earlier one: another process is to try the step."""
        scripts.run(self._redis, scripts.TAKE_BACK_TRY, [_crashes(step)])
        with self._lock:
            self._begun.discard(step)

    def withdraw_all(self) -> None:
        """Forget all tries that began here and have not ended. For a process that is told to end now."""
        with self._lock:
            begun = sorted(self._begun)
        for step in begun:
            self.withdraw(step)

    def postpone(self, thread_id: str, step: str) -> int:
        """Delay the next try; returns the seconds, which grow with each delay. A new message does not wait for it."""
        with self._lock:
            self._begun.discard(step)
        delays = int(self._redis.incr(_delays(step)))
        self._redis.expire(_delays(step), MEMORY_S)
        seconds = min(1 << min(delays, 10), LONGEST_DELAY_S) if delays <= SHORT_DELAYS else LATE_DELAY_S
        self._redis.set(_later(thread_id), "1", ex=seconds)
        return seconds

    def postponed(self, thread_ids: Iterable[str]) -> set[str]:
        """The threads among these whose turn is postponed and not due yet."""
        asked = list(thread_ids)
        keys = [_later(each) for each in asked]
        found = scripts.run(self._redis, scripts.ARE_THERE, keys, LATE_DELAY_S * 1_000) if asked else []
        return {each for each, is_there in zip(asked, found, strict=True) if is_there}


def _crashes(step: str) -> str:
    return f"threadbook:crashes:{step}"


def _delays(step: str) -> str:
    return f"threadbook:delays:{step}"


def _later(thread_id: str) -> str:
    return f"threadbook:later:{thread_id}"
