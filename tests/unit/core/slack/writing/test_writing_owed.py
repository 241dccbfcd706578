"""What Slack has and the Store is told a moment later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from core.rows import NewReport, Sent
from core.slack.writing.owed import Owed
from core.values import Lease

LEASE = Lease(thread_id="T1:C1:1.0", token=1, owner="test")
CARD, REPORT = Sent("card", "1.1", {}), Sent("report", "1.2", {})


class Noted:
    """An outbox that keeps what it is told, one list per transaction."""

    def __init__(self) -> None:
        self.writes: list[list[Sent]] = []

    def outbox_done(self, lease: Lease | None, key: str, ts: str, response: Any) -> None:
        self.writes.append([Sent(key, ts, response)])

    def outbox_sent(self, lease: Lease | None, sent: Sequence[Sent]) -> None:
        self.writes.append(list(sent))


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def owed(noted: Noted) -> Owed:
    return Owed(noted)  # type: ignore[arg-type]


def test_what_is_sent_is_noted_at_once_unless_more_follows(owed: Owed, noted: Noted) -> None:
    owed.add(LEASE, LEASE.thread_id, CARD)
    assert noted.writes == [[CARD]]
    assert owed.take(LEASE.thread_id).sent == []


def test_the_next_row_takes_what_is_owed_and_the_end_notes_the_rest(owed: Owed, noted: Noted) -> None:
    owed.note_later(LEASE.thread_id)
    owed.add(LEASE, LEASE.thread_id, CARD)
    assert noted.writes == []
    assert owed.take(LEASE.thread_id).sent == [CARD]
    assert owed.take(LEASE.thread_id).sent == []
    owed.add(LEASE, LEASE.thread_id, REPORT)
    assert owed.note_now(LEASE)
    assert noted.writes == [[REPORT]]
    assert not owed.note_now(LEASE)


def test_another_thread_is_noted_at_once(owed: Owed, noted: Noted) -> None:
    owed.note_later(LEASE.thread_id)
    owed.add(LEASE, "T1:C1:2.0", CARD)
    assert noted.writes == [[CARD]]


def test_what_a_turn_leaves_behind_is_forgotten(owed: Owed, noted: Noted) -> None:
    owed.note_later(LEASE.thread_id)
    owed.add(LEASE, LEASE.thread_id, Sent("k", "1.0", {}))
    owed.forget(LEASE.thread_id)
    assert owed.take(LEASE.thread_id).sent == []
    assert not owed.note_now(LEASE)


def test_a_report_goes_with_the_next_row_of_its_thread_alone(owed: Owed) -> None:
    report = NewReport("T1:C1:1.0/t1", "# Report")
    owed.add_report(LEASE.thread_id, report)
    assert owed.take("T1:C1:2.0").report is None
    assert owed.take(LEASE.thread_id).report is report
    assert owed.take(LEASE.thread_id).report is None
    owed.add_report(LEASE.thread_id, report)
    owed.forget(LEASE.thread_id)
    assert owed.take(LEASE.thread_id).report is None
