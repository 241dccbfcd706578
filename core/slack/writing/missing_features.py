"""Features that a workspace's Slack lacks. All our processes remember them, so a refused call is not repeated.

It is kept in Redis where the client has one, beside the rate budgets, else in the process alone. It is forgotten after
a while: an admin may have given the scope, or the server may have been upgraded.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from redis import Redis, RedisError

OFFERED_LATER_S = 24 * 3600
"""A server offers a new method only after an upgrade, so an unknown one is remembered for long."""
SCOPE_LATER_S = 600
"""An admin who gives a missing scope wants to see it work soon."""
READ_AGAIN_S = 60.0


class MissingFeatures:
    """Safe to share between threads. `methods` are those that are ever asked for: they are read in one command."""

    def __init__(self, redis: Redis | None, methods: tuple[str, ...]) -> None:
        self._redis = redis
        self._methods = methods
        self._known: dict[tuple[str, str], tuple[str, float]] = {}
        """By team and method: Slack's error, and until when it counts here."""
        self._read_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def error(self, team: str, method: str) -> str:
        """Slack's error for a method that this workspace does not offer; "" when it may be called."""
        now = time.monotonic()
        with self._lock:
            if self._redis is not None and now >= self._read_at.get(team, 0.0):
                self._read_at[team] = now + READ_AGAIN_S
                self._read(self._redis, team, now)
            error, until = self._known.get((team, method), ("", 0.0))
        return error if now < until else ""

    def note(self, team: str, method: str, error: str) -> None:
        """Remember that a method was refused with this error."""
        keep_s = SCOPE_LATER_S if error == "missing_scope" else OFFERED_LATER_S
        with self._lock:
            self._known[team, method] = (error, time.monotonic() + keep_s)
        if self._redis is not None:
            with suppress(RedisError):
                self._redis.set(_key(team, method), error, ex=keep_s)

    def _read(self, redis: Redis, team: str, now: float) -> None:
        with suppress(RedisError):
            found = redis.mget([_key(team, method) for method in self._methods])
            for method, value in zip(self._methods, found, strict=True):
                if value is not None:
                    error = value.decode() if isinstance(value, bytes) else str(value)
                    self._known[team, method] = (error, now + READ_AGAIN_S)


def _key(team: str, method: str) -> str:
    return f"threadbook:slack:without:{team}:{method}"
