"""Which janitor sweeps for all nodes; and a thread for its slow work, where a newer task replaces one that waits."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

from redis import Redis, RedisError

from core import scripts
from core.telemetry import get_logger

log = get_logger(__name__)

SWEEP_LEASE_S = 6.0
"""How long a janitor may sweep after it took or renewed the right to."""
_KEY = "threadbook:janitor:signed"
"""Janitors of versions before signed wakes had "threadbook:janitor". While a team upgrades, one of each kind sweeps.
The wakes of the older one are dropped by newer workers, and would not reach the threads whose sessions are there."""

Given = TypeVar("Given")


class SweepLease:
    """The right to sweep, for one janitor of all nodes. When its holder dies, another janitor gets it soon.

    Two may hold it for a moment, after a pause of one of them. That does no harm: a thread that is woken twice runs
    once.
    """

    def __init__(self, redis: Redis, ttl_s: float = SWEEP_LEASE_S) -> None:
        self._redis = redis
        self._ttl_ms = int(ttl_s * 1000)
        self._owner = uuid.uuid4().hex

    def take(self) -> bool:
        """Whether this janitor is to sweep now. Raises redis.RedisError."""
        if self._redis.set(_KEY, self._owner, nx=True, px=self._ttl_ms):
            return True
        scripts.run(self._redis, scripts.ARE_THERE, [_KEY], self._ttl_ms)
        holder = self._redis.get(_KEY)
        if (holder.decode() if isinstance(holder, bytes) else holder) != self._owner:
            return False
        return bool(self._redis.pexpire(_KEY, self._ttl_ms))

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Sweep inside the block, if it is this janitor's turn. One that fails leaves the next sweep to the others: the
        Store may be away from its node alone. Raises redis.RedisError."""
        mine = self.take()
        try:
            yield mine
        except BaseException:
            with suppress(RedisError):
                scripts.run(self._redis, scripts.DROP, [_KEY], self._owner)
            raise


class Newest(Generic[Given]):
    """Does one thing again and again in a thread of its own. A newer item replaces one that was not begun yet."""

    def __init__(self, do: Callable[[Given], object], name: str) -> None:
        self._do = do
        self._given: list[Given] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def put(self, given: Given) -> None:
        """Do it with this, as soon as what is being done has ended. Never waits."""
        with self._changed:
            self._given[:] = [given]
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._given)
                given = self._given.pop()
            try:
                self._do(given)
            except Exception as error:
                log.warning("sweep_failed", error=error)
