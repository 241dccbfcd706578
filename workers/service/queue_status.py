"""What a waiting thread shows in its status line: its place in the queue, kept up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from redis import Redis

from core.installations.tokens import NotInstalled
from core.phrases import say
from core.slack.writing.writer import SlackWriter
from core.store.wait_queue import QueuedThread
from core.values import ThreadKey
from workers.service.admission import OwnLimit

_SHOWN = "threadbook:places"
_TURN = "threadbook:places:turn"
MOST_AT_ONCE = 20
"""Status lines set in one sweep, those of the oldest threads: Slack limits the rate of calls."""
SHOW_AFTER_S = 3.0
"""A thread that waits for less shows nothing: its turn is about to begin."""
REPEAT_S = 60.0
"""Slack drops a status line after two minutes."""
TURN_S = 1.5

_PHRASES: Mapping[OwnLimit | None, str] = {
    None: "place_in_queue",
    "person": "place_behind_own_questions",
    "channel": "place_behind_the_channel",
}


class QueueStatus:
    """Sets the status lines of waiting threads. Any number of janitors may call it: one at a time does the work."""

    def __init__(self, redis: Redis, slack_of: Callable[[str], SlackWriter]) -> None:
        """`slack_of` gives what to talk to a workspace with."""
        self._redis = redis
        self._slack_of = slack_of

    def show(self, waiting: Sequence[QueuedThread], held_back: Mapping[str, OwnLimit]) -> None:
        """Show each thread its place, or the limit in `held_back` that it waits for: its place says nothing then.
        `waiting` is the queue, the next thread first."""
        if not self._redis.set(_TURN, "1", nx=True, px=int(TURN_S * 1000)):
            return
        shown = {_text(thread): _text(place) for thread, place in self._redis.hgetall(_SHOWN).items()}
        if gone := set(shown) - {queued.thread_id for queued in waiting}:
            self._redis.hdel(_SHOWN, *gone)
        now, left = datetime.now(UTC), MOST_AT_ONCE
        for place, queued in enumerate(waiting, start=1):
            limit = held_back.get(queued.thread_id)
            here = limit or f"{place}"
            before, _, at = shown.get(queued.thread_id, "").partition(" ")
            fresh = before == here and time.time() - float(at or 0) < REPEAT_S
            if fresh or (now - queued.since).total_seconds() < SHOW_AFTER_S:
                continue
            if not left:
                return
            left -= 1
            self._redis.hset(_SHOWN, queued.thread_id, f"{here} {time.time():.0f}")
            thread = ThreadKey.parse(queued.thread_id)
            with suppress(NotInstalled):  # the next worker ends its turn
                text = say(_PHRASES[limit], queued.language, place=place)
                self._slack_of(thread.team).set_status(thread, text)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
