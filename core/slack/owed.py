"""What Slack has and the Store does not know yet, while a turn posts several messages one after the other.

It is noted in the transaction that begins the next row. A worker that dies before that leaves a row that is being sent:
the next worker looks such a message up before it sends anything.
"""

from __future__ import annotations

import threading

from core.rows import Sent
from core.slack.outbox import Outbox
from core.values import Lease


class Owed:
    """Notes what was sent, at once or with the next row of the thread. Safe to share between threads of one process."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._later: dict[str, list[Sent]] = {}
        self._lock = threading.Lock()

    def note_later(self, thread_id: str) -> None:
        """From now on, note what is sent to this thread with its next row, or when `note_now` is called."""
        with self._lock:
            self._later.setdefault(thread_id, [])

    def add(self, lease: Lease | None, thread_id: str, sent: Sent) -> None:
        """Slack has this message. Raises LeaseLost."""
        with self._lock:
            if (later := self._later.get(thread_id)) is not None:
                later.append(sent)
                return
        self._outbox.outbox_done(lease, *sent)

    def take(self, thread_id: str) -> list[Sent]:
        """What the next row of this thread is to note."""
        with self._lock:
            if not (taken := self._later.get(thread_id, [])):
                return []
            self._later[thread_id] = []
            return taken

    def forget(self, thread_id: str) -> None:
        """The turn ended before this was noted. Whoever goes on with it looks such messages up."""
        with self._lock:
            self._later.pop(thread_id, None)

    def note_now(self, lease: Lease) -> bool:
        """Note what is owed for the lease's thread; True when there was something. Raises LeaseLost."""
        with self._lock:
            owed = self._later.pop(lease.thread_id, [])
        if owed:
            self._outbox.outbox_sent(lease, owed)
        return bool(owed)
