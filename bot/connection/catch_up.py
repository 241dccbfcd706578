"""Looks up in Slack which messages came in our threads while no bot was connected, and handles them like events.

At the start, and after the connection was silent or lost, the recently active threads are noted with the newest known
message of each. Once the bot is connected, the later messages are read, the most active thread first. So are those of
a thread whose mention was stored after replies to it had come, and those of a minute in which Slack dropped events.
Known messages are ignored, so nothing is answered twice. This runs beside the listening. A look-up gives way to every
other call to Slack. An app that may read one thread a minute needs some time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import Redis, RedisError

from core.errors import SlackBusy, SlackUnreachable
from core.installations.tokens import NotInstalled
from core.slack.reading.incoming import listed
from core.slack.reading.reader import SlackReader
from core.store import Store, StoreUnreachable
from core.store.participation import moment
from core.telemetry import get_logger
from core.values import ThreadKey

log = get_logger(__name__)

START_THREADS, START_LATELY = 100, timedelta(days=7)
"""At the start: the latest so many threads in which somebody wrote within this time."""
GAP_THREADS, GAP_LATELY = 20, timedelta(days=1)
"""After a gap of some seconds. Slack redelivers what it had no acknowledgement for, so few words are missed."""
DROPPED_S = 65.0
"""Slack drops the events of a workspace until the minute is over, and says so once a minute."""
CLOCKS_S = 360.0
"""Our clock and Slack's may differ by five minutes."""
TICK_S = 2.0
AGAIN_S = 5.0
MOST_AGAIN_S = 300.0
"""A thread that could not be read is tried again after a pause that doubles up to this."""
MAX_TRIES = 12
"""More than half an hour of a Slack that fails."""

_LISTENED = "threadbook:bot:listened"
"""In Redis: until when some bot listened and had looked up all that it missed before, in seconds since 1970."""

Take = Callable[[Mapping[str, Any], str, str], None]
"""Takes an event in, given the team's id and the bot's user id. Raises StoreUnreachable."""


@dataclass(frozen=True, slots=True)
class _Dropped:
    """Slack dropped events behind the ts `after`. It has stopped at `over`, in seconds since 1970."""

    after: str
    over: float


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A thread that is to be looked up: its messages after this ts. `tries` were without success."""

    after: str
    tries: int = 0


class CatchUp:
    """Looks threads up in a thread of its own, while `running`."""

    def __init__(self, *, store: Store, slack_of: Callable[[str], SlackReader], redis: Redis, take: Take) -> None:
        """`slack_of` gives what to read a workspace with; it raises NotInstalled."""
        self._store = store
        self._slack_of = slack_of
        self._redis = redis
        self._take = take
        self._wanted: dict[ThreadKey, _Wanted] = {}
        self._lock = threading.Lock()
        self._gap_not_noted = False
        self._dropped: dict[str, _Dropped] = {}
        """By team."""
        self._bot_users: dict[str, str] = {}
        self._stop = threading.Event()

    def note_start(self) -> None:
        """Note the threads of a bot that starts. Call it before the bot listens. Raises StoreUnreachable."""
        self._note(START_THREADS, START_LATELY)

    def note_gap(self) -> None:
        """Note the threads of a bot that did not listen for a moment. Raises nothing."""
        try:
            self._note(GAP_THREADS, GAP_LATELY)
        except StoreUnreachable:
            self._gap_not_noted = True

    def note_thread(self, thread: ThreadKey, after: str) -> None:
        """Note one thread: its messages after this ts came before the bot took part in it."""
        with self._lock:
            earlier = self._wanted.get(thread)
            self._wanted[thread] = _Wanted(min(after, earlier.after, key=moment) if earlier else after)

    def note_dropped(self, team: str, since: float) -> None:
        """Slack drops the events of a workspace. `since`: the minute in which it began, in seconds since 1970.

        When the minute is over, the active threads are noted. A question that began a thread meanwhile is not found.
        """
        after = f"{since:.6f}"
        with self._lock:
            earlier = self._dropped.get(team)
            after = min(after, earlier.after, key=moment) if earlier else after
            self._dropped[team] = _Dropped(after, time.time() + DROPPED_S)

    @contextmanager
    def running(self, is_listening: Callable[[], bool]) -> Iterator[None]:
        """While the block runs, look up what is noted whenever `is_listening`. A gap is over only then."""
        thread = threading.Thread(target=self._run, args=(is_listening,), name="catch_up", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(TICK_S)  # a call to Slack may take longer; what it finds is found again at the next start

    def look_up_one(self) -> bool:
        """Look up the next thread; False when none is left, or when it is better to wait a moment first."""
        with self._lock:
            thread, wanted = next(iter(self._wanted.items()), (None, None))
        if thread is None or wanted is None:
            return False
        try:
            self._look_up(thread, wanted.after)
        except SlackBusy:
            return False
        except StoreUnreachable as error:  # it says nothing about this thread, so it counts as no try
            log.info("thread_not_looked_up", thread=thread.id, error=error)
            self._put_last(thread, wanted, wanted.tries)
            return False
        except SlackUnreachable as error:
            log.info("thread_not_looked_up", thread=thread.id, error=error)
            self._put_last(thread, wanted, wanted.tries + 1)
            return False
        except NotInstalled as error:
            log.info("thread_not_looked_up", thread=thread.id, error=error)
        except Exception:
            log.exception("thread_not_looked_up", thread=thread.id)
            if self._stop.is_set():  # a bot that ends has closed what takes messages in: the next one looks again
                return False
        with self._lock:
            if self._wanted.get(thread) == wanted:  # else a gap was noted meanwhile
                del self._wanted[thread]
        return True

    def pause_s(self) -> float:
        """How long to wait before the next look-up: longer after each round of them that failed."""
        with self._lock:
            tries = min((wanted.tries for wanted in self._wanted.values()), default=None)
        return TICK_S if tries is None else min(AGAIN_S * 2**tries, MOST_AGAIN_S)

    def _run(self, is_listening: Callable[[], bool]) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            pause_s = TICK_S
            if not is_listening():
                continue
            heard_at = time.time()
            if self._gap_not_noted:
                self._gap_not_noted = False
                self.note_gap()
            self._note_what_was_dropped()
            while not self._stop.is_set() and self.look_up_one():
                pass
            # Else a bot that starts now would not look far enough back.
            if not (self._wanted or self._gap_not_noted or self._dropped):
                with suppress(RedisError):
                    self._redis.set(_LISTENED, f"{heard_at:.6f}")
            pause_s = self.pause_s()

    def _note(self, limit: int, lately: timedelta) -> None:
        floor = self._listened_until()
        for active in self._store.lately_active(datetime.now(UTC) - lately, limit):
            self.note_thread(active.thread, max(active.newest_ts, floor, key=moment))

    def _note_what_was_dropped(self) -> None:
        over = {team: dropped for team, dropped in self._dropped.copy().items() if time.time() >= dropped.over}
        if not over:
            return
        try:
            active = self._store.lately_active(datetime.now(UTC) - GAP_LATELY, START_THREADS)
        except StoreUnreachable:
            return
        for thread in (each.thread for each in active if each.thread.team in over):
            self.note_thread(thread, over[thread.team].after)
        with self._lock:
            for team, dropped in over.items():
                if self._dropped[team] == dropped:  # else more was dropped meanwhile
                    del self._dropped[team]

    def _listened_until(self) -> str:
        """The ts up to which a bot has certainly listened. What it left alone before that was not for it."""
        kept = None
        with suppress(RedisError):
            kept = self._redis.get(_LISTENED)
        return f"{max(0.0, float(kept) - CLOCKS_S):.6f}" if kept else "0.0"

    def _look_up(self, thread: ThreadKey, after: str) -> None:
        slack = self._slack_of(thread.team)
        bot_user = self._bot_users.get(thread.team) or slack.bot_user()
        self._bot_users[thread.team] = bot_user
        found = {str(message.get("ts")): message for message in slack.messages_since(thread, after)}
        known = self._store.known_messages(thread.team, thread.channel, list(found))
        missed = sorted(found.keys() - known, key=_moment_or_first)
        for ts in missed:
            self._take(listed(found[ts], thread.channel), thread.team, bot_user)
        if missed:
            log.info("thread_looked_up", thread=thread.id, unknown=len(missed))

    def _put_last(self, thread: ThreadKey, wanted: _Wanted, tries: int) -> None:
        with self._lock:
            if self._wanted.get(thread) != wanted:
                return
            del self._wanted[thread]
            if tries < MAX_TRIES:
                self._wanted[thread] = _Wanted(wanted.after, tries)


def _moment_or_first(ts: str) -> tuple[int, int]:
    try:
        return moment(ts)
    except ValueError:
        return 0, 0
