"""Removes unused sessions from the node's disk. The file store has them, and the next question brings them back.

So a node holds only the sessions of the last weeks, however many threads there are in all.
"""

from __future__ import annotations

import time

from core.leases import Leases
from core.store import Store
from core.telemetry import get_logger
from executor.client import HostUnavailable, RequestError, SessionClient
from workers.turn.transfer.session_transfer import SessionTransfer

log = get_logger(__name__)

EVERY_S = 600.0
AT_ONCE = 100
"""Sessions of one sweep. A node that has more gets to the others in the next ones."""
_DAY_S = 86_400


class Eviction:
    """What a node's janitor asks again and again. Does nothing where threads stay at their node."""

    def __init__(
        self, days: int, store: Store, leases: Leases, transfer: SessionTransfer, sessions: SessionClient
    ) -> None:
        """`days` without a cell after which a session is evicted; 0: never."""
        self._days = days if transfer.enabled else 0
        self._store = store
        self._leases = leases
        self._transfer = transfer
        self._sessions = sessions
        self._due = 0.0

    def sweep(self) -> list[str]:
        """Evict the sessions that are due, at most every ten minutes; returns the threads. Failed evictions are tried
        later.

        A thread with a turn that runs, or that a worker has, stays. So does one whose session cannot be stored.
        """
        if not self._days or time.monotonic() < self._due:
            return []
        self._due = time.monotonic() + EVERY_S
        evicted = []
        try:
            for thread_id in self._sessions.unused(self._days * _DAY_S, AT_ONCE):
                with self._leases.hold(thread_id) as held:
                    turn = self._store.current_turn(thread_id)
                    if held is None or (turn is not None and turn.status == "running"):
                        continue
                    if self._transfer.evict(held.lease):
                        evicted.append(thread_id)
        except (HostUnavailable, RequestError) as error:
            log.warning("eviction_postponed", error=error)
        if evicted:
            log.info("sessions_evicted", count=len(evicted))
        return evicted
