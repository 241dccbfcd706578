"""A thread as one read gives it, and the writes of a turn that hold it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine, event
from turn_kit import ASKED, CELL, FINISHED, REPLIED, changed, message

from core.clean_room import WAITING, CleanRoomOrder
from core.errors import LeaseLost
from core.rows import NewReport, Sent, Spent
from core.store import Store
from core.store.turns import new_turn
from core.values import Lease, StoredFile

FILE = StoredFile(name="a.csv", mimetype="text/csv", size=1, sha256="a" * 64)
FIGURE = StoredFile(name="a.png", mimetype="image/png", size=1, sha256="b" * 64)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with closing(Store(store_url)) as opened:
        opened.migrate()
        opened.record_message(message(), "Ana")
        yield opened


@pytest.fixture
def lease(store: Store) -> Lease:
    return lease_of(store, message().thread.id)


def lease_of(store: Store, thread_id: str) -> Lease:
    return Lease(thread_id=thread_id, token=store.raise_fence(thread_id), owner="test")


def test_a_new_thread_has_mail_and_nothing_else(store: Store, lease: Lease) -> None:
    state = store.thread_state(lease.thread_id)
    assert [mail.text for mail in state.mail] == ["what sold best?"]
    assert (state.node_id, state.turns, dict(state.steps), state.open_turn) == (None, (), {}, None)
    assert (state.has_files, state.is_exported, state.sent, state.unshown) == (False, False, 0, 0)
    assert state.progress == f"{lease.thread_id}/new"
    with pytest.raises(KeyError):
        store.thread_state("T1:C1:9.0")


def test_the_state_has_what_single_reads_give(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(lease.thread_id)], [ASKED])
    store.append_step(lease, turn.id, REPLIED)
    store.set_thread_node(lease, "alpha")
    store.add_thread_file(lease, FILE)
    for key, ts in (("card", "1.1"), ("files", "")):
        method = "chat.postMessage" if ts else "files.completeUploadExternal"
        store.outbox_begin(lease, f"{turn.id}:{key}", method, {})
        store.outbox_done(lease, f"{turn.id}:{key}", ts, {})
    store.record_message(message(ts="100.000009"))
    state = store.thread_state(lease.thread_id)
    assert state.open_turn == store.current_turn(lease.thread_id) == turn
    assert {turn_id: list(steps) for turn_id, steps in state.steps.items()} == store.thread_steps(lease.thread_id)
    assert list(state.mail) == store.unread(lease.thread_id)
    assert (state.node_id, state.has_files, state.sent, state.unshown) == ("alpha", True, 2, 1)
    assert state.progress == f"{turn.id}:2:2"


def test_whoever_takes_a_thread_reads_all_of_it_and_shuts_out_the_worker_before(store: Store, lease: Lease) -> None:
    turns = [store.open_turn(lease, "en", "gpt-x")]
    store.take_mail(lease, turns[0].id, [mail.id for mail in store.unread(lease.thread_id)], [ASKED])
    store.append_step(lease, turns[0].id, FINISHED)
    store.set_turn_status(lease, turns[0].id, "done")
    turns.append(store.open_turn(lease, "en", "gpt-x"))
    store.set_turn_status(lease, turns[1].id, "stopped")
    turns.append(store.open_turn(lease, "en", "gpt-x"))
    store.append_step(lease, turns[2].id, REPLIED)
    store.record_message(message(ts="100.000009"))
    token, state = store.take_thread(lease.thread_id)
    assert token == lease.token + 1 == store.fence(lease.thread_id)
    assert state == store.thread_state(lease.thread_id)
    assert list(state.steps.values()) == [(ASKED, FINISHED), (), (REPLIED,)]
    assert list(state.steps) == [turn.id for turn in turns]
    with pytest.raises(LeaseLost):
        store.append_step(lease, turns[2].id, CELL)
    with pytest.raises(KeyError):
        store.take_thread("T1:C1:9.0")


def test_others_may_write_while_the_earlier_turns_of_a_thread_are_read(
    store: Store, store_url: str, lease: Lease
) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    store.append_step(lease, turn.id, FINISHED)
    store.set_turn_status(lease, turn.id, "done")
    written = []

    def look(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "NOT IN" in statement and not written:
            with closing(Store(store_url)) as other:
                written.append(other.record_message(message(ts="100.000009")).new)

    event.listen(Engine, "before_cursor_execute", look)
    try:
        _, state = store.take_thread(lease.thread_id)
    finally:
        event.remove(Engine, "before_cursor_execute", look)
    assert written == [True]
    assert state.steps[turn.id] == (FINISHED,)


def test_a_thread_stands_in_the_wait_queue_as_its_state_says(store: Store, lease: Lease) -> None:
    def both() -> None:
        (queued,) = [each for each in store.wait_queue() if each.thread_id == lease.thread_id] or [None]
        assert store.thread_state(lease.thread_id).queued == queued

    both()
    turn = store.open_turn(lease, "zh", "gpt-x")
    both()
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(lease.thread_id)], [ASKED])
    both()
    store.record_message(message(ts="100.000002").model_copy(update={"kind": "stop", "user": "U2"}))
    both()
    store.set_turn_status(lease, turn.id, "done")
    both()
    store.drop_messages(lease, [mail.id for mail in store.unread(lease.thread_id)])
    store.record_message(message(ts="100.000003").model_copy(update={"kind": "status"}))
    both()
    assert not store.thread_state(lease.thread_id).needs_place
    store.record_message(message(ts="100.000004"))
    both()
    assert store.thread_state(lease.thread_id).needs_place
    store.drop_messages(lease, [mail.id for mail in store.unread(lease.thread_id)])
    both()
    assert store.thread_state(lease.thread_id).queued is None


def test_a_thread_that_people_began_is_a_talk_until_its_root_addresses_the_bot(store: Store) -> None:
    store.record_message(message(root_ts="200.000001"))
    assert store.thread_state("T1:C1:200.000001").is_talk
    store.record_message(message(root_ts="200.000001").model_copy(update={"mention": True}))
    assert not store.thread_state("T1:C1:200.000001").is_talk


def test_a_turn_is_opened_together_with_its_first_steps_or_not_at_all(store: Store, lease: Lease) -> None:
    row = new_turn(lease.thread_id, 1, "en", "gpt-x")
    mail = [each.id for each in store.unread(lease.thread_id)]
    lost = lease.model_copy(update={"token": lease.token - 1})
    with pytest.raises(LeaseLost):
        store.take_mail(lost, row.id, mail, [ASKED], opens=row, node_id="alpha")
    assert store.thread_state(lease.thread_id).turns == ()
    store.take_mail(lease, row.id, mail, [ASKED, CELL], opens=row, node_id="alpha")
    state = store.thread_state(lease.thread_id)
    assert (state.turns, state.steps[row.id], state.node_id, state.mail) == ((row,), (ASKED, CELL), "alpha", ())


def test_what_follows_from_a_step_is_stored_with_it_unless_somebody_wrote_meanwhile(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    added = store.append_step(lease, turn.id, REPLIED, then=[CELL, FINISHED], spent=Spent(5), user="U1")
    assert (added.count, added.has_mail) == (1, True)
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(lease.thread_id)], [ASKED])
    added = store.append_step(lease, turn.id, REPLIED, then=[CELL, FINISHED], spent=Spent(7), user="U1")
    assert (added.seq, added.count, added.has_mail) == (2, 3, False)
    assert store.steps(turn.id) == [REPLIED, ASKED, REPLIED, CELL, FINISHED]
    assert store.spent(user="U1") == Spent(12, calls=2)


def test_a_lost_lease_keeps_out_all_that_goes_with_a_step(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    lease_of(store, lease.thread_id)
    drawn = changed(CELL, figures=(FIGURE,))
    with pytest.raises(LeaseLost):
        store.append_step(lease, turn.id, drawn, then=[FINISHED], spent=Spent(5), user="U1")
    assert store.steps(turn.id) == []
    assert store.spent() == Spent(calls=0)


def test_contents_of_a_step_and_of_a_report_are_known_to_be_needed(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    store.append_step(lease, turn.id, changed(CELL, figures=(FIGURE,)), spent=Spent(1), user="U1")
    store.save_report(lease, turn.id, "# Report", [FILE, FIGURE])
    store.save_report(lease, turn.id, "# Report", [FILE, FIGURE])
    with store._database.reading() as db:
        found = db.exec_driver_sql("SELECT sha256 FROM blob_refs ORDER BY sha256").scalars().all()
    assert found == [FILE.sha256, FIGURE.sha256]


def test_what_was_sent_is_noted_with_the_next_row_and_by_no_lost_lease(store: Store, lease: Lease) -> None:
    store.outbox_begin(lease, "card", "chat.postMessage", {"text": "x"})
    sent = [Sent("card", "1.000001", {"ts": "1.000001"})]
    lost = lease.model_copy(update={"token": lease.token - 1})
    with pytest.raises(LeaseLost):
        store.outbox_begin(lost, "report", "chat.postMessage", {}, sent=sent)
    assert (store.outbox_get("card").status, store.outbox_get("report")) == ("sending", None)
    assert store.outbox_begin(lease, "report", "chat.postMessage", {}, sent=sent, response={"a": 1}).fresh
    card, report = store.outbox_get("card"), store.outbox_get("report")
    assert (card.status, card.ts, card.payload, card.response) == ("sent", "1.000001", {}, {"ts": "1.000001"})
    assert isinstance(card.sent_at, datetime)
    assert (report.status, report.response) == ("sending", {"a": 1})


def test_a_row_that_is_found_again_still_notes_what_was_sent(store: Store, lease: Lease) -> None:
    for key in ("card", "report"):
        store.outbox_begin(lease, key, "chat.postMessage", {})
    sent = [Sent("card", "1.000001", {})]
    assert not store.outbox_begin(lease, "report", "chat.postMessage", {}, sent=sent).fresh
    assert store.outbox_get("card").status == "sent"


def test_a_report_is_stored_with_the_row_that_begins_it_and_by_no_lost_lease(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    new = NewReport(turn.id, "# Report", [FILE, FIGURE], CleanRoomOrder(state="due"))
    lost = lease.model_copy(update={"token": lease.token - 1})
    with pytest.raises(LeaseLost):
        store.outbox_begin(lost, "card", "chat.postMessage", {}, report=new)
    assert (store.outbox_get("card"), store.report(turn.id)) == (None, None)
    store.outbox_begin(lease, "card", "chat.postMessage", {}, report=new)
    report = store.report(turn.id)
    assert (report.markdown, report.files) == ("# Report", (FILE, FIGURE))
    assert store.clean_room(turn.id) == WAITING
    with store._database.reading() as db:
        found = db.exec_driver_sql("SELECT sha256 FROM blob_refs ORDER BY sha256").scalars().all()
    assert found == [FILE.sha256, FIGURE.sha256]


def test_a_row_that_is_found_again_still_stores_the_report_and_the_first_report_stays(
    store: Store, lease: Lease
) -> None:
    turn = store.open_turn(lease, "en", "gpt-x")
    sent = [Sent("card", "1.000001", {})]
    for key in ("card", "report"):
        store.outbox_begin(lease, key, "chat.postMessage", {})
    for markdown in ("# First", "# Second"):
        new = NewReport(turn.id, markdown, [FILE])
        assert not store.outbox_begin(lease, "report", "chat.postMessage", {}, sent=sent, report=new).fresh
    assert store.report(turn.id).markdown == "# First"
    assert store.outbox_get("card").status == "sent"


def test_a_report_goes_with_a_row_of_its_own_thread_and_lease_only(store: Store, lease: Lease) -> None:
    for given in (lease, None):
        with pytest.raises(ValueError, match=r"not of thread|under a lease"):
            store.outbox_begin(given, "k", "m", {}, thread_id="T1:C1:9.0", report=NewReport("T1:C1:9.0/t1", ""))
