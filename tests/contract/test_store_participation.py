"""Which threads are the bot's, on SQLite and on Postgres alike: called in, leaving, called back, and lately active."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from core.store import Store
from core.values import FileRef, IncomingMessage, Lease, ThreadKey

KEY = ThreadKey("T1", "C1", "100.000001")
SALES = FileRef(id="F1", name="sales.csv")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store(store_url)
    opened.migrate()
    yield opened
    opened.close()


def said(ts: str, text: str = "what sold best?", **changes: object) -> IncomingMessage:
    """A reply in the thread that mentions the bot."""
    values = {"channel_type": "channel", "user": "U1", "text": text, "mention": True, "ts": ts}
    return IncomingMessage.model_validate(KEY._asdict() | values | changes)


def wanted(store: Store) -> list[str]:
    return [mail.ts for mail in store.unread(KEY.id) if mail.talk_wanted]


def lease_of(store: Store) -> Lease:
    return Lease(thread_id=KEY.id, token=store.raise_fence(KEY.id), owner="test")


# --- whose thread it is


def test_a_thread_is_the_bots_once_it_has_real_mail(store: Store) -> None:
    assert not store.knows_thread(KEY)
    store.record_message(said("100.000002"))
    assert store.knows_thread(KEY)


def test_a_stop_in_peoples_talk_leaves_it_theirs(store: Store) -> None:
    store.record_message(said("100.000002", "stop", kind="stop"), quiet=True)
    assert not store.knows_thread(KEY)
    assert store.threads_needing_a_wake() == []


def test_a_bare_mention_in_peoples_talk_leaves_it_theirs_until_the_talk_gives_a_question(store: Store) -> None:
    store.record_message(said("100.000002", ""), quiet=True)
    assert not store.knows_thread(KEY)
    store.take_talk(lease_of(store), [said("100.000002", "")], [])
    assert not store.knows_thread(KEY)
    assert store.unread(KEY.id) == []


def test_a_thread_that_began_with_the_bots_name_is_the_bots(store: Store) -> None:
    store.record_message(said(KEY.root_ts, ""), quiet=True)
    assert store.knows_thread(KEY)


def test_a_thread_keeps_the_bot_after_its_mail_became_a_turn(store: Store) -> None:
    store.record_message(said("100.000002"))
    lease = lease_of(store)
    turn = store.open_turn(lease, "en", "model")
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(KEY.id)], [])
    assert store.knows_thread(KEY)


# --- called into a talk


def test_a_message_that_calls_the_bot_into_a_talk_wants_it_read_in_the_same_write(store: Store) -> None:
    assert store.record_message(said("100.000005")).to_notify
    assert wanted(store) == ["100.000005"]


@pytest.mark.parametrize(
    "message",
    [said(KEY.root_ts), said("100.000005", "undo", kind="undo")],
    ids=["the first message of a thread", "a command"],
)
def test_what_calls_the_bot_into_no_talk_wants_none(store: Store, message: IncomingMessage) -> None:
    store.record_message(message)
    assert wanted(store) == []


def test_a_follow_up_wants_no_talk(store: Store) -> None:
    store.record_message(said(KEY.root_ts))
    store.record_message(said("100.000005"))
    assert wanted(store) == []


def test_a_twin_wants_the_talk_once(store: Store) -> None:
    store.record_message(said("100.000005"))
    store.take_talk(lease_of(store), [said("100.000005")], [])
    assert not store.record_message(said("100.000005")).to_notify
    assert wanted(store) == []


def test_a_mention_without_a_word_is_work_until_the_talk_was_read(store: Store) -> None:
    assert store.record_message(said("100.000005", ""), quiet=True).to_notify
    assert store.threads_needing_a_wake() == [KEY.id]
    assert [queued.thread_id for queued in store.wait_queue()] == [KEY.id]
    store.take_talk(lease_of(store), [said("100.000005", "")], [])
    assert store.threads_needing_a_wake() == []
    assert store.wait_queue() == []
    assert not store.record_message(said("100.000005", ""), quiet=True).to_notify, "a late twin asks nothing anew"
    assert store.unread(KEY.id) == []


def test_the_talk_is_taken_whole_before_the_question(store: Store) -> None:
    store.record_message(said("100.000005"), "Ana")
    earlier = [
        (said(KEY.root_ts, "numbers for the review", mention=False), "Ben"),
        (said("100.000002", "here", mention=False, files=(SALES,)), "Ben"),
    ]
    store.take_talk(lease_of(store), [said("100.000005")], earlier)
    assert [(mail.author, mail.text) for mail in store.unread(KEY.id)] == [
        ("Ben", "numbers for the review"),
        ("Ben", "here"),
        ("Ana", "what sold best?"),
    ]
    assert wanted(store) == []


def test_taking_a_talk_again_changes_nothing_that_was_read_or_answered(store: Store) -> None:
    store.record_message(said("100.000002", "stop", kind="stop"), quiet=True)
    store.record_message(said("100.000005"))
    lease, earlier = lease_of(store), [(said("100.000002", "stop", mention=False), "Ben")]
    store.take_talk(lease, [said("100.000005")], earlier)
    store.take_talk(lease, [said("100.000005")], earlier)
    assert [mail.ts for mail in store.unread(KEY.id)] == ["100.000005"]


def test_a_bare_mention_that_came_without_its_files_gets_them_with_the_talk(store: Store) -> None:
    store.record_message(said("100.000005", "", files_known=False), quiet=True)
    store.take_talk(lease_of(store), [said("100.000005", "", files=(SALES,))], [])
    (mail,) = store.unread(KEY.id)
    assert (mail.files, mail.files_known) == ((SALES,), True)


def test_a_talk_of_people_is_told_from_a_thread_that_began_with_the_bot(store: Store) -> None:
    store.record_message(said("100.000005"))
    assert store.thread_state(KEY.id).is_talk
    store.take_talk(lease_of(store), [said("100.000005")], [(said(KEY.root_ts, "hi", mention=False), "Ben")])
    assert store.thread_state(KEY.id).is_talk
    begun = said("200.1", root_ts="200.1")
    store.record_message(begun)
    assert not store.thread_state(begun.thread.id).is_talk
    direct = said("300.1", root_ts="300.1", channel="D1", mention=False)
    store.record_message(direct)
    assert not store.thread_state(direct.thread.id).is_talk


# --- leaving


def leave(store: Store, ts: str = "100.000007") -> None:
    store.record_message(said(ts, "leave", kind="leave", mention=False), quiet=True, leaves=True)


def test_a_thread_that_was_left_is_not_the_bots_until_it_is_called_back(store: Store) -> None:
    store.record_message(said(KEY.root_ts))
    leave(store)
    assert store.has_left(KEY)
    assert not store.knows_thread(KEY)
    store.record_message(said("100.000009"))
    assert not store.has_left(KEY)
    assert store.knows_thread(KEY)
    assert wanted(store) == ["100.000009"], "what was said meanwhile belongs to the question"


def test_leaving_works_in_a_thread_that_nothing_is_known_of(store: Store) -> None:
    leave(store)
    assert store.has_left(KEY)
    assert not store.knows_thread(KEY)


@pytest.mark.parametrize(
    "later",
    [
        said("100.000009", "stop", kind="stop"),
        said("100.000009", "and 2023?", mention=False),
        said("100.000003"),
    ],
    ids=["a stop", "a message without a mention", "an older mention that comes late"],
)
def test_only_a_later_mention_with_something_to_do_calls_back(store: Store, later: IncomingMessage) -> None:
    store.record_message(said(KEY.root_ts))
    leave(store)
    store.record_message(later, quiet=later.kind == "stop")
    assert store.has_left(KEY)


def test_a_leave_that_is_delivered_again_does_not_undo_a_return(store: Store) -> None:
    leave(store)
    store.record_message(said("100.000009"))
    leave(store)
    assert not store.has_left(KEY)


# --- lately active


def test_threads_are_listed_by_their_latest_message_with_the_newest_ts(store: Store) -> None:
    begun = datetime.now(UTC) - timedelta(seconds=1)
    for root, reply in (("100.000001", "100.000004"), ("200.000001", "200.000002"), ("300.000001", "300.000003")):
        store.record_message(said(root, root_ts=root))
        store.record_message(said(reply, root_ts=root))
    found = store.lately_active(begun, 2)
    assert [(one.thread.root_ts, one.newest_ts) for one in found] == [
        ("300.000001", "300.000003"),
        ("200.000001", "200.000002"),
    ]
    assert store.lately_active(datetime.now(UTC) + timedelta(hours=1), 9) == []


def test_known_messages_are_told_from_those_that_never_came(store: Store) -> None:
    store.record_message(said("100.000002"))
    store.record_message(said("100.000003"), quiet=True)
    asked = ["100.000002", "100.000003", "100.000004"]
    assert store.known_messages("T1", "C1", asked) == {"100.000002", "100.000003"}
    assert store.known_messages("T1", "C2", asked) == set()
