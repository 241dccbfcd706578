"""What those who only watch read from the Store, on SQLite and on Postgres alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.exc import SQLAlchemyError
from turn_kit import (
    ASKED,
    CELL,
    CORRECTED,
    DANCED,
    FINISHED,
    GAVE_UP,
    QUESTION,
    REPLIED,
    RESUMED,
    changed,
    message,
    write_turn,
)

from core.steps import Usage
from core.store import Store, StoreUnreachable, database
from core.store.ended import CallTime, CellTime
from core.store.history import History, Load
from core.values import Lease

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store(store_url)
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def history(store: Store, store_url: str) -> Iterator[History]:
    opened = History(store_url)
    yield opened
    opened.close()


def test_a_turn_that_waits_shows_its_question_and_one_that_is_over_is_not_open(store: Store, history: History) -> None:
    write_turn(store, [ASKED, FINISHED], "done")
    running = write_turn(store, [ASKED, REPLIED, CELL], "running", channel="C2")
    waiting = write_turn(store, [ASKED, QUESTION], "waiting", channel="C3")
    first, second = history.open_turns()
    assert (first.turn, first.steps, first.last_kind, first.node_id) == (running, 3, "cell", "host-a")
    assert (second.turn, second.question) == (waiting, "Gross or net?")
    assert second.moved_at >= second.turn.created_at


def test_mail_is_counted_until_a_turn_has_read_it_and_quiet_messages_are_none(store: Store, history: History) -> None:
    write_turn(store, [ASKED], "running")
    store.record_message(message("C2"))
    store.record_message(message("C3"), quiet=True)
    (mail,) = history.mail()
    assert (mail.thread_id, mail.messages) == ("T1:C2:100.000001", 1)


@pytest.mark.parametrize(
    "name",
    [
        "T1:C1:100.000001/t1",
        "T1:C1:100.000001",
        "https://acme.slack.com/archives/C1/p1712345678000100",
        "https://acme.slack.com/archives/C1/p1712345699000200?thread_ts=1712345678.000100&cid=C1",
    ],
)
def test_a_turn_is_found_by_its_id_its_thread_or_a_link(store: Store, history: History, name: str) -> None:
    write_turn(store, [ASKED], channel="C2")
    given = message("C1", "1712345678.000100" if name.startswith("https") else "100.000001")
    store.record_message(given)
    if not name.startswith("https"):
        assert [turn.id for turn in history.find(name)] == []
        write_turn(store, [ASKED])
        assert [turn.id for turn in history.find(name)] == ["T1:C1:100.000001/t1"]
        return
    lease = Lease(thread_id=given.thread.id, token=store.raise_fence(given.thread.id), owner="test")
    turn = store.open_turn(lease, "en", "gpt-x")
    assert history.find(name) == [turn]


def test_a_name_that_means_nothing_finds_nothing(store: Store, history: History) -> None:
    write_turn(store, [ASKED])
    for name in ("", "%", "T1:C1:9", "https://acme.slack.com/archives/C9/p1712345678000100"):
        assert history.find(name) == []


def test_steps_come_in_order_with_their_times_and_so_does_what_went_to_slack(store: Store, history: History) -> None:
    turn = write_turn(store, [ASKED, REPLIED, CELL, FINISHED])
    steps = history.steps(turn.id)
    assert [each.step for each in steps] == [ASKED, REPLIED, CELL, FINISHED]
    assert sorted(each.at for each in steps) == [each.at for each in steps]
    assert steps[0].at >= turn.created_at
    (card,) = history.sent(turn)
    assert (card.slot, card.method) == ("card", "chat.postMessage")
    assert card.sent_at is not None


def test_an_ended_turn_is_summed_up_without_its_texts(store: Store, history: History) -> None:
    failing = changed(CELL, status="error", duration_s=2.0)
    turn = write_turn(store, [ASKED, REPLIED, failing, CORRECTED, REPLIED, CELL, FINISHED])
    write_turn(store, [ASKED, CELL], "running", channel="C2")
    ((turn_id, ended_at),) = history.ended_ids(LONG_AGO)
    assert (turn_id, ended_at) == (turn.id, turn.ended_at)
    (summed,) = history.ended([turn_id])
    assert summed.status == "done"
    assert summed.cells == (CellTime("error", 2.0), CellTime("ok", 0.25))
    assert summed.calls == (CallTime("gpt-x", "act", 120, 30, 1.5),) * 2
    assert summed.corrections == ("no_call",)
    assert summed.wait_s is not None
    assert summed.first_word_s is not None
    assert 0 <= summed.wait_s <= summed.first_word_s
    assert summed.lasted_s >= 0


def test_unknown_steps_are_shown_with_their_kind_and_not_counted(store: Store, history: History) -> None:
    turn = write_turn(store, [ASKED, DANCED, REPLIED, CELL, DANCED])
    (summed,) = history.ended([turn.id])
    assert (len(summed.calls), len(summed.cells), summed.corrections) == (1, 1, ())
    write_turn(store, [ASKED, DANCED], "running", channel="C2")
    (running,) = history.open_turns()
    assert (running.steps, running.last_kind, running.question) == (2, "danced", "")


def test_of_a_turn_that_was_resumed_only_what_came_after_is_summed_up(store: Store, history: History) -> None:
    turn = write_turn(store, [ASKED, REPLIED, CELL, GAVE_UP], "stopped")
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    store.record_message(message(ts="102.000001"))
    (wish,) = store.unread(turn.thread_id)
    reopened = store.reopen_turn(lease, turn.id, wish.id, RESUMED, model="gpt-y")
    assert (reopened.status, reopened.ended_at, reopened.model) == ("running", None, "gpt-y")
    assert store.unread(turn.thread_id) == []
    assert history.ended_ids(LONG_AGO) == []
    usage = Usage(prompt_tokens=120, completion_tokens=30, cached_tokens=100)
    priced = changed(REPLIED, usage=usage, cost_micros=420)
    store.append_step(lease, turn.id, priced)
    store.set_turn_status(lease, turn.id, "done")
    (summed,) = history.ended([turn.id])
    assert summed.calls == (CallTime("gpt-x", "act", 120, 30, 1.5, cached_tokens=100, cost_micros=420),)
    assert summed.cells == ()


def test_what_ended_earlier_can_be_left_out(store: Store, history: History) -> None:
    turn = write_turn(store, [ASKED, FINISHED])
    assert turn.ended_at is not None
    assert history.ended_ids(turn.ended_at) == [(turn.id, turn.ended_at)]
    assert history.ended_ids(turn.ended_at + timedelta(seconds=1)) == []


def test_a_store_without_our_schema_does_not_count_as_one(store_url: str) -> None:
    empty = History(store_url)
    with pytest.raises(SQLAlchemyError):
        empty.ping()
    empty.close()


def test_a_store_that_takes_no_writes_does_not_count_as_one(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = History(store_url)
    taking.ping()
    taking.close()
    url = store_url
    if url.startswith("postgresql"):
        url += ("&" if "?" in url else "?") + "options=-c%20default_transaction_read_only%3Don"
    else:
        monkeypatch.setattr(database, "_prepare_sqlite", _open_to_read)
    read_only = History(url)
    with pytest.raises(StoreUnreachable, match=r"read-?only"):
        read_only.ping()
    read_only.close()


def _open_to_read(connection: sqlite3.Connection, _record: object) -> None:
    """What a file without the right to write comes to. The user that runs the tests may have every right."""
    connection.isolation_level = None
    connection.execute("PRAGMA query_only = ON")


def test_the_load_counts_what_is_open_and_unread_but_nothing_quiet(store: Store, history: History) -> None:
    assert (history.load().running, history.load().oldest_running_at, history.load().unread) == (0, None, 0)
    running = write_turn(store, [ASKED], "running")
    write_turn(store, [ASKED, QUESTION], "waiting", channel="C2")
    write_turn(store, [ASKED, FINISHED], "done", channel="C3")
    store.record_message(message("C4"))
    store.record_message(message("C5"), quiet=True)
    assert history.load() == Load(running=1, waiting=1, oldest_running_at=running.created_at, unread=1)
