"""Tells people who asked that no worker runs at all, or that Redis takes no writes, so that no worker is heard of.

Nobody else could tell them: a worker that is slow or full says so itself. People are told once per question and outage.
Their questions are answered later all the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from redis import Redis, RedisError
from redis.exceptions import OutOfMemoryError

from core.errors import OursToFix, SlackFailed
from core.installations.tokens import NotInstalled
from core.phrases import say
from core.queue import nodes
from core.redis_writes import check_writes, refusal
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.store.wait_queue import QueuedThread
from core.telemetry import get_logger
from core.values import ThreadKey

log = get_logger(__name__)

LOOK_EVERY_S = 10.0
OUTAGE_S = 30.0
"""How long no worker must run, and a question must wait: a service that is started again needs less."""
START_S = 120.0
"""The same while this bot has seen no worker yet: on a slow machine both start together, and the bot is there first."""
MOST_AT_ONCE = 20
"""Threads told in one look, so that many of them do not use up what Slack allows."""


class Unattended:
    """Looks every `LOOK_EVERY_S`, in a thread of its own, while `running`."""

    def __init__(self, *, store: Store, slack_of: Callable[[str], SlackWriter], redis: Redis) -> None:
        """`slack_of` gives what to write to a workspace with; it raises NotInstalled."""
        self._store = store
        self._slack_of = slack_of
        self._redis = redis
        self._without_since: float | None = None
        """When the first of the latest looks found no worker, by the monotonic clock."""
        self._told: set[QueuedThread] = set()
        self._patience_s = START_S
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Look again and again while the block runs."""
        looking = threading.Thread(target=self._run, name="unattended", daemon=True)
        looking.start()
        try:
            yield
        finally:
            self._stop.set()
            looking.join()

    def look(self, now: float) -> None:
        """Tell those who wait, if no worker ran for `OUTAGE_S`, or `START_S` at the start of the bot.

        `now` is of the monotonic clock. Raises nothing.
        """
        try:
            self._look(now)
        except (RedisError, OursToFix) as error:
            log.warning("waiting_not_told", error=error)

    def _look(self, now: float) -> None:
        if nodes(self._redis):
            self._without_since = None
            self._patience_s = OUTAGE_S
            self._told.clear()
            return
        if self._without_since is None:
            self._without_since = now
        if now - self._without_since < self._patience_s:
            return
        waiting = self._store.wait_queue()
        self._told.intersection_update(waiting)
        unanswered = [each for each in waiting if (datetime.now(UTC) - each.since).total_seconds() >= OUTAGE_S]
        untold = [each for each in unanswered if each not in self._told][:MOST_AT_ONCE]
        why = self._why() if untold else ""
        for each in untold:
            self._tell(each, why)
            self._told.add(each)

    def _why(self) -> str:
        """The phrase that says why no worker is heard of. A full Redis answers, and forgets those that run."""
        try:
            check_writes(self._redis)
        except OutOfMemoryError:
            return "redis_is_full"
        except RedisError as error:
            if refusal(error) is None:
                raise
            return "redis_takes_no_writes"
        return "no_worker_runs"

    def _tell(self, waiting: QueuedThread, why: str) -> None:
        thread = ThreadKey.parse(waiting.thread_id)
        log.error("no_worker_runs", thread=thread.id, why=why)
        try:
            slack = self._slack_of(thread.team)
            text = say(why, slack.user_language(waiting.user))
            slack.post(None, thread, f"{thread.id}/no_worker:{waiting.since.timestamp():.0f}", text)
        except (NotInstalled, SlackFailed) as error:  # trying again would not help
            log.warning("waiting_not_told", thread=thread.id, error=error)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            self.look(time.monotonic())
