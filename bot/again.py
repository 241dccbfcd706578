"""Events that could not be kept because the Store was away: tried again here, long before Slack sends them again."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from core.store import StoreUnreachable
from core.telemetry import get_logger

log = get_logger(__name__)

TRY_EVERY_S = 1.0
GIVE_UP_S = 55.0
"""Slack delivers what was not acknowledged again at once, after a minute and after five: by then it is its turn."""
MOST = 10_000


class Again:
    """Does things once the Store is back, in the order they came. Nothing hangs on it: Slack has not been told yes."""

    def __init__(self, every_s: float = TRY_EVERY_S) -> None:
        self._every_s = every_s
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self._lock = threading.Lock()
        self._at_it = False

    def when_back(self, work: Callable[[], None]) -> None:
        """Do `work` as soon as it raises StoreUnreachable no more; it has to be harmless when it is done twice."""
        with self._lock:
            if len(self._waiting) >= MOST:
                return
            self._waiting.append((time.monotonic() + GIVE_UP_S, work))
            if not self._at_it:
                self._at_it = True
                threading.Thread(target=self._go_on, name="again", daemon=True).start()

    def _go_on(self) -> None:
        while (first := self._first()) is not None:
            deadline, work = first
            try:
                work()
            except StoreUnreachable as error:
                if time.monotonic() < deadline:
                    time.sleep(self._every_s)
                    continue
                log.warning("left_to_slack", error=str(error))
            except Exception:
                log.exception("not_done_again")
            with self._lock:
                self._waiting.popleft()

    def _first(self) -> tuple[float, Callable[[], None]] | None:
        with self._lock:
            self._at_it = bool(self._waiting)
            return self._waiting[0] if self._waiting else None
