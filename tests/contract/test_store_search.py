"""Finding threads, on SQLite and on Postgres alike: what is found, and what is found no longer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from core.rows import TurnRow
from core.steps import Asked, CellRan, Finished, Said
from core.store import Store
from core.store.database import Database
from core.store.full_text import words_in
from core.store.lineage import CopiedTurn
from core.values import IncomingMessage, Lease, ThreadKey

CHURN, OTHER = "T1:C1:100.000001", "T1:C2:200.000001"


def message(ts: str, said: str, **changes: object) -> IncomingMessage:
    values: dict[str, object] = {
        "team": "T1",
        "channel": "C1",
        "channel_type": "channel",
        "ts": ts,
        "root_ts": "100.000001",
        "user": "U1",
        "text": said,
    }
    return IncomingMessage.model_validate(values | changes)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A thread about churn with a report, and another one of another person in another channel."""
    opened = Store(store_url)
    opened.migrate()
    opened.record_message(message("100.000001", "How did churn go? 客户流失率是多少"), "Ana")
    opened.record_message(message("200.000001", "Which churn?", channel="C2", root_ts="200.000001", user="U2"), "Ben")
    opened.record_message(
        message("201.000001", "find churn march", channel="C2", root_ts="200.000001", user="U2", kind="find"), "Ben"
    )
    lease = lease_of(opened)
    turn = opened.open_turn(lease, "en", "model")
    opened.take_mail(lease, turn.id, [], [Asked(user="U1", author="Ana", text="How did churn go?", ts="100.000001")])
    opened.append_step(
        lease,
        turn.id,
        CellRan(call_id="c", cell_id="x", title="Totals", code="df.groupby('contract').mean()", status="ok"),
    )
    opened.append_step(lease, turn.id, Finished(report="In March'26, **12 %** left."))
    opened.set_turn_status(lease, turn.id, "done")
    yield opened
    opened.close()


def lease_of(store: Store, thread_id: str = CHURN) -> Lease:
    return Lease(thread_id=thread_id, token=store.raise_fence(thread_id), owner="test")


def found(store: Store, said: str) -> list[str]:
    return [one.thread_id for one in store.find_threads(words_in(said))]


@pytest.mark.parametrize(
    "said",
    [
        "churn march",
        '"MARCH, churn"',
        "groupby('contract')",
        "流失率",
        "客户 march",
        "march'26",
        "how totals left",
        "churn\x00march",
        "churn\ud800march",
    ],
)
def test_all_words_stand_somewhere_in_the_thread_in_messages_reports_or_code(store: Store, said: str) -> None:
    assert found(store, said) == [CHURN]


def test_words_of_an_imported_conversation_are_found_until_it_is_purged(store: Store) -> None:
    key, at = ThreadKey("T1", "C1", "import-0123456789abcdef"), datetime(2024, 2, 3, tzinfo=UTC)
    row = TurnRow(f"{key.id}/t1", key.id, 1, "done", "en", "imported", at, at)
    said = [Said(message={"role": "user", "content": text}) for text in ("Where do herons nest?", "客户在哪里")]
    said.append(Said(message={"role": "assistant", "content": None}))
    assert store.import_thread(key, CopiedTurn(row, [(at, each) for each in said]), "birds", "cli:ana@here", [CHURN])
    assert not store.import_thread(key, CopiedTurn(row, []), "birds", "cli:ana@here")
    for words in ("herons", "nest birds", "客户在"):
        assert found(store, words) == [key.id]
    assert [when for steps in store.timed_steps(key.id) for when, _ in steps] == [at] * 3
    assert [one.thread_id for one in store.find_threads(since=datetime.now(UTC) - timedelta(hours=1), channel="C1")]
    assert store.purgeable(thread_id=CHURN) == [key.id, CHURN]
    store.purge_thread(key.id)
    assert found(store, "herons") == []


@pytest.mark.parametrize("said", ["churn april", "流率", "it's \\ ' & | ! :*", '"" or 1', "%%% churn_x"])
def test_other_words_find_nothing_and_break_nothing(store: Store, said: str) -> None:
    assert found(store, said) == []


def test_a_search_does_not_find_itself_and_the_newest_thread_comes_first(store: Store) -> None:
    assert found(store, "churn") == [OTHER, CHURN]
    assert found(store, "march") == [CHURN]


def test_threads_are_found_by_person_channel_time_and_pin(store: Store) -> None:
    def ids(**wanted: object) -> list[str]:
        return [one.thread_id for one in store.find_threads(**wanted)]  # type: ignore[arg-type]

    assert ids(user="U2") == [OTHER]
    assert ids(channel="C1") == [CHURN]
    assert ids(team="T2") == []
    assert ids(since=datetime.now(UTC) + timedelta(hours=1)) == []
    assert ids(pinned=True) == []
    assert [store.pin_thread(lease_of(store), "U3") for _ in range(2)] == [True, False]
    assert [(one.thread_id, one.pinned_by, one.author, one.turns) for one in store.find_threads(pinned=True)] == [
        (CHURN, "U3", "Ana", 1)
    ]
    assert [store.unpin_thread(lease_of(store)) for _ in range(2)] == [True, False]
    assert ids(pinned=True) == []


def test_a_thread_is_found_by_how_far_it_is(store: Store) -> None:
    def found_as(*states: str) -> list[tuple[str, str]]:
        return [(one.thread_id, one.state) for one in store.find_threads(states=states)]

    running = [(OTHER, "running"), (CHURN, "running")]
    assert found_as("running") == running, "what somebody wrote waits to be read"
    at = datetime(2024, 2, 3, tzinfo=UTC)
    for number, status in ((1, "failed"), (2, "done")):
        key = ThreadKey("T1", "C1", f"import-{number}")
        row = TurnRow(f"{key.id}/t1", key.id, 1, status, "en", "imported", at, at)
        assert store.import_thread(key, CopiedTurn(row, []), "birds", "cli:ana@here")
    assert found_as("done") == [("T1:C1:import-2", "done")]
    assert {state for _, state in found_as("done", "failed")} == {"done", "failed"}
    assert found_as("waiting") == []
    assert {one.thread_id: one.state for one in store.find_threads()} == dict(running + found_as("done", "failed"))


def test_a_pin_of_ones_own_counts_for_that_person_alone(store: Store) -> None:
    def pinned(reader: str) -> list[tuple[str, bool, str]]:
        found = store.find_threads(pinned=True, reader=reader)
        return [(one.thread_id, one.is_own_pin, one.pinned_by) for one in found]

    assert [store.pin_for(OTHER, "U3") for _ in range(2)] == [True, False]
    assert pinned("U3") == [(OTHER, True, "")]
    assert pinned("U4") == pinned("") == []
    store.pin_thread(lease_of(store), "U4")
    assert pinned("U3") == [(OTHER, True, ""), (CHURN, False, "U4")]
    assert [store.unpin_for(OTHER, "U4"), store.unpin_for(OTHER, "U3"), store.unpin_for(OTHER, "U3")] == [
        False,
        True,
        False,
    ]
    assert pinned("U3") == [(CHURN, False, "U4")]


def test_nobody_pins_what_is_not_there_and_a_purge_of_thread_or_person_takes_own_pins(store: Store) -> None:
    assert not store.pin_for("T1:C1:999.000001", "U3")
    for user in ("U3", "U4"):
        assert store.pin_for(CHURN, user)
    assert store.forget_preferences("U3") == 1
    assert store.purge_counts(CHURN)["own_pins"] == 1
    store.purge_thread(CHURN)
    assert "own_pins" not in store.purge_counts(CHURN)
    assert not store.pin_for(CHURN, "U3"), "the id of a purged thread stays, and nothing else"


def test_what_people_changed_or_deleted_is_found_no_longer(store: Store) -> None:
    store.change_message("T1", "C2", "200.000001", "Which refunds?")
    assert (found(store, "churn"), found(store, "refunds")) == ([CHURN], [OTHER])
    store.delete_message("T1", "C1", "100.000001")
    assert found(store, "流失") == []
    assert found(store, "march") == [], "a thread whose only message is gone is not shown"


def test_a_purge_takes_the_words_and_leaves_a_tombstone(store: Store, store_url: str) -> None:
    store.pin_thread(lease_of(store), "U3")
    store.purge_thread(CHURN, state="ab" * 32)
    store.scrub()
    assert found(store, "march") == []
    assert [(stone.thread_id, stone.turns) for stone in store.tombstones("abab")] == [(CHURN, 1)]
    assert store.tombstones(CHURN)[0].state == "ab" * 32
    assert store.purge_thread(CHURN) == 0, "nothing is left to purge"
    assert store.tombstones(CHURN)[0].state == "ab" * 32
    if store_url.startswith("sqlite"):
        with open(store_url.removeprefix("sqlite:///"), "rb") as file:
            assert b"March'26" not in file.read()


def test_words_of_rows_that_older_code_stored_are_found(store: Store, store_url: str) -> None:
    """The release before knows nothing of the search: it only inserts rows."""
    database = Database(store_url)
    with database.writing() as db:
        db.execute(text("UPDATE messages SET text = 'about tariffs' WHERE ts = '200.000001'"))
    database.close()
    assert found(store, "tariffs") == [OTHER]
