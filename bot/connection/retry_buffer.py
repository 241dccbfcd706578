"""Events that could not be stored because the Store was unavailable: tried again here, long before Slack sends them
again."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.spool import Place, Spool, Spooled
from core.store import StoreUnreachable
from core.telemetry import get_logger

log = get_logger(__name__)

TRY_EVERY_S = 1.0
GIVE_UP_S = 55.0
"""For an event that the disk did not take either. Slack sends it again at once, after one minute and after five."""
TELL_AFTER_S = 10.0
"""A Store that fails over or starts again is back by then."""
MAX_TOLD = 5
"""People told between two tries, so that telling holds up no event."""
MAX_WAITING = 10_000
MAX_DELETED = 10_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    spooled: Spooled
    path: Path | None
    since: float


class RetryBuffer:
    """Takes events in once the Store is back, in order. Those that are in the spool outlive this process.

    Slack gets no ack for them, because this machine may lose its disk.
    """

    def __init__(
        self,
        take: Callable[[Spooled], None],
        spool: Spool,
        every_s: float = TRY_EVERY_S,
        tell: Callable[[Spooled, bool], None] = lambda spooled, is_kept: None,
    ) -> None:
        """`take` takes an event in; doing it twice must do no harm.

        `tell` is called once for each event that waits for long, and with whether it is on the disk.
        """
        self._take = take
        self._spool = spool
        self._every_s = every_s
        self._tell = tell
        self._told: set[tuple[Place, str]] = set()
        """What was told, while anything waits."""
        self._waiting: deque[_Waiting] = deque()
        self._lock = threading.Lock()
        self._running = False
        self._stop = threading.Event()
        self._deleted: deque[Place] = deque(maxlen=MAX_DELETED)

    def add(self, spooled: Spooled) -> None:
        """Keep an event and try it until the Store takes it."""
        with self._lock:  # else a file could be written again while its event is being taken, and stay
            self._append(spooled, self._spool.keep(spooled))

    def drop(self, place: Place) -> bool:
        """A message was deleted in Slack: it is not taken in, if it waits here, nor when Slack sends it again.

        False when it does not wait here. Else it may be on its way into the Store right now.
        """
        with self._lock:
            waits = self._spool.remove(place) or any(one.spooled.place == place for one in self._waiting)
            if waits:
                self._deleted.append(place)
        return waits

    def is_dropped(self, spooled: Spooled) -> bool:
        """Whether people deleted the message while it waited here."""
        with self._lock:
            return spooled.place in self._deleted

    def resume(self) -> None:
        """Try the events that an earlier process left in the spool."""
        for path in self._spool.kept():
            if (spooled := self._spool.read(path)) is not None:
                with self._lock:
                    self._append(spooled, path)

    def close(self) -> None:
        """Try no more. What is in the spool stays there."""
        self._stop.set()

    def _append(self, spooled: Spooled, path: Path | None) -> None:
        is_again = path is not None and any(one.path == path for one in self._waiting)
        if is_again or len(self._waiting) >= MAX_WAITING:
            return
        self._waiting.append(_Waiting(spooled, path, time.monotonic()))
        if not self._running:
            try:
                threading.Thread(target=self._run, name="retry", daemon=True).start()
            except RuntimeError as error:  # no room for a thread: the next event that is added tries again
                log.warning("retries_not_begun", error=error)
            else:
                self._running = True

    def _run(self) -> None:
        while (first := self._first()) is not None:
            while not self._is_done(first):
                self._tell_waiting()
                if self._stop.wait(self._every_s):
                    return
            with self._lock:
                if first.path is not None:
                    self._spool.forget(first.path)
                self._waiting.popleft()

    def _tell_waiting(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [one for one in self._waiting if now - one.since >= TELL_AFTER_S]
        untold = [one for one in late if _told_as(one) not in self._told]
        for one in untold[:MAX_TOLD]:
            self._told.add(_told_as(one))
            self._tell(one.spooled, one.path is not None)

    def _is_done(self, waiting: _Waiting) -> bool:
        is_gone = waiting.path is not None and not waiting.path.exists()  # another bot took it in, or it was purged
        if is_gone or self.is_dropped(waiting.spooled):
            return True
        try:
            self._take(waiting.spooled)
        except StoreUnreachable as error:
            if waiting.path is not None or time.monotonic() - waiting.since < GIVE_UP_S:
                return False
            log.warning("event_left_to_slack", error=error)
        except Exception:
            log.exception("retry_failed")
            return not self._stop.is_set()  # a bot that ends has closed what takes the event in: the next one has it
        return True

    def _first(self) -> _Waiting | None:
        with self._lock:
            self._running = bool(self._waiting) and not self._stop.is_set()
            if not self._waiting:
                self._told.clear()
            return self._waiting[0] if self._running else None


def _told_as(waiting: _Waiting) -> tuple[Place, str]:
    """A mention and its twin, the message, have the same place."""
    return waiting.spooled.place, str(waiting.spooled.event.get("type"))
