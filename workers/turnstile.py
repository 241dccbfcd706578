"""Who may work next: limits on running turns in all, per channel and per person, so that nobody starves the others.

What runs stands in a hash in Redis, beside the leases. An entry counts while its thread's lease is held, so a worker
that was killed takes no place for longer than its lease. Losing the hash costs a moment beyond the limits.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from redis import Redis, RedisError
from redis.client import Pipeline

from core.leases import Leases
from core.line import Waiting
from core.team_settings import FairnessSettings

_RUNNING = "threadbook:running"

Place = tuple[str, str]
"""The channel and the person that a running turn is counted for."""


class Turnstile:
    """Lets threads in, counts them while they are in, and says who of a line could go in next."""

    def __init__(self, redis: Redis, leases: Leases, limits: FairnessSettings) -> None:
        self._redis = redis
        self._leases = leases
        self._limits = limits

    @contextmanager
    def passing(self, who: Waiting) -> Iterator[bool]:
        """Inside the block the thread, whose lease the caller holds, is counted as running; False when it must wait.

        A wish to stop always passes: what it ends is not to be waited for.
        """
        if not self._enter(who):
            yield False
            return
        try:
            yield True
        finally:
            with suppress(RedisError):  # the entry ends with the lease
                self._redis.hdel(_RUNNING, who.thread_id)

    def who_fits(self, line: Sequence[Waiting]) -> list[Waiting]:
        """Those of a line, in its order, that could all run now beside what runs already."""
        taken = _Taken(self._running(self._redis)[0].values())
        fitting = []
        for who in line:
            if who.stops or self._fits(who, taken):
                fitting.append(who)
                taken.add((who.channel, who.user))
        return fitting

    def _enter(self, who: Waiting) -> bool:
        admitted = False

        def enter(pipe: Pipeline) -> None:
            nonlocal admitted
            running, gone = self._running(pipe)
            running.pop(who.thread_id, None)
            admitted = who.stops or self._fits(who, _Taken(running.values()))
            pipe.multi()
            if gone:
                pipe.hdel(_RUNNING, *gone)
            if admitted:
                pipe.hset(_RUNNING, who.thread_id, json.dumps([who.channel, who.user]))

        self._redis.transaction(enter, _RUNNING)
        return admitted

    def _running(self, redis: Redis) -> tuple[dict[str, Place], list[str]]:
        """(what runs, the threads whose entry outlived their lease)."""
        entries = {_text(thread): json.loads(place) for thread, place in redis.hgetall(_RUNNING).items()}
        held = self._leases.held(entries)
        running = {thread: (str(place[0]), str(place[1])) for thread, place in entries.items() if thread in held}
        return running, [thread for thread in entries if thread not in held]

    def _fits(self, who: Waiting, taken: _Taken) -> bool:
        counts = (
            (self._limits.running, taken.all),
            (self._limits.per_channel, taken.channels[who.channel]),
            (self._limits.per_person, taken.people[who.user]),
        )
        return all(not limit or count < limit for limit, count in counts)


class _Taken:
    """How many places are taken, in all, per channel and per person."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.all = 0
        self.channels: Counter[str] = Counter()
        self.people: Counter[str] = Counter()
        for place in places:
            self.add(place)

    def add(self, place: Place) -> None:
        self.all += 1
        self.channels[place[0]] += 1
        self.people[place[1]] += 1


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
