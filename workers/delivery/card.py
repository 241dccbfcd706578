"""What is drawn while a turn runs, in a thread of its own: frames of the card, the status line, the last signs.

Nothing here blocks the worker. Only the newest state is drawn. If Slack's rate budget is used up, a frame is dropped or
drawn later. A turn that comes to rest waits only a moment for its last signs. A turn that is over soon draws no frame
at all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from core.errors import SlackBusy
from core.telemetry import get_logger
from workers.delivery.progress import ProgressView

log = get_logger(__name__)

FIRST_AFTER_S = 1.0
"""A turn that ends sooner shows its card once, in its last state, and the bot's first sign until then."""
STATUS_REARM_S = 60.0
"""Slack drops a status line after two minutes, so it is set again while the turn goes on."""
SETTLE_S = 3.0
"""How long a turn that comes to rest waits for its last signs when Slack is slow."""
LATE_S = 60.0
"""How long a process waits at its end for cards whose last state had to wait for a rate budget."""

Draw = Callable[[ProgressView, bool], None]
"""Draws a state of the card. With False it raises SlackBusy instead of waiting for a rate budget."""

_late: list[threading.Thread] = []


def finish_late_cards() -> None:
    """Wait for last states that Slack had no budget for when their turns ended. Call it before the process ends."""
    until = time.monotonic() + LATE_S
    while _late:
        _late.pop().join(max(0.0, until - time.monotonic()))


class Card:
    """Draws a view and sets a status line, at most every `interval_s`; states that came between are dropped.

    What `draw` and `set_status` raise is logged: a card that cannot be drawn stops no work.
    """

    def __init__(self, draw: Draw, set_status: Callable[[str], None], interval_s: float) -> None:
        self._draw = draw
        self._set_status = set_status
        self._interval_s = interval_s
        self._changed = threading.Condition()
        self._drawing = threading.Lock()
        self._settled = threading.Event()
        self._stopped = False
        self._view: ProgressView | None = None
        self._last: tuple[ProgressView | None, Sequence[Callable[[], None]], Callable[[], None]] | None = None
        self._status = self._status_shown = ""
        self._status_at = 0.0
        self._first_at = 0.0
        self._thread = threading.Thread(target=self._run, name="card", daemon=True)

    def start(self) -> None:
        """Begin to draw, after `FIRST_AFTER_S`."""
        self._first_at = time.monotonic() + FIRST_AFTER_S
        self._thread.start()

    def stop(self) -> None:
        """Draw no more frames. A last state that waits for a budget is still drawn: see `finish_late_cards`."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._settled.is_set():
            self._thread.join(0.05)
        else:
            self._thread.join(SETTLE_S)
        if self._thread.is_alive():
            _late[:] = [*(late for late in _late if late.is_alive()), self._thread]

    def show(self, view: ProgressView | None, status: str) -> None:
        """Draw this when its time comes. Without a view only the status line is set."""
        with self._changed:
            self._view, self._status = view or self._view, status
            self._changed.notify()

    def pause(self) -> None:
        """Drop frames that are not drawn yet: the thread is about to get a message, and no older frame may come after
        it."""
        with self._changed:
            self._view, self._status = None, self._status_shown
        if self._drawing.acquire(timeout=SETTLE_S):  # one under way
            self._drawing.release()
        with self._changed:
            self._view, self._status = None, self._status_shown

    def settle(
        self,
        view: ProgressView | None,
        signs: Sequence[Callable[[], None]] = (),
        may_sign: Callable[[], None] = lambda: None,
    ) -> None:
        """Draw this, then do these; no frame is drawn after it. Returns when that was tried, or after `SETTLE_S`.

        Nothing of `signs` is done when `may_sign` raises.
        """
        with self._changed:
            self._view, self._status = None, self._status_shown
            self._last = (view, signs, may_sign)
            self._changed.notify()
        self._settled.wait(SETTLE_S)

    # --- in the thread

    def _run(self) -> None:
        try:
            while not self._stopped and self._last is None:
                with self._changed:
                    self._changed.wait_for(self._has_news, timeout=self._pause_s())
                with self._drawing:
                    self._frame()
                with self._changed:
                    self._changed.wait_for(self._ends, timeout=self._interval_s)
            if self._last is not None:
                self._draw_last(*self._last)
        finally:
            self._settled.set()

    def _ends(self) -> bool:
        return self._stopped or self._last is not None

    def _pause_s(self) -> float:
        early_s = self._first_at - time.monotonic()
        return early_s if early_s > 0 else STATUS_REARM_S / 4

    def _has_news(self) -> bool:
        news = self._view is not None or self._status != self._status_shown
        return self._ends() or (news and time.monotonic() >= self._first_at)

    def _frame(self) -> None:
        # The state is taken inside the lock that covers the drawing: `pause` waits for an older one under way.
        with self._changed:
            if self._ends() or time.monotonic() < self._first_at:
                return
            view, status, self._view = self._view, self._status, None
        if view is not None and not _attempt(lambda: self._draw(view, False)):
            with self._changed:
                self._view = self._view or view  # drawn when Slack takes it, unless a newer one came meanwhile
        stale = bool(status) and time.monotonic() - self._status_at > STATUS_REARM_S
        if stale or status != self._status_shown:
            _attempt(lambda: self._set_status(status))
            self._status_shown, self._status_at = status, time.monotonic()

    def _draw_last(
        self, view: ProgressView | None, signs: Sequence[Callable[[], None]], may_sign: Callable[[], None]
    ) -> None:
        drawn = view is None or _attempt(lambda: self._draw(view, False))
        try:
            if signs:
                may_sign()
        except Exception as error:
            log.warning("signs_left_out", error=error)
            signs = ()
        for sign in signs:
            _attempt(sign)
        self._settled.set()
        if view is not None and not drawn:
            _attempt(lambda: self._draw(view, True))


def _attempt(action: Callable[[], None]) -> bool:
    """False when Slack was too busy for it. Other errors are logged and ignored."""
    try:
        action()
    except SlackBusy:
        return False
    except Exception as error:
        log.warning("card_not_drawn", error=error)
    return True
