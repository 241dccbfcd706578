"""Metrics of turns, cells and model calls, computed from the Store: no process that works has to count.

All nodes share the Store, so every worker service counts every turn: take the maximum over them, not the sum. A turn
is counted when it has ended, together with its cells and calls. Counting begins where the node's last process stopped,
else now: Prometheus knows that counters begin at 0 again, and history may be long.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from redis import Redis, RedisError

from core.metrics import WAITS_S
from core.store.ended import EndedTurn
from core.store.history import History

LATE = timedelta(minutes=10)
"""A turn's end may become visible after later ones: the clocks of nodes differ, and transactions take time."""

WORK_S = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Buckets for cells and model calls, in seconds."""

TURN_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 86_400)
"""Buckets for whole turns, waiting for people included, in seconds."""


KEPT_S = 3_600
"""How long the end of the last counted turn is remembered. Turns that end in a longer break are not counted."""


class CountedUntil:
    """When the last turn ended that a node has counted: for the process that counts after this one."""

    def __init__(self, redis: Redis, node_id: str) -> None:
        self._redis = redis
        self._key = f"threadbook:metrics:{node_id}:turns"

    def read(self) -> datetime | None:
        """The moment; None when none is remembered or Redis is unavailable."""
        with suppress(RedisError, ValueError):
            if kept := self._redis.get(self._key):
                return datetime.fromisoformat(kept.decode() if isinstance(kept, bytes) else str(kept))
        return None

    def write(self, moment: datetime) -> None:
        """Remember it, if Redis is there."""
        with suppress(RedisError):
            self._redis.set(self._key, moment.isoformat(), ex=KEPT_S)


class TurnMetrics:
    """Counts each ended turn once; safe to refresh from several threads."""

    def __init__(self, history: History, registry: CollectorRegistry, until: CountedUntil) -> None:
        self._history = history
        self._until = until
        self._lock = threading.Lock()
        self._seen: set[tuple[str, datetime]] = set()
        self._latest = datetime.now(UTC)
        self._is_first = True
        self._turns = Counter("threadbook_turns", "Turns that ended, by outcome.", ("outcome",), registry=registry)
        self._turn_time = Histogram(
            "threadbook_turn_seconds",
            "From a turn's start to its end, waiting for people included.",
            ("outcome",),
            buckets=TURN_S,
            registry=registry,
        )
        self._wait = Histogram(
            "threadbook_queue_wait_seconds",
            "From a message's arrival to the start of the turn that reads it.",
            buckets=WAITS_S,
            registry=registry,
        )
        self._first_word = Histogram(
            "threadbook_first_word_seconds",
            "From a message's arrival to the first thing that was posted for its turn.",
            buckets=WAITS_S,
            registry=registry,
        )
        self._cells = Histogram(
            "threadbook_cell_seconds", "Cells by how they ended.", ("status",), buckets=WORK_S, registry=registry
        )
        self._calls = Histogram(
            "threadbook_model_call_seconds",
            "Model calls by model and purpose.",
            ("model", "purpose"),
            buckets=WORK_S,
            registry=registry,
        )
        self._tokens = Counter(
            "threadbook_model_tokens",
            "Tokens by model and direction, as the endpoint reported them; cached ones are among the prompt's.",
            ("model", "direction"),
            registry=registry,
        )
        self._cost = Counter(
            "threadbook_model_cost",
            "Cost by model, in the currency of [budget], of models that have a price.",
            ("model",),
            registry=registry,
        )
        self._corrections = Counter(
            "threadbook_model_corrections",
            "Replies the model was told to put right.",
            ("cause",),
            registry=registry,
        )
        self._open = Gauge(
            "threadbook_open_turns", "Turns that run or wait for people.", ("status",), registry=registry
        )
        self._oldest = Gauge(
            "threadbook_oldest_running_turn_seconds", "Age of the oldest turn that runs.", registry=registry
        )
        self._mail = Gauge("threadbook_unread_messages", "Messages that no turn has read yet.", registry=registry)

    def refresh(self) -> None:
        """Count the turns that ended since the last time. Raises sqlalchemy.exc.SQLAlchemyError; no count is lost."""
        with self._lock:
            if self._is_first:
                self._latest = self._until.read() or self._latest
            ended = self._history.ended_ids(self._latest - LATE)
            if self._is_first:
                self._seen = {end for end in ended if end[1] <= self._latest}
                self._is_first = False
            # A turn that was resumed ends a second time. Each end is counted once.
            ends = {end[0]: end for end in ended if end not in self._seen}
            for turn in self._history.ended(list(ends)):
                self._seen.add(ends[turn.id])
                self._count(turn)
            self._latest = max((self._latest, *(ended_at for _, ended_at in ended)))
            self._seen = {end for end in ended if end[1] >= self._latest - LATE}
            self._until.write(self._latest)
            self._measure_now()

    def _count(self, turn: EndedTurn) -> None:
        self._turns.labels(turn.status).inc()
        self._turn_time.labels(turn.status).observe(turn.lasted_s)
        if turn.wait_s is not None:
            self._wait.observe(turn.wait_s)
        if turn.first_word_s is not None:
            self._first_word.observe(turn.first_word_s)
        for cell in turn.cells:
            self._cells.labels(cell.status).observe(cell.duration_s)
        for call in turn.calls:
            self._calls.labels(call.model, call.purpose).observe(call.duration_s)
            self._tokens.labels(call.model, "prompt").inc(call.prompt_tokens)
            self._tokens.labels(call.model, "cached").inc(call.cached_tokens)
            self._tokens.labels(call.model, "completion").inc(call.completion_tokens)
            if call.cost_micros is not None:
                self._cost.labels(call.model).inc(call.cost_micros / 1e6)
        for cause in turn.corrections:
            self._corrections.labels(cause).inc()

    def _measure_now(self) -> None:
        load = self._history.load()
        self._open.labels("running").set(load.running)
        self._open.labels("waiting").set(load.waiting)
        now = datetime.now(UTC)
        self._oldest.set((now - (load.oldest_running_at or now)).total_seconds())
        self._mail.set(load.unread)
