"""The progress card's clock: redraws the newest state, never faster than it should, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from core.errors import SlackBusy
from core.telemetry import get_logger
from workers.progress import ProgressView

log = get_logger(__name__)

STATUS_REARM_S = 60.0
"""Slack drops a status line after two minutes, so it is set again while the turn goes on."""


class Card:
    """Draws a view and sets a status line, at most every `interval_s`; states that came between are dropped.

    What `redraw` and `set_status` raise is logged: a card that cannot be drawn stops no work.
    """

    def __init__(
        self, redraw: Callable[[ProgressView], None], set_status: Callable[[str], None], interval_s: float
    ) -> None:
        self._redraw = redraw
        self._set_status = set_status
        self._interval_s = interval_s
        self._changed = threading.Condition()
        self._drawing = threading.Lock()
        self._stopped = threading.Event()
        self._view: ProgressView | None = None
        self._status = self._status_shown = ""
        self._status_at = 0.0
        self._clock = threading.Thread(target=self._run, name="card", daemon=True)

    def start(self) -> None:
        """Begin to draw."""
        self._clock.start()

    def stop(self) -> None:
        """Draw no more; what was not drawn yet is dropped."""
        self._stopped.set()
        with self._changed:
            self._changed.notify()
        self._clock.join()

    def show(self, view: ProgressView | None, status: str) -> None:
        """Draw this when its time comes. Without a view only the status line is set."""
        with self._changed:
            self._view, self._status = view, status
            self._changed.notify()

    def settle(self, view: ProgressView) -> None:
        """Draw this at once and take the status line away; nothing older is drawn after it."""
        with self._changed:
            self._view, self._status = None, ""
        with self._drawing:
            with self._changed:
                self._view = None  # one that Slack was too busy for may have been put back meanwhile
            _attempt(self._redraw, view)
            _attempt(self._set_status, "")
            self._status_shown = ""

    def _run(self) -> None:
        while not self._stopped.is_set():
            with self._changed:
                self._changed.wait_for(self._has_news, timeout=STATUS_REARM_S / 4)
            # The state is taken inside the lock that covers the drawing: `settle` waits for an older one under way.
            with self._drawing:
                self._draw()
            self._stopped.wait(self._interval_s)

    def _has_news(self) -> bool:
        return self._stopped.is_set() or self._view is not None or self._status != self._status_shown

    def _draw(self) -> None:
        if self._stopped.is_set():
            return
        with self._changed:
            view, status, self._view = self._view, self._status, None
        if view is not None and not _attempt(self._redraw, view):
            with self._changed:
                self._view = self._view or view  # drawn when Slack takes it, unless a newer one came meanwhile
        stale = bool(status) and time.monotonic() - self._status_at > STATUS_REARM_S
        if stale or status != self._status_shown:
            _attempt(self._set_status, status)
            self._status_shown, self._status_at = status, time.monotonic()


Shown = TypeVar("Shown")


def _attempt(action: Callable[[Shown], None], value: Shown) -> bool:
    """False when Slack was too busy for it; other trouble is logged and let be."""
    try:
        action(value)
    except SlackBusy:
        return False
    except Exception as error:
        log.warning("card not drawn", error=repr(error))
    return True
