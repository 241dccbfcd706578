"""Vectors of threads, on SQLite and on Postgres alike: when they are made anew, and when they are gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event
from test_store_search import CHURN, OTHER, lease_of, message

from core.steps import Asked, Finished
from core.store import Store
from core.store.full_text import words_in
from core.store.vectors import ThreadMark


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """Two threads of a workspace, each with a finished turn."""
    opened = Store(store_url)
    opened.migrate()
    for thread_id, said in ((CHURN, "How did churn go?"), (OTHER, "Which clients left?")):
        _, channel, ts = thread_id.split(":")
        opened.record_message(message(ts, said, channel=channel, root_ts=ts), "Ana")
        _turn(opened, thread_id, said, ts)
    yield opened
    opened.close()


def _turn(store: Store, thread_id: str, said: str, ts: str) -> None:
    lease = lease_of(store, thread_id)
    turn = store.open_turn(lease, "en", "model")
    store.take_mail(lease, turn.id, [], [Asked(user="U1", author="Ana", text=said, ts=ts), Finished(report="12 %.")])
    store.set_turn_status(lease, turn.id, "done")


def without(store: Store, after: int = 0, model: str = "small") -> list[str]:
    return [thread_id for _, thread_id in store.without_vectors(model, after)]


def begun(store: Store, thread_id: str = CHURN) -> ThreadMark:
    mark = store.begin_vectors(thread_id)
    assert mark is not None
    return mark


def made(store: Store, thread_id: str = CHURN) -> None:
    assert store.keep_vectors(begun(store, thread_id), "small", 1, b"\x00\x3c")


def kept(store: Store, team: str = "T1") -> list[str]:
    return [one.thread_id for one in store.vectors_of("small", team)]


def test_vectors_are_made_anew_when_a_thread_goes_on_and_for_another_model(store: Store) -> None:
    assert without(store) == [OTHER, CHURN]
    made(store)
    made(store, OTHER)
    assert without(store) == []
    assert without(store, model="large") == [OTHER, CHURN]
    newest = max(upto for upto, _ in store.without_vectors("large"))
    _turn(store, CHURN, "And April?", "100.000009")
    assert without(store, newest) == [CHURN]
    assert kept(store) == [OTHER, CHURN], "the old ones are found until the new ones are there"


def test_vectors_belong_to_a_workspace(store: Store) -> None:
    made(store)
    assert kept(store, "T2") == []
    assert kept(store, "") == [CHURN]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_vectors_of_words_that_were_deleted_are_gone_also_when_they_are_being_made(
    store: Store, meanwhile: bool
) -> None:
    made(store)
    mark = begun(store)
    store.delete_message("T1", "C1", "100.000001")
    if meanwhile:
        assert not store.keep_vectors(mark, "small", 1, b"\x00\x3c")
    assert kept(store) == []
    assert CHURN in without(store, after=10**9), "it is made anew, however old its last step is"
    made(store)
    assert kept(store) == [CHURN]


def test_a_purge_takes_the_vectors_and_those_that_are_being_made_are_not_stored(store: Store) -> None:
    made(store)
    mark = begun(store)
    search = store.begin_search(CHURN, "T1", "C1", "secret words")
    counts = store.purge_counts(CHURN)
    assert (counts["thread_vectors"], counts["searches"]) == (1, 1)
    store.purge_thread(CHURN)
    assert not store.keep_vectors(mark, "small", 1, b"\x00\x3c")
    assert kept(store) == []
    assert store.begin_vectors(CHURN) is None
    assert CHURN not in without(store)
    assert store.search_answer(search) is None
    assert store.open_searches(datetime.now(UTC) - timedelta(minutes=1)) == []


def test_vectors_that_a_purge_of_older_code_left_are_deleted(store: Store) -> None:
    made(store)
    assert store.drop_orphaned_vectors() == 0
    mark = begun(store, OTHER)
    assert store.keep_vectors(mark, "small", 1, b"\x00\x3c")
    with store._database.writing() as db:
        db.exec_driver_sql("DELETE FROM steps")
        db.exec_driver_sql("UPDATE messages SET turn_id = NULL")
        db.exec_driver_sql("DELETE FROM turns")
    assert store.drop_orphaned_vectors() == 2
    assert kept(store) == []


def test_a_look_for_left_vectors_that_finds_none_holds_up_no_writer(store: Store) -> None:
    made(store)
    sent: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert store.drop_orphaned_vectors() == 0
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert any(each.startswith("SELECT") for each in sent)
    assert not any(each.startswith(("DELETE", "BEGIN IMMEDIATE")) for each in sent)


def test_a_new_description_makes_the_vectors_anew(store: Store) -> None:
    made(store)
    store.describe_thread(lease_of(store), "U1", "attrition of March")
    assert CHURN in without(store, after=10**9)


def test_a_search_is_answered_once_and_leaves_nothing(store: Store) -> None:
    since = datetime.now(UTC) - timedelta(seconds=10)
    first = store.begin_search(CHURN, "T1", "C1", "who left\x00?")
    assert [(one.id, one.team, one.channel, one.text) for one in store.open_searches(since)] == [
        (first, "T1", "C1", "who left\ufffd?")
    ]
    assert store.search_answer(first) is None
    store.answer_search(first, [OTHER])
    assert store.open_searches(since) == []
    assert store.search_answer(first) == [OTHER]
    store.end_search(first)
    assert store.search_answer(first) is None
    store.begin_search(CHURN, "T1", "C1", "a bot died")
    assert store.drop_old_searches(datetime.now(UTC)) == 0
    assert store.drop_old_searches(datetime.now(UTC) + timedelta(minutes=2)) == 1


def test_both_lists_are_fused_by_their_ranks_and_each_thread_says_how_it_was_found(store: Store) -> None:
    def ways(words: str, near: list[str], **wanted: str) -> list[tuple[str, tuple[str, ...]]]:
        found = store.find_threads(words_in(words), near=near, **wanted)  # type: ignore[arg-type]
        return [(one.thread_id, one.by) for one in found]

    assert ways("churn", []) == [(CHURN, ("words",))]
    assert ways("churn", [OTHER]) == [(CHURN, ("words",)), (OTHER, ("meaning",))]
    assert ways("churn", [OTHER, CHURN]) == [(CHURN, ("words", "meaning")), (OTHER, ("meaning",))]
    assert ways("nothing at all", [OTHER, CHURN]) == [(OTHER, ("meaning",)), (CHURN, ("meaning",))]
    assert ways("nothing at all", [OTHER, "T1:C9:1.000001"], channel="C1") == []
    assert ways("nothing at all", [OTHER], team="T2") == []
