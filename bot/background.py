"""Does what a listener may not wait for: after Slack's ack, or within the time that the ack leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from typing import Any, TypeVar

from core.errors import SlackUnreachable
from core.telemetry import get_logger

log = get_logger(__name__)

_Found = TypeVar("_Found")

LOOKUP_WAIT_S = 1.0
"""For all names of one event together: Slack wants its ack within 3 s. The next message looks up what is missing."""


class Background:
    """The threads of the bot. `later` runs what must not delay the ack, `lookups` asks Slack while the ack waits."""

    def __init__(self, *, later: Executor, lookups: Executor) -> None:
        self._later = later
        self._lookups = lookups

    def after_ack(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something after the ack, so that the ack is not delayed. What goes wrong there is logged."""

        def guarded() -> None:
            try:
                work(*arguments)
            except Exception:
                log.exception("after_ack_failed", work=work.__name__)

        self._later.submit(copy_context().run, guarded)  # the fields of the log lines are kept in the other thread

    def looked_up(self, look: Callable[[], _Found], seconds: float | None = None) -> _Found:
        """What a look-up finds, within `LOOKUP_WAIT_S` or so many seconds. Raises FutureTimeout, and what it raises.

        One that has not begun by then is taken out: nobody waits for it, and it would delay the look-ups of others.
        """
        asked: Future[_Found] = self._lookups.submit(copy_context().run, look)
        try:
            return asked.result(timeout=LOOKUP_WAIT_S if seconds is None else seconds)
        except FutureTimeout:
            asked.cancel()
            raise

    def told(self, look: Callable[[], _Found], *, otherwise: _Found, seconds: float | None = None) -> _Found:
        """What a look-up finds; `otherwise` when it takes too long, or Slack does not tell it now."""
        try:
            return self.looked_up(look, seconds)
        except (FutureTimeout, SlackUnreachable):
            return otherwise

    def in_time(self, work: Callable[[], None], seconds: float) -> bool:
        """Have something looked up; False when it took too long, or Slack does not tell it now."""

        def is_done() -> bool:
            work()
            return True

        return self.told(is_done, otherwise=False, seconds=seconds)

    def names(self, name_of: Callable[[str], str]) -> Callable[[str], str]:
        """Names for one event: those that Slack gives in time, ids for the rest."""
        deadline = time.monotonic() + LOOKUP_WAIT_S

        def name_in_time(user_id: str) -> str:
            try:
                return self.looked_up(lambda: name_of(user_id), max(0.0, deadline - time.monotonic()))
            except FutureTimeout:
                return user_id

        return name_in_time
