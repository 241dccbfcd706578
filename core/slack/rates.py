"""How often Slack may be called: budgets per method and channel, shared by every bot and worker through Redis.

A budget is a token bucket, kept as one number in Redis: when the next call would be due if all came evenly (GCRA). A
call takes the next slot and waits until then, so two processes never use the same slot. A Retry-After that one process
gets counts for all. Without Redis nobody waits: Slack's own 429 remains. A Redis that does not answer is not asked
again for a while, or each call to Slack would cost a time-out of Redis.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from redis import Redis, RedisError

from core import scripts


@dataclass(frozen=True, slots=True)
class Budget:
    """Calls per minute in the long run, and how many may come at once. `per_channel`: each channel has its own."""

    per_minute: float
    burst: int = 10
    per_channel: bool = False


_TIER_2, _TIER_3, _TIER_4 = Budget(18), Budget(45), Budget(90, 20)
"""A little below Slack's 20, 50 and 100 (docs.slack.dev, rate limits), because Slack counts by its own clock."""

BUDGETS: Mapping[str, Budget] = {
    "chat.postMessage": Budget(60, burst=4, per_channel=True),
    "chat.update": _TIER_3,
    "conversations.replies": _TIER_3,
    "reactions.add": _TIER_3,
    "reactions.remove": _TIER_2,
    "assistant.threads.setStatus": _TIER_3,
    "agents.sessions.setStatus": _TIER_3,
    "assistant.threads.setTitle": _TIER_4,
    "assistant.threads.setSuggestedPrompts": _TIER_4,
    "chat.postEphemeral": _TIER_4,
    "views.open": _TIER_4,
    "views.update": _TIER_4,
    "views.publish": _TIER_4,
    "users.conversations": _TIER_3,
    "files.getUploadURLExternal": _TIER_4,
    "files.completeUploadExternal": _TIER_4,
    "files.info": _TIER_4,
    "users.info": _TIER_4,
    "users.list": _TIER_2,
    "conversations.info": _TIER_3,
    "conversations.members": _TIER_4,
    "conversations.open": _TIER_3,
}
"""Per workspace; chat.postMessage: about one a second in a channel, short bursts allowed."""

LONGEST_WAIT_S = 60.0
"""The longest wait of a call that an answer needs; beyond it the call fails and the turn is tried later."""

REDIS_AWAY_S = 5.0
"""After an error of Redis the budgets are left alone for this long."""

_spared: ContextVar[int | None] = ContextVar("spared", default=None)
"""How many slots of a burst the calls of this thread leave to others; None: these calls may wait."""


@contextmanager
def decorative(spare: int = 0) -> Iterator[None]:
    """Inside the block no call waits: without a free slot, or under a Retry-After of Slack's, it raises Crowded.

    `spare` slots of a burst are left to calls that matter more.
    """
    token = _spared.set(spare)
    try:
        yield
    finally:
        _spared.reset(token)


def is_decorative() -> bool:
    """Whether the calls of this thread are made at once or not at all."""
    return _spared.get() is not None


class Crowded(OSError):
    """The call was not made: its next free slot is too far away."""


class Rates:
    """Safe to share between threads and processes."""

    def __init__(self, redis: Redis, *, paced: bool, scope: str = "") -> None:
        """Without `paced` there are no budgets: only a Retry-After of Slack's is waited for.

        `scope` is the workspace whose budgets they are, where there are many.
        """
        self.redis = redis
        self._scope = f"{scope}:" if scope else ""
        self._paced = paced
        self._away_until = 0.0

    def wait(self, method: str, channel: str = "") -> None:
        """Wait until a call may be made. Raises Crowded when that is too far away; see `decorative`."""
        spare = _spared.get()
        longest_s = LONGEST_WAIT_S if spare is None else 0.0
        delay = 0.0
        with self._if_redis_answers() as redis_answers:
            if redis_answers:
                delay = self._take(method, channel, longest_s, spare or 0)
        if delay > longest_s:
            raise Crowded(f"{method} has to wait {delay:.1f} s")
        if delay > 0:
            time.sleep(delay)

    def delay(self, method: str, channel: str = "") -> float:
        """How many seconds a call would have to wait now. Takes nothing."""
        budget = self._budget(method)
        delay = 0.0
        with self._if_redis_answers() as redis_answers:
            if redis_answers:
                delay = self._paused_s(method, channel)
            if redis_answers and budget is not None:
                due = _number(self.redis.get(self._bucket(method, channel, budget)))
                ahead_s = due - self._now(self.redis)
                if ahead_s <= _furthest_s(budget):
                    delay = max(delay, ahead_s - _slack_s(budget))
        return delay

    def pause(self, method: str, channel: str, seconds: float) -> None:
        """Block a method for the seconds of a Retry-After, for all processes; posts in that channel only."""
        with self._if_redis_answers() as redis_answers:
            if redis_answers:
                milliseconds = max(1, int(seconds * 1000))
                self.redis.set(self._pause(method, channel), milliseconds, px=milliseconds)

    @contextmanager
    def _if_redis_answers(self) -> Iterator[bool]:
        """Yield False for a while after an error of Redis; an error inside ends the block and is not raised."""
        try:
            yield time.monotonic() >= self._away_until
        except RedisError:
            self._away_until = time.monotonic() + REDIS_AWAY_S

    def _take(self, method: str, channel: str, longest_s: float, spare: int) -> float:
        """Take the next slot if it comes within `longest_s`, and leaves `spare`; returns the seconds until then.

        A Retry-After of Slack's is among them, if one holds.
        """
        if (budget := self._budget(method)) is None:
            return self._paused_s(method, channel)
        keys = (self._pause(method, channel), self._bucket(method, channel, budget))
        every_s = 60.0 / budget.per_minute
        arguments = (every_s, _slack_s(budget, spare), longest_s, _furthest_s(budget))
        return float(scripts.run(self.redis, scripts.TAKE_SLOT, keys, *arguments))

    def _budget(self, method: str) -> Budget | None:
        return BUDGETS.get(method) if self._paced else None

    def _paused_s(self, method: str, channel: str) -> float:
        return float(scripts.run(self.redis, scripts.PAUSED, [self._pause(method, channel)]))

    def _now(self, redis: Redis) -> float:
        seconds, micros = redis.time()
        return float(seconds) + float(micros) / 1e6

    def _bucket(self, method: str, channel: str, budget: Budget) -> str:
        return f"threadbook:slack:due:{self._scope}{method}" + (f":{channel}" if budget.per_channel else "")

    def _pause(self, method: str, channel: str) -> str:
        per_channel = method in BUDGETS and BUDGETS[method].per_channel
        return f"threadbook:slack:pause:{self._scope}{method}" + (f":{channel}" if per_channel else "")


def channel_of(arguments: Mapping[str, Any]) -> str:
    """The channel of a call's arguments, as the SDK passes them on; "" when it has none."""
    for kind in ("json", "params", "data"):
        given = arguments.get(kind)
        if isinstance(given, Mapping) and (channel := given.get("channel") or given.get("channel_id")):
            return str(channel)
    return ""


def _slack_s(budget: Budget, spare: int = 0) -> float:
    """How many seconds ahead of its even pace a bucket may be."""
    return max(0, budget.burst - 1 - spare) * 60.0 / budget.per_minute


def _furthest_s(budget: Budget) -> float:
    """How many seconds ahead a bucket is at most: with the last slot that a call waits for."""
    return _slack_s(budget) + LONGEST_WAIT_S + 60.0 / budget.per_minute


def _number(value: bytes | str | None) -> float:
    return float(value) if value is not None else 0.0
