"""Work that a person may stop while it goes on. The stop is in the Store, and the worker looks there often."""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from core.telemetry import get_logger
from workers.models.base import Model, ModelReply, ModelRequest, OnDelta
from workers.turn.late_threads import LateThread

log = get_logger(__name__)

LOOK_EVERY_S = 0.4

_FORGET_S = 5.0
"""A thread that has not asked for this long is not looked up any more."""

StopCheck = Callable[[], bool]
Result = TypeVar("Result")


class StopBoard:
    """Which of many turns has an unread stop: one read of the Store for all that ask, however many wait.

    Safe to share between threads. An answer may be `fresh_s` seconds old.
    """

    def __init__(
        self,
        stops_asked: Callable[[Collection[str]], set[str]],
        *,
        fresh_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stops_asked` gives those of these threads that have an unread stop."""
        self._stops_asked = stops_asked
        self._fresh_s = LOOK_EVERY_S * 0.9 if fresh_s is None else fresh_s  # each look of one turn alone reads
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: dict[str, float] = {}
        self._answer: tuple[frozenset[str], set[str], Exception | None] = (frozenset(), set(), None)
        self._read_at = -math.inf

    def asked(self, thread_id: str) -> bool:
        """Whether the thread has an unread stop. Raises what the Store raised when it was asked last."""
        with self._lock:
            now = self._clock()
            self._asked_at[thread_id] = now
            if thread_id not in self._answer[0] or now - self._read_at >= self._fresh_s:
                self._read(now)
            _, stops, error = self._answer
        if error is not None:
            raise error
        return thread_id in stops

    def _read(self, now: float) -> None:
        self._asked_at = {each: at for each, at in self._asked_at.items() if now - at < _FORGET_S}
        threads = frozenset(self._asked_at)
        try:
            self._answer = threads, self._stops_asked(threads), None
        except Exception as error:
            # The others that wait for this answer get it too: each would wait for the Store's time-out again.
            self._answer = threads, set(), error
        self._read_at = self._clock()


class _NotWanted(Exception):
    """Raised in a model's stream that nobody waits for any more."""


def complete_unless_stopped(
    model: Model, request: ModelRequest, on_delta: OnDelta, stop_asked: StopCheck
) -> ModelReply | None:
    """The model's reply, or None as soon as somebody asked to stop, however silent the model is.

    A stream that is left ends with the next bytes that come, or with this process; `on_delta` is not called again.
    """
    gate = threading.Lock()
    left = threading.Event()

    def delta(text: str) -> None:
        with gate:
            if left.is_set():
                raise _NotWanted
            on_delta(text)

    still_wanted = replace(request, wanted=lambda: not left.is_set())
    try:
        return unless_stopped(lambda: model.complete(still_wanted, delta), stop_asked, name="model")
    finally:
        left.set()
        with gate:  # a piece that is being shown right now is shown to its end, none comes after it
            pass


def unless_stopped(work: Callable[[], Result], stop_asked: StopCheck, *, name: str) -> Result | None:
    """What `work` returns or raises, or None as soon as somebody asked to stop, however long it takes.

    It runs in a thread called `name`. If the thread is left running, it ends by itself or with this process.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    while True:
        try:
            return outcome.result(timeout=LOOK_EVERY_S)
        except FutureTimeout:
            # The class is the built-in TimeoutError, which the work may have ended with too.
            if outcome.done():
                return outcome.result()
        if stop_asked():
            return None


@contextmanager
def stopped_by(stop_asked: StopCheck, stop: Callable[[], object]) -> Iterator[None]:
    """While the block runs, call `stop` as soon as somebody asked for it, and again until the block ends."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            try:
                if stop_asked():
                    stop()
            except Exception as error:
                log.warning("not_stopped_yet", error=error)
            over.wait(LOOK_EVERY_S)

    watcher = LateThread(watch, after_s=LOOK_EVERY_S, name="stop")
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.call_off()
