"""What a thread shows while it waits for its turn: its place in the queue, in the status line, kept up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from redis import Redis

from core.line import Waiting
from core.phrases import say
from core.slack import SlackWriter
from core.values import ThreadKey

_SHOWN = "threadbook:places"
_TURN = "threadbook:places:turn"
MOST_AT_ONCE = 20
"""Status lines that are set in one go, those of the first in the queue: Slack takes only so many calls."""
PATIENCE_S = 3.0
"""Who waits for less is shown nothing: its turn is about to begin."""
REARM_S = 60.0
"""Slack drops a status line after two minutes."""
TURN_S = 1.5


class QueueSigns:
    """Sets the status lines of waiting threads. Any number of janitors may try: one of them does it at a time."""

    def __init__(self, redis: Redis, slack: SlackWriter) -> None:
        self._redis = redis
        self._slack = slack

    def show(self, waiting: Sequence[Waiting]) -> None:
        """`waiting` is the queue, the next one first."""
        if not self._redis.set(_TURN, "1", nx=True, px=int(TURN_S * 1000)):
            return
        shown = {_text(thread): _text(place) for thread, place in self._redis.hgetall(_SHOWN).items()}
        if over := set(shown) - {who.thread_id for who in waiting}:
            self._redis.hdel(_SHOWN, *over)
        now, left = datetime.now(UTC), MOST_AT_ONCE
        for place, who in enumerate(waiting, start=1):
            before, _, at = shown.get(who.thread_id, "").partition(" ")
            fresh = before == str(place) and time.time() - float(at or 0) < REARM_S
            if fresh or (now - who.since).total_seconds() < PATIENCE_S:
                continue
            if not left:
                return
            left -= 1
            self._redis.hset(_SHOWN, who.thread_id, f"{place} {time.time():.0f}")
            self._slack.set_status(ThreadKey.parse(who.thread_id), say("place_in_queue", who.language, place=place))


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
