"""How often Slack may be called: budgets per method and channel, shared by every bot and worker through Redis.

A budget is a token bucket, kept as one number in Redis: when the next call would be due if all came evenly (GCRA). A
call takes its place in the line and waits until then, so two processes never count on the same token. A Retry-After
that one process was told holds for all. Without Redis nobody waits: Slack's own 429 remains.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis import Redis, RedisError
from redis.client import Pipeline


@dataclass(frozen=True, slots=True)
class Budget:
    """Calls per minute in the long run, and how many may come at once. `per_channel`: each channel has its own."""

    per_minute: float
    burst: int = 10
    per_channel: bool = False


_TIER_2, _TIER_3, _TIER_4 = Budget(18), Budget(45), Budget(90, 20)
"""A little below Slack's 20, 50 and 100 (docs.slack.dev, rate limits): its own clock decides, not ours."""

BUDGETS: Mapping[str, Budget] = {
    "chat.postMessage": Budget(60, burst=4, per_channel=True),
    "chat.update": _TIER_3,
    "conversations.replies": _TIER_3,
    "reactions.add": _TIER_3,
    "reactions.remove": _TIER_2,
    "assistant.threads.setStatus": _TIER_3,
    "agents.sessions.setStatus": _TIER_3,
    "files.getUploadURLExternal": _TIER_4,
    "files.completeUploadExternal": _TIER_4,
    "files.info": _TIER_4,
    "users.info": _TIER_4,
}
"""Per workspace; chat.postMessage: about one a second in a channel, short bursts allowed."""

LONGEST_WAIT_S = 60.0
"""An answer waits for its turn: longer than this, the turn itself is put off."""
NICETY_WAIT_S = 3.0
_NICETIES = ("reactions.add", "reactions.remove", "assistant.threads.setStatus", "agents.sessions.setStatus")


class Crowded(OSError):
    """The call was not made: its place in the line is further away than it is worth waiting for."""


class Rates:
    """Safe to share between threads and processes."""

    def __init__(self, redis: Redis, *, paced: bool) -> None:
        """Without `paced` there are no budgets: only a Retry-After that somebody was told is waited for."""
        self._redis = redis
        self._paced = paced

    def wait(self, method: str, channel: str = "") -> None:
        """Wait until a call may be made. Raises Crowded when that is too far away."""
        patience = NICETY_WAIT_S if method in _NICETIES else LONGEST_WAIT_S
        delay = 0.0
        with suppress(RedisError):
            delay = max(self._paused_s(method, channel), self._take(method, channel, patience))
        if delay > patience:
            raise Crowded(f"{method} has to wait {delay:.0f} s")
        if delay > 0:
            time.sleep(delay)

    def delay(self, method: str, channel: str = "") -> float:
        """How many seconds a call would have to wait now. Takes nothing."""
        budget = self._budget(method)
        with suppress(RedisError):
            paused = self._paused_s(method, channel)
            if budget is None:
                return paused
            due = _number(self._redis.get(_bucket(method, channel, budget)))
            return max(paused, due - self._now(self._redis) - _slack_s(budget))
        return 0.0

    def pause(self, method: str, channel: str, seconds: float) -> None:
        """Slack said Retry-After: nobody calls this method (of this channel, for posts) before."""
        with suppress(RedisError):
            self._redis.set(_pause(method, channel), "1", px=max(1, int(seconds * 1000)))

    def _take(self, method: str, channel: str, patience: float) -> float:
        """Take the next place in the line, if it comes within `patience`; returns the seconds until then."""
        budget = self._budget(method)
        if budget is None:
            return 0.0
        key, every_s = _bucket(method, channel, budget), 60.0 / budget.per_minute
        delay = 0.0

        def take(pipe: Pipeline) -> None:
            nonlocal delay
            now = self._now(pipe)
            due = max(_number(pipe.get(key)), now)
            delay = max(0.0, due - now - _slack_s(budget))
            pipe.multi()
            if delay <= patience:
                after = due + every_s
                pipe.set(key, f"{after:.6f}", px=int((after - now) * 1000) + 1000)

        self._redis.transaction(take, key)
        return delay

    def _budget(self, method: str) -> Budget | None:
        return BUDGETS.get(method) if self._paced else None

    def _paused_s(self, method: str, channel: str) -> float:
        return max(0, int(self._redis.pttl(_pause(method, channel)))) / 1000

    def _now(self, redis: Redis) -> float:
        seconds, micros = redis.time()
        return float(seconds) + float(micros) / 1e6


def channel_of(arguments: Mapping[str, Any]) -> str:
    """The channel of a call's arguments, as the SDK hands them on; "" when it has none."""
    for kind in ("json", "params", "data"):
        given = arguments.get(kind)
        if isinstance(given, Mapping) and (channel := given.get("channel") or given.get("channel_id")):
            return str(channel)
    return ""


def _slack_s(budget: Budget) -> float:
    """How far ahead of its even pace a bucket may be."""
    return (budget.burst - 1) * 60.0 / budget.per_minute


def _number(value: bytes | str | None) -> float:
    return float(value) if value is not None else 0.0


def _bucket(method: str, channel: str, budget: Budget) -> str:
    return f"threadbook:slack:due:{method}" + (f":{channel}" if budget.per_channel else "")


def _pause(method: str, channel: str) -> str:
    per_channel = method in BUDGETS and BUDGETS[method].per_channel
    return f"threadbook:slack:pause:{method}" + (f":{channel}" if per_channel else "")
