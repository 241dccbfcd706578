"""What the Store promises, on SQLite and on Postgres alike."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from patience import PATIENCE_S, eventually
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from turn_kit import ASKED, CELL, DANCED, REPLIED, RESUMED, changed

from core.errors import LeaseLost, outline
from core.rows import ExportedBytes, ExportedRow, OutboxRow, Sent
from core.schedules.values import ScheduleOrder
from core.steps import CellRan, Questioned, UnknownStep, dump_step, load_step
from core.store import Recorded, Spent, Store, changes, tables
from core.values import FileRef, IncomingMessage, Lease, StoredFile, ThreadKey

THREAD = "T1:C1:100.000001"
SALES = FileRef(id="F1", name="sales.csv", mimetype="text/csv", size=9, url="https://files.slack.com/F1")
PLAN = FileRef(id="F2", name="plan.xlsx")
WITHOUT_A_KIND = UnknownStep(body={"without": "a kind"})


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store(store_url)
    opened.migrate()
    yield opened
    opened.close()


def message(ts: str = "100.000001", **changes: object) -> IncomingMessage:
    values: dict[str, object] = {
        "team": "T1",
        "channel": "C1",
        "channel_type": "channel",
        "ts": ts,
        "root_ts": "100.000001",
        "user": "U1",
        "text": "what sold best?",
        "mention": True,
    }
    return IncomingMessage.model_validate(values | changes)


def lease_of(store: Store, thread_id: str = THREAD) -> Lease:
    return Lease(thread_id=thread_id, token=store.raise_fence(thread_id), owner="test")


@pytest.fixture
def lease(store: Store) -> Lease:
    store.record_message(message(), "Ana")
    return lease_of(store)


# --- questions that count until a moment


def test_a_question_is_overdue_once_its_moment_has_passed_while_it_is_the_last_and_its_turn_waits(
    store: Store, lease: Lease
) -> None:
    turn = store.open_turn(lease, "en", "model").id
    store.append_step(lease, turn, Questioned(call_id="approve:1", question="Run?", until=1_000.5))
    assert store.overdue_questions(2_000.0) == [], "the worker has not rested"
    store.set_turn_status(lease, turn, "waiting")
    assert store.overdue_questions(1_000.5) == []
    assert store.overdue_questions(1_000.6) == [turn]
    store.append_step(lease, turn, Questioned(call_id="c1", question="Net or gross?"))
    assert store.overdue_questions(2_000.0) == [], "a question of the model counts for ever"


def test_the_writers_of_a_thread_are_those_whose_words_it_has(store: Store, lease: Lease) -> None:
    store.record_message(message("101.000001", user="U2", text="me too"))
    store.record_message(message("102.000001", user="U3", text="{}", kind="decision"))
    store.record_message(message("103.000001", user="U4", text="net", kind="answer"))
    assert store.thread_writers(THREAD) == {"U1", "U2"}


# --- messages


def test_who_deletes_a_message_while_a_turn_reads_it_is_told_of_the_turn(store: Store, lease: Lease) -> None:
    """The turn reads the message and is about to commit. What was found before that would not name it."""
    turn = store.open_turn(lease, "en", "model").id
    with ThreadPoolExecutor(1) as bot:
        with store._database.writing() as db:
            db.execute(text("UPDATE messages SET turn_id = :turn"), {"turn": turn})
            deleting = bot.submit(store.delete_message, "T1", "C1", "100.000001")
            eventually(lambda: waits_for_a_row(store), "the other transaction waits")
        touched = deleting.result(PATIENCE_S)
    assert touched is not None
    assert touched.turn_id == turn


def test_a_message_that_is_changed_while_it_is_deleted_leaves_no_words(store: Store) -> None:
    store.record_message(message(text="the merger is called Nightingale"), "Ana")
    with ThreadPoolExecutor(1) as bot:
        with store._database.writing() as db:
            db.execute(text("UPDATE messages SET kind = 'deleted', text = ''"))
            changing = bot.submit(store.change_message, "T1", "C1", "100.000001", "nothing")
            eventually(lambda: waits_for_a_row(store), "the other transaction waits")
        assert changing.result(PATIENCE_S) is None
    with store._database.reading() as db:
        assert db.execute(text("SELECT text FROM message_versions")).all() == []


def waits_for_a_row(store: Store) -> bool:
    """Whether a transaction waits for another one. In SQLite, whoever writes waits before it reads."""
    if store._database.dialect != "postgresql":
        return True
    with store._database.reading() as db:
        return bool(db.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar())


@pytest.mark.integration
def test_what_a_worker_writes_while_a_message_is_deleted_is_not_undone(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = Store(postgres_url), Store(postgres_url)
    store.migrate()
    store.record_message(message(), "Ana")
    lease = lease_of(store)
    store.outbox_begin(lease, "card", "files.completeUploadExternal", {"title": "what sold best?"})
    meanwhile(monkeypatch, lambda: other.outbox_done(lease, "card", "", {"file_ids": ["F1"]}))
    store.delete_message("T1", "C1", "100.000001")
    row = store.outbox_get("card")
    assert row is not None
    assert (row.status, row.payload, row.response) == ("sent", {}, {"file_ids": ["F1"]})
    store.close()
    other.close()


@pytest.mark.integration
def test_the_words_of_two_messages_that_are_deleted_at_the_same_moment_are_both_gone(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = Store(postgres_url), Store(postgres_url)
    store.migrate()
    store.record_message(message(), "Ana")
    store.record_message(message("100.000002", text="leave out Ben Miller"), "Ana")
    lease = lease_of(store)
    quoting = {"text": "what sold best? leave out Ben Miller"}
    store.outbox_begin(lease, "card", "chat.postMessage", quoting)
    meanwhile(monkeypatch, lambda: other.delete_message("T1", "C1", "100.000002"))
    store.delete_message("T1", "C1", "100.000001")
    row = store.outbox_get("card")
    assert row is not None
    assert row.payload == {"text": "[…] […]"}
    store.close()
    other.close()


def test_a_short_sentence_in_chinese_leaves_what_quotes_it_too(store: Store) -> None:
    store.record_message(message(text="王伟月薪三万"), "Ana")
    lease = lease_of(store)
    store.outbox_begin(lease, "card", "chat.postMessage", {"text": "王伟月薪三万 → 月薪"})
    store.delete_message("T1", "C1", "100.000001")
    row = store.outbox_get("card")
    assert row is not None
    assert row.payload == {"text": "[…] → 月薪"}


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do this when the deletion of a message has read the first text that may quote it."""
    cleans = changes._without
    acts = [act]

    def clean(value: object, quotes: Collection[str]) -> object:
        while acts:
            acts.pop()()
        return cleans(value, quotes)

    monkeypatch.setattr(changes, "_without", clean)


def test_a_message_is_kept_whole(store: Store) -> None:
    given = message(text="wie läuft’s? 📈\u0007", files=(SALES,), files_known=False, kind="answer")
    assert store.record_message(given, "Ana") == Recorded(THREAD, new=True, to_notify=True)
    (kept,) = store.unread(THREAD)
    assert IncomingMessage.model_validate(kept.model_dump(exclude={"id", "author", "talk_wanted"})) == given
    assert kept.author == "Ana"


def test_a_redelivered_message_is_not_new(store: Store) -> None:
    store.record_message(message(), "Ana")
    assert store.record_message(message(), "Ana") == Recorded(THREAD, new=False, to_notify=False)
    assert len(store.unread(THREAD)) == 1


@pytest.mark.parametrize("files_first", [True, False])
def test_twins_become_one_message_that_knows_what_both_knew(store: Store, files_first: bool) -> None:
    plain = message(mention=False, files=(SALES,))
    mention = message(mention=True, files_known=False)
    first, second = (plain, mention) if files_first else (mention, plain)
    assert store.record_message(first, "Ana").new
    assert not store.record_message(second, "").new
    (kept,) = store.unread(THREAD)
    assert (kept.mention, kept.files, kept.files_known, kept.author) == (True, (SALES,), True, "Ana")


def test_a_bare_id_is_no_name_and_leaves_its_place_to_one_that_comes_later(store: Store) -> None:
    store.record_message(message(), message().user)
    assert store.unread(THREAD)[0].author == ""
    store.record_message(message(), "Ana")
    assert store.unread(THREAD)[0].author == "Ana"


def test_a_twin_with_further_files_adds_them_once(store: Store) -> None:
    store.record_message(message(files=(SALES,)))
    store.record_message(message(files=(SALES, PLAN)))
    assert store.unread(THREAD)[0].files == (SALES, PLAN)


def test_a_redelivery_after_the_message_was_read_wakes_nobody(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    store.take_mail(lease, turn.id, [store.unread(THREAD)[0].id], [])
    assert store.record_message(message()) == Recorded(THREAD, new=False, to_notify=False)
    assert store.unread(THREAD) == []


def test_an_answer_wakes_a_waiting_turn_in_the_same_write(store: Store, lease: Lease) -> None:
    """A worker that reads it and dies leaves a running turn, and the janitor wakes that."""
    turn = store.open_turn(lease, "en", "model")
    store.set_turn_status(lease, turn.id, "waiting")
    store.take_mail(lease, turn.id, [store.unread(THREAD)[0].id], [])
    assert store.turn(turn.id).status == "waiting"
    store.take_mail(lease, turn.id, [], [ASKED])
    assert store.turn(turn.id).status == "running"


def test_the_same_ts_in_another_channel_or_team_is_another_message(store: Store) -> None:
    assert store.record_message(message()).new
    assert store.record_message(message(channel="C2")).new
    assert store.record_message(message(team="T2")).new


def test_a_quiet_message_is_not_unread_until_a_twin_has_more(store: Store) -> None:
    assert store.record_message(message(text=""), quiet=True) == Recorded(THREAD, new=True, to_notify=False)
    assert store.unread(THREAD) == []
    assert store.threads_needing_a_wake() == []
    assert store.record_message(message(text="", files=(SALES,))) == Recorded(THREAD, new=False, to_notify=True)
    assert store.unread(THREAD)[0].files == (SALES,)


def test_mail_is_read_in_the_order_it_was_written_not_in_the_order_it_came(store: Store) -> None:
    for ts in ("100.000010", "100.000002", "99.5", "100.000001"):
        store.record_message(message(ts=ts, text=ts))
    assert [mail.ts for mail in store.unread(THREAD)] == ["99.5", "100.000001", "100.000002", "100.000010"]


def test_a_thread_is_known_once_somebody_addressed_the_bot_in_it(store: Store) -> None:
    key = ThreadKey("T1", "C1", "100.000001")
    assert not store.knows_thread(key)
    store.record_message(message(ts="100.000009"))
    assert store.knows_thread(key)
    assert not store.knows_thread(key._replace(channel="C2"))


def test_twins_that_arrive_at_the_same_moment_are_one(store: Store) -> None:
    start = threading.Barrier(8)

    def deliver(number: int) -> Recorded:
        start.wait()
        return store.record_message(message(files=(SALES,) if number % 2 else ()), "Ana")

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(deliver, range(8)))
    assert sum(result.new for result in results) == 1
    (kept,) = store.unread(THREAD)
    assert kept.files == (SALES,)


def test_text_that_a_database_cannot_hold_is_kept_as_far_as_it_can(store: Store) -> None:
    store.record_message(message(text="a\x00b\ud800c"), "n\x00")
    lease = lease_of(store)
    turn = store.open_turn(lease, "en", "m\x00")
    store.append_step(lease, turn.id, changed(CELL, stdout="x\x00y"))
    store.append_step(lease, turn.id, UnknownStep(body={"kind": "danced", "nested": [{"k\x00": "\udfff"}]}))
    store.save_report(lease, turn.id, "r\x00", [])
    assert store.unread(THREAD)[0].text == "a\ufffdb\ufffdc"
    assert store.steps(turn.id) == [
        changed(CELL, stdout="x\ufffdy"),
        UnknownStep(body={"kind": "danced", "nested": [{"k\ufffd": "\ufffd"}]}),
    ]


# --- the fence

FENCED: dict[str, Callable[[Store, Lease, str], object]] = {
    "open_turn": lambda store, lease, turn: store.open_turn(lease, "en", "model"),
    "set_turn_status": lambda store, lease, turn: store.set_turn_status(lease, turn, "done"),
    "take_mail": lambda store, lease, turn: store.take_mail(lease, turn, [1], [ASKED]),
    "append_step": lambda store, lease, turn: store.append_step(lease, turn, REPLIED),
    "note_left_call": lambda store, lease, turn: store.note_left_call(lease, turn, Spent(7), user="U1", model="m"),
    "add_thread_file": lambda store, lease, turn: store.add_thread_file(lease, stored("a.csv")),
    "save_report": lambda store, lease, turn: store.save_report(lease, turn, "# report", []),
    "complete_report": lambda store, lease, turn: store.complete_report(lease, turn, "# report", []),
    "begin_clean_room": lambda store, lease, turn: store.begin_clean_room(lease, turn),
    "outbox_begin": lambda store, lease, turn: store.outbox_begin(lease, "key", "chat.postMessage", {}),
    "outbox_note": lambda store, lease, turn: store.outbox_note(lease, "key", {"a": 1}),
    "outbox_done": lambda store, lease, turn: store.outbox_done(lease, "key", "1.2", {}),
    "outbox_sent": lambda store, lease, turn: store.outbox_sent(lease, [Sent("key", "1.2", {})]),
    "outbox_unsent": lambda store, lease, turn: store.outbox_unsent(lease, "key", "ratelimited"),
    "outbox_dropped": lambda store, lease, turn: store.outbox_dropped(lease, "key"),
    "set_thread_node": lambda store, lease, turn: store.set_thread_node(lease, "alpha"),
    "set_exported_session": lambda store, lease, turn: store.set_exported_session(lease, ExportedRow("0" * 64)),
    "begin_cell": lambda store, lease, turn: store.begin_cell(lease, "alpha cell"),
    "redact": lambda store, lease, turn: store.redact(lease, ["some words"], ["100.000001"]),
    "forget_contents": lambda store, lease, turn: store.forget_contents(lease, ["0" * 64], []),
    "drop_messages": lambda store, lease, turn: store.drop_messages(lease, [1]),
    "take_talk": lambda store, lease, turn: store.take_talk(lease, [], [(message(ts="100.000000"), "Ben")]),
    "describe_thread": lambda store, lease, turn: store.describe_thread(lease, "U1", "churn"),
    "note_source": lambda store, lease, turn: store.note_source(lease, "T1:C1:300.000001"),
    "begin_heir": lambda store, lease, turn: store.begin_heir(lease, ThreadKey("T1", "C1", "300.000001")),
    "fork_thread": lambda store, lease, turn: store.fork_thread(lease, ThreadKey("T1", "C1", "300.000001"), [], []),
    "add_schedule": lambda store, lease, turn: store.add_schedule(
        lease,
        turn,
        owner="U1",
        said="every day",
        order=ScheduleOrder(cron="0 9 * * *", zone="UTC", language="en"),
        next_at=datetime.now(UTC),
        shown=[],
        schedule_id="s1",
    ),
    "pin_thread": lambda store, lease, turn: store.pin_thread(lease, "U1"),
    "unpin_thread": lambda store, lease, turn: store.unpin_thread(lease),
    "reopen_turn": lambda store, lease, turn: store.reopen_turn(lease, turn, 1, RESUMED, model="model"),
}


UNFENCED = {
    *("save_installation", "forget_installation", "note_org_team", "claim_refresh", "replace_secret"),  # no thread's
    *("issue_state", "use_state"),
    *("record_message", "note_thread", "delete_message", "change_message"),
    *("raise_fence", "take_thread", "audit"),
    *("purge_thread", "purge_order_done", "contents_deleted", "give_up_contents"),
    *("save_vote", "save_reason", "mark_example", "unmark_example", "outbox_take_up"),
    *("import_thread", "wake_key"),
    *("save_preferences", "forget_preferences", "pin_for", "unpin_for"),
    *("claim_clean_room", "end_clean_room", "free_clean_rooms"),
    *("set_schedule_state", "begin_run", "move_schedule", "claim_run", "end_run", "free_runs", "postpone_run"),
    # Vectors are counted by `changed` instead: an older reading of a thread changes nothing.
    *("begin_vectors", "keep_vectors", "drop_orphaned_vectors"),
    *("begin_search", "answer_search", "end_search", "drop_old_searches"),
}
"""The bot holds no lease (of a person's votes the last one counts), what is imported is written at once, a clean room
and a scheduled run work beside the lease (the number of their try is their fence), a lease is only made by raising the
fence, what was done was done, and a purge takes the thread from whoever has it."""


def test_every_method_that_writes_is_marked_and_no_other() -> None:
    """`Store.WRITES` is derived from the marks; tests that kill at every write rely on it."""
    public = {name: member for name, member in inspect.getmembers(Store, callable) if not name.startswith("_")}
    writing = {
        name
        for name, member in public.items()
        if {"_writing", "_guarded", "outbox_sent", "_append_in_one"} & set(_names(member))
    }
    assert writing == Store.WRITES


def _names(method: Callable[..., object]) -> tuple[str, ...]:
    """The names that a method uses, also as attributes."""
    return inspect.unwrap(method).__code__.co_names


def test_every_write_is_fenced_except_those_that_cannot_have_a_lease() -> None:
    assert set(FENCED) == Store.WRITES - UNFENCED


def test_a_lease_can_be_checked_without_a_write(store: Store, lease: Lease) -> None:
    store.check(lease)
    lease_of(store)
    with pytest.raises(LeaseLost):
        store.check(lease)


@pytest.mark.parametrize("write", sorted(FENCED))
def test_a_write_with_an_older_token_is_refused_and_changes_nothing(store: Store, lease: Lease, write: str) -> None:
    turn = store.open_turn(lease, "en", "model")
    lease_of(store)
    with pytest.raises(LeaseLost):
        FENCED[write](store, lease, turn.id)
    assert store.turns(THREAD) == [turn]
    assert store.steps(turn.id) == []
    assert len(store.unread(THREAD)) == 1
    assert store.thread_files(THREAD) == []
    assert store.report(turn.id) is None
    assert store.outbox_get("key") is None
    assert store.thread_node(THREAD) is None
    assert store.spent().calls == 0


def test_a_call_that_was_left_counts_without_a_step(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    left = Spent(prompt_tokens=10, completion_tokens=2, cost_micros=30)
    store.note_left_call(lease, turn.id, left, user="U1", model="gpt-x")
    assert store.spent(user="U1", thread_id=THREAD) == left
    assert store.steps(turn.id) == []


def test_the_fence_only_rises(store: Store, lease: Lease) -> None:
    tokens = [store.raise_fence(THREAD) for _ in range(3)]
    assert tokens == [lease.token + 1, lease.token + 2, lease.token + 3]
    assert store.fence(THREAD) == tokens[-1]


def test_an_unknown_thread_has_no_fence_to_raise(store: Store) -> None:
    with pytest.raises(KeyError):
        store.raise_fence("T1:C1:nowhere")
    assert store.fence("T1:C1:nowhere") == 0


def test_a_lease_of_one_thread_does_not_reach_into_another(store: Store, lease: Lease) -> None:
    store.record_message(message(ts="200.1", root_ts="200.1"))
    other = store.open_turn(lease_of(store, "T1:C1:200.1"), "en", "model")
    with pytest.raises(ValueError, match="not of thread"):
        store.append_step(lease, other.id, REPLIED)
    mine = store.open_turn(lease, "en", "model")
    store.take_mail(lease, mine.id, [mail.id for mail in store.unread("T1:C1:200.1")], [])
    assert len(store.unread("T1:C1:200.1")) == 1


# --- turns and steps


def test_a_turn_goes_from_open_to_ended(store: Store, lease: Lease) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    turn = store.open_turn(lease, "zh", "offline-analyst")
    assert (turn.id, turn.number, turn.status, turn.language) == (f"{THREAD}/t1", 1, "running", "zh")
    assert before < turn.created_at < datetime.now(UTC) + timedelta(seconds=5)
    assert turn.created_at.utcoffset() == timedelta(0)
    assert store.current_turn(THREAD) == turn == store.turn(turn.id)
    store.set_turn_status(lease, turn.id, "waiting")
    waiting = store.current_turn(THREAD)
    assert waiting is not None
    assert (waiting.status, waiting.ended_at) == ("waiting", None)
    store.set_turn_status(lease, turn.id, "done")
    assert store.current_turn(THREAD) is None
    (ended,) = store.turns(THREAD)
    assert ended.ended_at is not None
    assert ended.ended_at >= turn.created_at


def test_turns_are_numbered_in_their_thread(store: Store, lease: Lease) -> None:
    for _ in range(3):
        store.set_turn_status(lease, store.open_turn(lease, "en", "model").id, "done")
    assert [turn.number for turn in store.turns(THREAD)] == [1, 2, 3]
    assert store.turn("nowhere/t1") is None


def test_a_thread_has_at_most_one_open_turn(store: Store, lease: Lease) -> None:
    store.open_turn(lease, "en", "model")
    with pytest.raises(IntegrityError):
        store.open_turn(lease, "en", "model")
    assert len(store.turns(THREAD)) == 1


def test_steps_come_back_as_they_were_given_in_order(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    steps = [changed(ASKED, text="héllo 你好"), REPLIED, changed(CELL, figures=(stored("a.png"),)), DANCED]
    assert [store.append_step(lease, turn.id, step).seq for step in steps] == [0, 1, 2, 3]
    assert store.steps(turn.id) == steps
    assert store.steps("nowhere/t1") == []


def test_a_step_of_a_newer_version_comes_back_with_everything_in_it(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    newer = load_step(
        {**dump_step(CELL), "energy_wh": 3, "figures": [{**stored("a.png").model_dump(), "alt": "a line"}]}
    )
    assert isinstance(newer, CellRan)
    for step in (newer, DANCED):
        store.append_step(lease, turn.id, step)
    found = store.steps(turn.id)
    assert found == [newer, DANCED]
    assert [dump_step(step) for step in found] == [dump_step(newer), dump_step(DANCED)]
    assert dump_step(found[0])["figures"][0]["alt"] == "a line"


def test_taking_mail_reads_and_writes_both_or_neither(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    (mail,) = store.unread(THREAD)
    with pytest.raises(KeyError):
        store.take_mail(lease, turn.id, [mail.id], [ASKED, WITHOUT_A_KIND])
    assert store.unread(THREAD) == [mail]
    assert store.steps(turn.id) == []
    store.take_mail(lease, turn.id, [mail.id], [ASKED])
    assert store.unread(THREAD) == []
    assert store.steps(turn.id) == [ASKED]


def test_what_calls_took_is_summed_by_thread_person_and_time(store: Store, lease: Lease) -> None:
    store.record_message(message("200.000001", root_ts="200.000001", channel="C2"))
    other = lease_of(store, "T1:C2:200.000001")
    began = datetime.now(UTC)
    for held, user, spent in (
        (lease, "U1", Spent(prompt_tokens=10, cached_tokens=4, completion_tokens=2, cost_micros=30)),
        (lease, "U2", Spent(prompt_tokens=5, completion_tokens=1)),
        (other, "U1", Spent(prompt_tokens=100, completion_tokens=10, cost_micros=500)),
    ):
        turn = store.current_turn(held.thread_id) or store.open_turn(held, "en", "model")
        store.append_step(held, turn.id, REPLIED, spent=spent, user=user)
    store.append_step(lease, f"{THREAD}/t1", CELL)
    assert store.spent() == Spent(115, 4, 13, cost_micros=530, calls=3)
    assert store.spent(thread_id=THREAD) == Spent(15, 4, 3, cost_micros=30, calls=2)
    assert store.spent(user="U1", since=began).tokens == 122
    assert store.spent(user="U2") == Spent(5, 0, 1, cost_micros=None, calls=1)
    assert store.spent(since=began + timedelta(days=1)) == Spent(calls=0)
    assert store.spent(since=began, team="T1") == store.spent()
    assert store.spent(since=began, team="T") == store.spent(since=began, team="T_") == Spent(calls=0)


def test_what_a_call_took_is_kept_with_its_step_or_not_at_all(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    with pytest.raises(KeyError):
        store.append_step(lease, turn.id, WITHOUT_A_KIND, spent=Spent(1), user="U1")
    assert store.spent() == Spent(calls=0)


def test_a_thread_needs_a_wake_for_mail_and_for_work_but_not_for_waiting(store: Store, lease: Lease) -> None:
    assert store.threads_needing_a_wake() == [THREAD]
    turn = store.open_turn(lease, "en", "model")
    store.take_mail(lease, turn.id, [store.unread(THREAD)[0].id], [])
    assert store.threads_needing_a_wake() == [THREAD]
    for status in ("waiting", "done", "stopped", "failed"):
        store.set_turn_status(lease, turn.id, status)  # type: ignore[arg-type]
        assert store.threads_needing_a_wake() == []
    store.record_message(message(ts="100.000002"))
    assert store.threads_needing_a_wake() == [THREAD]


# --- files, reports, outbox, nodes


def stored(name: str, sha256: str = "0" * 64) -> StoredFile:
    return StoredFile(name=name, mimetype="text/csv", size=3_000_000_000, sha256=sha256)


def test_the_files_of_a_thread_keep_their_order_and_are_kept_once(store: Store, lease: Lease) -> None:
    files = [stored("b.csv"), stored("a.csv"), stored("b.csv", "1" * 64)]
    for file in [*files, files[0]]:
        store.add_thread_file(lease, file)
    assert store.thread_files(THREAD) == files


def test_the_first_report_of_a_turn_stands(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "model")
    assert store.report(turn.id) is None
    store.save_report(lease, turn.id, "# First", [stored("report.md")])
    store.save_report(lease, turn.id, "# Second", [])
    report = store.report(turn.id)
    assert report is not None
    assert (report.markdown, report.files) == ("# First", (stored("report.md"),))


def test_an_outbox_row_is_fresh_once(store: Store, lease: Lease) -> None:
    first = store.outbox_begin(lease, "t1:card", "chat.postMessage", {"text": "hi"})
    again = store.outbox_begin(lease, "t1:card", "chat.postMessage", {"text": "something else"})
    assert (first.fresh, first.status, first.payload) == (True, "sending", {"text": "hi"})
    assert (again.fresh, again.status, again.payload) == (False, "sending", {"text": "hi"})


def test_an_outbox_row_keeps_what_slack_replied(store: Store, lease: Lease) -> None:
    store.outbox_begin(lease, "t1:files", "files.completeUploadExternal", {})
    store.outbox_note(lease, "t1:files", {"file_ids": ["F1"]})
    noted = store.outbox_get("t1:files")
    assert noted is not None
    assert (noted.status, noted.response) == ("sending", {"file_ids": ["F1"]})
    store.outbox_done(lease, "t1:files", "5.1", {"ok": True})
    row = store.outbox_begin(lease, "t1:files", "files.completeUploadExternal", {})
    assert (row.status, row.ts, row.response, row.fresh) == ("sent", "5.1", {"ok": True}, False)
    assert store.outbox_get("nothing") is None


def test_a_row_that_is_known_to_be_unsent_is_taken_up_like_a_new_one(store: Store, lease: Lease) -> None:
    store.outbox_begin(lease, "t1:files", "files.completeUploadExternal", {"files": ["a.csv"]})
    store.outbox_note(lease, "t1:files", {"file_ids": ["F1"]})
    store.outbox_unsent(lease, "t1:files", "no slot")
    left = store.outbox_get("t1:files")
    assert left is not None
    assert (left.status, left.response) == ("unsent", {"file_ids": ["F1"], "error": "no slot"})
    again = store.outbox_begin(lease, "t1:files", "files.completeUploadExternal", {"files": ["b.csv"]})
    assert (again.fresh, again.status, again.payload) == (True, "sending", {"files": ["b.csv"]})
    assert not store.outbox_begin(lease, "t1:files", "files.completeUploadExternal", {}).fresh


def test_a_row_that_came_to_no_end_is_taken_up_by_one_of_several(store: Store) -> None:
    store.record_message(message())
    with ThreadPoolExecutor(4) as pool:
        for number in range(25):
            key, begin = f"shared{number}", threading.Barrier(4, timeout=PATIENCE_S)
            row = store.outbox_begin(None, key, "chat.postMessage", {}, thread_id=THREAD)

            def take_up(_: int, row: OutboxRow = row, begin: threading.Barrier = begin) -> bool:
                begin.wait()
                return store.outbox_take_up(row)

            assert sum(pool.map(take_up, range(4))) == 1
            store.outbox_done(None, key, "1.2", {})
            assert not store.outbox_take_up(row)


def test_an_unsent_row_that_several_take_up_at_the_same_moment_is_fresh_for_one(store: Store) -> None:
    store.record_message(message())
    with ThreadPoolExecutor(4) as pool:
        for number in range(25):
            key, begin = f"shared{number}", threading.Barrier(4, timeout=PATIENCE_S)
            store.outbox_begin(None, key, "chat.postMessage", {}, thread_id=THREAD)
            store.outbox_unsent(None, key, "no slot")

            def press(_: int, key: str = key, begin: threading.Barrier = begin) -> bool:
                begin.wait()
                return store.outbox_begin(None, key, "chat.postMessage", {}, thread_id=THREAD).fresh

            assert sum(pool.map(press, range(4))) == 1


def test_a_row_knows_the_newest_message_of_ours_that_stood_there_before_it(store: Store, lease: Lease) -> None:
    store.record_message(message(ts="200.1", root_ts="200.1"))
    store.outbox_begin(None, "other", "chat.postMessage", {}, thread_id="T1:C1:200.1")
    store.outbox_done(None, "other", "1800000000.000001", {})
    assert store.outbox_begin(lease, "a", "chat.postMessage", {}).after_ts is None
    store.outbox_done(lease, "a", "1700000000.000005", {})
    assert store.outbox_begin(lease, "b", "chat.postMessage", {}).after_ts == "1700000000.000005"
    store.outbox_done(lease, "b", "1700000000.000009", {})
    assert store.outbox_begin(lease, "b", "chat.postMessage", {}).after_ts == "1700000000.000005"
    assert store.outbox_known(THREAD) == {"1700000000.000005", "1700000000.000009"}


def test_what_slack_has_is_not_kept_in_the_outbox(store: Store, lease: Lease) -> None:
    store.outbox_begin(lease, "a", "chat.postMessage", {"text": "the secret of the house"})
    store.outbox_done(lease, "a", "1700000000.000005", {"ts": "1700000000.000005"})
    row = store.outbox_get("a")
    assert row is not None
    assert row.payload == {}


def test_files_that_nobody_has_seen_in_their_thread_are_found_until_that_is_settled(store: Store, lease: Lease) -> None:
    for key in ("seen", "unseen", "post", "sending"):
        method = "chat.postMessage" if key == "post" else "files.completeUploadExternal"
        store.outbox_begin(lease, key, method, {})
    store.outbox_done(lease, "seen", "1700000000.000001", {})
    store.outbox_done(lease, "unseen", "", {"names": ["a.csv"]})
    store.outbox_done(lease, "post", "", {})
    assert [(row.key, row.response) for row in store.outbox_unshown(THREAD)] == [("unseen", {"names": ["a.csv"]})]
    store.outbox_dropped(lease, "unseen")
    assert store.outbox_unshown(THREAD) == []


def test_the_bot_sends_without_a_lease_but_must_name_the_thread(store: Store) -> None:
    store.record_message(message())
    assert store.outbox_begin(None, "help", "chat.postMessage", {}, thread_id=THREAD).thread_id == THREAD
    with pytest.raises(ValueError, match="thread id"):
        store.outbox_begin(None, "help2", "chat.postMessage", {})


def test_the_node_of_a_thread_is_remembered_and_forgotten(store: Store, lease: Lease) -> None:
    assert store.thread_node(THREAD) is None
    store.set_thread_node(lease, "alpha")
    assert store.thread_node(THREAD) == "alpha"
    store.set_thread_node(lease, None)
    assert store.thread_node(THREAD) is None


# --- exported sessions


def test_the_exported_session_and_the_one_before_it_are_remembered(store: Store, lease: Lease) -> None:
    assert store.exported_session(THREAD) is None
    store.set_exported_session(lease, ExportedRow("a" * 64, bytes=5))
    store.set_exported_session(lease, ExportedRow("b" * 64, "a" * 64, 7))
    assert store.exported_session(THREAD) == ExportedRow("b" * 64, "a" * 64, 7)


def test_bytes_of_exported_sessions_are_summed_by_node_and_team_and_move_with_their_thread(
    store: Store, lease: Lease
) -> None:
    store.record_message(message(ts="200.000001", root_ts="200.000001"))
    other = lease_of(store, "T1:C1:200.000001")
    for each in (lease, other):
        store.set_thread_node(each, "alpha")
    store.set_exported_session(lease, ExportedRow("a" * 64, bytes=100))
    store.set_exported_session(other, ExportedRow("b" * 64, bytes=10))
    store.set_exported_session(lease, ExportedRow("c" * 64, "a" * 64, 70))
    assert store.exported_bytes(THREAD) == ExportedBytes(thread=70, node=80, team=80)
    store.set_thread_node(lease, "beta")
    assert store.exported_bytes(THREAD) == ExportedBytes(thread=70, node=70, team=80)
    assert store.exported_bytes(other.thread_id) == ExportedBytes(thread=10, node=10, team=80)
    store.set_thread_node(lease, "beta")
    assert store.exported_bytes(THREAD).node == 70
    with pytest.raises(KeyError):
        store.exported_bytes("T1:C1:300.000001")


def test_an_exported_session_that_is_forgotten_or_purged_counts_no_longer(store: Store) -> None:
    leases = [Lease(thread_id=thread, token=1, owner="a") for thread in (THREAD, "T1:C1:200.000001")]
    for lease in leases:
        root = lease.thread_id.rpartition(":")[2]
        store.record_message(message(ts=root, root_ts=root))
        store.set_thread_node(lease, "alpha")
        store.set_exported_session(lease, ExportedRow("a" * 64, "b" * 64, 50))
    store.forget_contents(leases[0], ["a" * 64], [])
    assert store.exported_session(THREAD) is None
    assert store.exported_bytes(THREAD) == ExportedBytes(thread=0, node=50, team=50)
    store.purge_thread(leases[1].thread_id)
    assert store.exported_session(leases[1].thread_id) is None
    assert store.exported_bytes(THREAD) == ExportedBytes(thread=0, node=0, team=0)


def test_a_purge_by_age_leaves_a_thread_in_which_something_happened_since(store: Store) -> None:
    before = datetime.now(UTC)
    store.record_message(message(ts="100.000001"))
    assert store.purge_thread(THREAD, older_than=before) is None
    assert len(store.unread(THREAD)) == 1
    assert store.purge_thread(THREAD, older_than=datetime.now(UTC)) == 1
    assert store.unread(THREAD) == []


def test_a_purge_by_age_leaves_a_thread_in_which_we_posted_since(store: Store, lease: Lease) -> None:
    before = datetime.now(UTC)
    store.outbox_begin(None, "schedule:paused", "chat.postMessage", {"text": "paused"}, thread_id=THREAD)
    with store._database.writing() as db:
        long_ago = before - timedelta(days=90)
        db.execute(tables.threads.update().values(created_at=long_ago))
        db.execute(tables.messages.update().values(received_at=long_ago))
    assert store.purgeable(older_than=before) == []
    assert store.purge_thread(THREAD, older_than=before) is None
    assert store.purgeable(older_than=datetime.now(UTC)) == [THREAD]


def test_a_purge_by_age_leaves_a_thread_whose_report_is_still_made_again(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "m")
    FENCED["add_schedule"](store, lease, turn.id)
    store.set_turn_status(lease, turn.id, "done")
    (schedule,) = store.schedules(THREAD)
    assert store.purgeable(older_than=datetime.now(UTC)) == []
    assert store.purge_thread(THREAD, older_than=datetime.now(UTC)) is None
    store.set_schedule_state(schedule.id, "paused")
    assert store.purgeable(older_than=datetime.now(UTC)) == [THREAD]
    store.set_schedule_state(schedule.id, "stopped")
    assert store.purgeable(older_than=datetime.now(UTC)) == [THREAD]


def test_a_deleted_message_that_called_for_a_talk_is_no_mail_any_more(store: Store) -> None:
    store.record_message(message(ts="100.000009", root_ts="100.000001", mention=True))
    assert store.unread(THREAD)[0].talk_wanted
    store.delete_message("T1", "C1", "100.000009")
    assert store.unread(THREAD) == []


def test_the_sentence_that_ordered_a_schedule_leaves_with_its_message(store: Store, lease: Lease) -> None:
    turn = store.open_turn(lease, "en", "m")
    store.record_message(message(ts="100.000002", text="every day", kind="schedule"))
    FENCED["add_schedule"](store, lease, turn.id)
    assert store.schedules(THREAD)[0].said == "every day"
    store.delete_message("T1", "C1", "100.000002")
    assert store.schedules(THREAD)[0].said == "[…]"


def test_a_description_leaves_with_its_message_and_a_later_one_stays(store: Store, lease: Lease) -> None:
    store.record_message(message(ts="100.000002", text="describe: the  merger", kind="describe"))
    store.record_message(message(ts="100.000003", text="describe: the shops", kind="describe"))
    store.describe_thread(lease, "U1", "the shops")
    store.delete_message("T1", "C1", "100.000002")
    assert store.description_of(THREAD) == "the shops"
    store.describe_thread(lease, "U1", "the shops")
    store.delete_message("T1", "C1", "100.000003")
    assert store.description_of(THREAD) == ""


def test_a_message_that_is_deleted_while_its_talk_is_read_stays_deleted(store: Store, lease: Lease) -> None:
    store.record_message(message(ts="100.000009", text="the merger", root_ts="100.000001"), quiet=True)
    caller = message(ts="100.000009", text="the merger", root_ts="100.000001")  # as it was read
    store.delete_message("T1", "C1", "100.000009")
    store.take_talk(lease, [caller], [])
    assert store.written("T1", "C1", "100.000009") is None
    assert [mail.ts for mail in store.unread(THREAD)] == ["100.000001"]


# --- many at once


def test_two_processes_worth_of_connections_write_without_losing_anything(store_url: str, store: Store) -> None:
    second = Store(store_url)
    stores = [store, second]

    def write(number: int) -> bool:
        return stores[number % 2].record_message(message(ts=f"100.{number:06d}", text=str(number))).new

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write, range(2, 82)))
    second.close()
    assert [mail.text for mail in store.unread(THREAD)] == [str(number) for number in range(2, 82)]


def test_leases_taken_at_the_same_time_get_different_tokens(store: Store) -> None:
    store.record_message(message())
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: store.raise_fence(THREAD), range(24)))
    assert sorted(tokens) == list(range(1, 25))


def test_an_error_of_the_database_quotes_no_row(store: Store, lease: Lease) -> None:
    planted = "the merger is called Nightingale"
    turn = store.open_turn(lease, "en", "m")
    with pytest.raises(SQLAlchemyError) as refused, store._database.writing() as db:
        # A row without its time: Postgres would quote the whole of it, SQLAlchemy the parameters.
        db.execute(
            text("INSERT INTO reports VALUES (:turn, :words, :files, NULL)"),
            [{"turn": turn.id, "words": planted, "files": "[]"}],
        )
    assert planted not in outline(refused.value)
    assert f"'words': '{planted}'" not in str(refused.value)


def test_a_line_of_the_audit_can_be_added_and_nothing_else(store: Store) -> None:
    for _ in range(2):
        store.audit("U1", "reset", THREAD, "done", key="once")
    store.audit("cli:ana@here", "purge", THREAD, "done", details={"messages": 3})
    for change in ("UPDATE audit SET actor = 'U2'", "DELETE FROM audit"):
        with pytest.raises(SQLAlchemyError, match="append-only"), store._database.writing() as db:
            db.execute(text(change))
    lines = store.audit_lines()
    assert [(line.actor, line.action, dict(line.details)) for line in lines] == [
        ("U1", "reset", {}),
        ("cli:ana@here", "purge", {"messages": 3}),
    ]
    assert store.audit_lines(actor="U1") == lines[:1]
    assert store.audit_lines(since=lines[0].at, resource="T1:C1:9.0") == []


def test_a_thread_is_known_once_a_message_of_it_is_kept(store: Store) -> None:
    key = ThreadKey.parse(THREAD)
    store.note_thread(key)
    assert not store.knows_thread(key)
    store.record_message(message())
    assert store.knows_thread(key)
    assert store.thread_asker(THREAD) == "U1"


def test_messages_that_are_dropped_were_never_there(store: Store, lease: Lease) -> None:
    (mine,) = store.unread(THREAD)
    store.drop_messages(lease, [mine.id])
    assert store.unread(THREAD) == []
    assert store.record_message(message()).new
