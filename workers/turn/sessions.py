"""Calls to the session host: tried again while it is being restarted, with the thread's files at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from core.metrics import RETRIES
from core.retry import retry_call
from executor.client import HostUnavailable
from workers.turn.open_turn import OpenTurn

WAIT_S = 20.0
"""How long a turn waits for a session host that is being restarted."""
AGAIN_S = 0.2

Result = TypeVar("Result")


def with_session_host(call: Callable[[], Result]) -> Result:
    """The result of a call to the session host, tried again for `WAIT_S` after it failed first.

    Raises HostUnavailable after that. The first call may have taken long: it may have waited for a cell.
    """
    try:
        return call()
    except HostUnavailable as error:
        _count(error)
    return retry_call(call, on=HostUnavailable, for_s=WAIT_S, every_s=AGAIN_S, on_retry=_count)


def _count(error: Exception) -> None:
    RETRIES.labels("session_host", "unavailable").inc()


def ready_session(turn: OpenTurn) -> bool:
    """Put the files of a thread without a live session in place before its session starts. Raises HostUnavailable.

    False when there was nothing to do.
    """
    if not turn.has_files:
        return False
    sessions = turn.context.sessions.sessions()
    if not any(session.thread_id == turn.thread_id for session in sessions):
        turn.context.files.restore(turn.thread_id)
    return True
