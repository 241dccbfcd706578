"""What is still to be written to the Store, with the next row of a thread: a turn posts several messages in a row.

It is what Slack has by now, and the report that is about to be posted. A worker that dies before it is written leaves
a row that is being sent. The next worker looks such a message up before it sends anything. The report follows from the
steps, and nothing of it was posted yet.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from core.rows import NewReport, Sent
from core.slack.writing.outbox import Outbox
from core.values import Lease


class Owing(NamedTuple):
    """What a new row of a thread takes along."""

    sent: list[Sent]
    report: NewReport | None


class Owed:
    """Notes what was sent, at once or with the next row of the thread. Safe to share between threads of one process."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._later: dict[str, list[Sent]] = {}
        self._reports: dict[str, NewReport] = {}
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

    def add_report(self, thread_id: str, report: NewReport) -> None:
        """Store this report with the thread's next row."""
        with self._lock:
            self._reports[thread_id] = report

    def take(self, thread_id: str) -> Owing:
        """What the thread's next row is to take along."""
        with self._lock:
            report = self._reports.pop(thread_id, None)
            if not (taken := self._later.get(thread_id, [])):
                return Owing([], report)
            self._later[thread_id] = []
            return Owing(taken, report)

    def forget(self, thread_id: str) -> None:
        """The turn ended before this was noted. Whoever goes on with it looks such messages up."""
        with self._lock:
            self._later.pop(thread_id, None)
            self._reports.pop(thread_id, None)

    def note_now(self, lease: Lease) -> bool:
        """Note what is owed for the lease's thread; True when there was something. Raises LeaseLost."""
        with self._lock:
            owed = self._later.pop(lease.thread_id, [])
        if owed:
            self._outbox.outbox_sent(lease, owed)
        return bool(owed)
