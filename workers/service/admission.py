"""Which threads may run: limits on running turns in all, per channel and per person. Nobody starves the others.

The running threads are kept in a hash in Redis, beside the leases. An entry counts while its thread's lease is held, so
a killed worker keeps its place only until its lease ends. When the hash is lost, more turns than the limits allow may
run for a moment.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Literal

from redis import Redis, RedisError

from core import scripts
from core.leases import KEY_PREFIX, MARK_S, WAITS, Leases
from core.store.wait_queue import QueuedThread
from core.team_settings import FairnessSettings

_RUNNING = "threadbook:running"

Place = tuple[str, str]
"""The channel and the person that a running turn is counted for."""

OwnLimit = Literal["person", "channel"]
"""Whose limit holds a thread back: its person has too many turns running, or its channel has."""


class Admission:
    """Admits threads, counts them while they run, and says which threads of a queue could be admitted next."""

    def __init__(self, redis: Redis, leases: Leases, limits: FairnessSettings) -> None:
        self._redis = redis
        self._leases = leases
        self._limits = limits

    @contextmanager
    def admit(self, thread: QueuedThread) -> Iterator[bool]:
        """Count the thread, whose lease the caller holds, as running in the block; yield False when it must wait.

        One that needs no place is always admitted.
        """
        entry = json.dumps([thread.channel, thread.user, uuid.uuid4().hex])
        if not self._enter(thread, entry):
            yield False
            return
        try:
            yield True
        finally:
            with suppress(RedisError):  # the entry ends with the lease
                scripts.run(self._redis, scripts.LEAVE, [_RUNNING], thread.thread_id, entry)

    def forget_waiting(self) -> None:
        """The caller is about to read who waits. A thread that is refused from now on leaves a mark of its own."""
        self._redis.delete(WAITS)

    def note_waiting(self) -> None:
        """Some threads still wait: the next one that ends checks this too. Call it before `admissible`: a place that
        gets free is seen there, or by the one that frees it."""
        self._redis.set(WAITS, "1", ex=MARK_S)

    def admissible(self, queue: Sequence[QueuedThread]) -> list[QueuedThread]:
        """Those threads of a queue, in its order, that could all run now beside what runs already."""
        taken = _Taken(self._running().values())
        fitting = []
        for thread in queue:
            if not thread.needs_place or self._fits(thread, taken):
                fitting.append(thread)
                taken.add((thread.channel, thread.user))
        return fitting

    def held_back(self, queue: Sequence[QueuedThread]) -> dict[str, OwnLimit]:
        """The threads of a queue that a free worker may not take now, each with the limit that holds it back."""
        taken = _Taken(self._running().values())
        limits = {thread.thread_id: self._own_limit(thread, taken) for thread in queue if thread.needs_place}
        return {thread_id: limit for thread_id, limit in limits.items() if limit}

    def _enter(self, thread: QueuedThread, entry: str) -> bool:
        limits = (self._limits.running, self._limits.per_channel, self._limits.per_person)
        if not thread.needs_place:
            limits = (0, 0, 0)
        given = (thread.thread_id, entry, KEY_PREFIX, thread.channel, thread.user, *limits, MARK_S)
        return bool(scripts.run(self._redis, scripts.ENTER, [_RUNNING, WAITS], *given))

    def _running(self) -> dict[str, Place]:
        """The places of the running threads. An entry without a held lease no longer counts."""
        entries = {_text(thread): json.loads(place) for thread, place in self._redis.hgetall(_RUNNING).items()}
        held = self._leases.held(entries)
        return {thread: (str(place[0]), str(place[1])) for thread, place in entries.items() if thread in held}

    def _fits(self, thread: QueuedThread, taken: _Taken) -> bool:
        return not _reached(self._limits.running, taken.all) and self._own_limit(thread, taken) is None

    def _own_limit(self, thread: QueuedThread, taken: _Taken) -> OwnLimit | None:
        if _reached(self._limits.per_person, taken.people[thread.user]):
            return "person"
        return "channel" if _reached(self._limits.per_channel, taken.channels[thread.channel]) else None


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


def _reached(limit: int, count: int) -> bool:
    return bool(limit) and count >= limit


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
