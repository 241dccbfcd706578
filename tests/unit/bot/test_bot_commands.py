"""What counts as a command, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.commands import command_of, stop_from_press, stop_from_reaction, stop_from_session
from bot.intake import Ignored
from core.store import Store
from core.values import FileRef, IncomingMessage, Lease

THREAD = "T1:C1:1.0"


def message(text: str, **changes: Any) -> IncomingMessage:
    given = {"team": "T1", "channel": "C1", "channel_type": "channel", "ts": "1.0", "root_ts": "1.0", "user": "U1"}
    return IncomingMessage(**given | {"text": text} | changes)


@pytest.mark.parametrize(
    "text",
    [
        "*stop*",
        "`stop`",
        "“stop”",
        "「停止」",
        "stop",
        "STOP",
        " Stop! ",
        "please, stop.",
        "cancel",
        "Abort…",
        "停",
        "停止",
        "停止！",
        "取消。",
        "ＳＴＯＰ",
        "stop 🙏",
        "stop! :octagonal_sign: :pray::skin-tone-2:",
        "🛑 STOP",
        "stop stop stop",
        "Stop! Stop!!",
        "Stop!! Stop it!",
        "停停停",
        "停止吧 🙏",
        "bitte stop!",
        "stop, svp",
        "Stop, por favor",
        "ストップして",
    ],
)
def test_a_word_alone_stops(text: str) -> None:
    assert command_of(message(text)) == "stop"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Note moyenne par élève", None),
        ("Note je Schüler im Durchschnitt der Klasse", None),
        ("note amounts are in thousands", "note"),
        ("note 金额以千为单位", "note"),
        ("Note: la note moyenne est sur 20", "note"),
        ("notez les montants sont en milliers", "note"),
    ],
)
def test_a_question_about_marks_at_school_is_no_note(text: str, name: str | None) -> None:
    assert command_of(message(text, mention=True)) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "stop counting refunds",
        "stop 🛑 counting refunds",
        ":octagonal_sign:",
        "🛑",
        "which stop is the busiest?",
        "cancelled orders",
        "停车场收入",
        "取消的订单有多少？",
        "!",
    ],
)
def test_a_word_inside_a_question_does_not_stop(text: str) -> None:
    assert command_of(message(text)) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("remember that prices are net", "remember"),
        ("note the north is closed", "note"),
        ("what do you remember", "recall"),
        ("build", "build"),
    ],
)
def test_a_direct_message_is_to_the_bot_as_a_mention_is(text: str, command: str) -> None:
    assert command_of(message(text, channel="D1", channel_type="im")) == command
    assert command_of(message(text, mention=True)) == command
    assert command_of(message(text)) is None


def test_a_file_that_is_called_stop_does_not_stop() -> None:
    assert command_of(message("stop", files=(FileRef(id="F1", name="stop.csv"),))) is None


@pytest.mark.parametrize("text", ["build", "build: a tool that greets", "构建"])
def test_a_requirement_file_that_comes_with_the_word_build_belongs_to_it(text: str) -> None:
    assert command_of(message(text, mention=True, files=(FileRef(id="F1", name="greet.toml"),))) == "build"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A thread with a running turn, its card and the question that it read."""
    found = Store(f"sqlite:///{tmp_path / 'store.db'}")
    found.migrate()
    found.record_message(message("how much?"), "ana")
    lease = Lease(thread_id=THREAD, token=found.raise_fence(THREAD), owner="w")
    turn = found.open_turn(lease, "en", "offline")
    found.take_mail(lease, turn.id, [mail.id for mail in found.unread(THREAD)], [])
    found.outbox_begin(lease, f"{turn.id}:card", "chat.postMessage", {})
    found.outbox_done(lease, f"{turn.id}:card", "2.0", {})
    found.outbox_begin(lease, f"{turn.id}:report:0", "chat.postMessage", {})
    found.outbox_done(lease, f"{turn.id}:report:0", "3.0", {})
    yield found
    found.close()


def end(store: Store) -> None:
    lease = Lease(thread_id=THREAD, token=store.raise_fence(THREAD), owner="w")
    store.set_turn_status(lease, f"{THREAD}/t1", "done")


def reaction(ts: str, name: str = "x", channel: str = "C1") -> dict[str, Any]:
    item = {"type": "message", "channel": channel, "ts": ts}
    return {"type": "reaction_added", "user": "U2", "reaction": name, "item": item, "event_ts": "9.0"}


def press(value: str = f"{THREAD}/t1", ts: str | None = None) -> dict[str, Any]:
    container = {"channel_id": "C1", "message_ts": "2.0"}
    action = {"action_id": "stop", "value": value} | ({"action_ts": ts} if ts is not None else {})
    return {"actions": [action], "container": container, "user": {"id": "U2"}}


@pytest.mark.parametrize(
    ("text", "command"), [("undo!", "undo"), ("撤销", "undo"), ("Reset", "reset"), ("重置。", "reset")]
)
def test_the_words_for_undo_and_reset_are_commands(text: str, command: str) -> None:
    assert command_of(message(text)) == command


@pytest.mark.parametrize("ts", ["1.0", "2.0"], ids=["question", "card"])
def test_a_reaction_on_the_question_or_the_card_stops_their_turn(store: Store, ts: str) -> None:
    stop = stop_from_reaction(reaction(ts), "T1", store)
    assert isinstance(stop, IncomingMessage)
    assert (stop.kind, stop.thread.id, stop.ts, stop.user) == ("stop", THREAD, "9.0", "U2")
    end(store)
    assert isinstance(stop_from_reaction(reaction(ts), "T1", store), Ignored)


@pytest.mark.parametrize(
    "event",
    [
        reaction("1.0", "eyes"),
        reaction("3.0"),
        reaction("1.0", channel="C2"),
        reaction("2.0", channel="C2"),
        reaction("2.0", channel="%"),
        {"reaction": "x"},
        {"reaction": "x", "item": {"type": "file", "file": "F1"}},
        reaction("1.0") | {"event_ts": "now"},
        reaction("1.0") | {"user": None},
    ],
    ids=str,
)
def test_another_reaction_or_place_stops_nothing(store: Store, event: dict[str, Any]) -> None:
    assert isinstance(stop_from_reaction(event, "T1", store), Ignored)


def test_a_reaction_in_another_workspace_stops_nothing(store: Store) -> None:
    assert isinstance(stop_from_reaction(reaction("1.0"), "T2", store), Ignored)
    assert isinstance(stop_from_reaction(reaction("2.0"), "T2", store), Ignored)


def test_each_press_is_a_stop_and_its_redelivery_is_not(store: Store) -> None:
    """A turn that went on after a stop keeps its card: the button must work again."""
    stops = [stop_from_press(press(ts=ts), "T1", store) for ts in ("3.0", "3.0", "4.0")]
    assert [store.record_message(stop).new for stop in stops] == [True, False, True]
    assert store.stop_asked(THREAD)


def test_a_press_without_a_time_of_its_own_counts_once(store: Store) -> None:
    stops = [stop_from_press(press(), "T1", store) for _ in range(2)]
    assert [store.record_message(stop).new for stop in stops] == [True, False]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"actions": []},
        press("T1:C1:1.0/t9"),
        press("nonsense"),
        press() | {"user": {}},
        press() | {"user": {"id": 1}},
    ],
    ids=str,
)
def test_a_press_that_means_no_open_turn_stops_nothing(store: Store, body: dict[str, Any]) -> None:
    assert isinstance(stop_from_press(body, "T1", store), Ignored)


def test_a_press_on_the_card_of_a_turn_that_is_over_or_elsewhere_stops_nothing(store: Store) -> None:
    elsewhere = press() | {"container": {"channel_id": "C2", "message_ts": "2.0"}}
    assert isinstance(stop_from_press(elsewhere, "T1", store), Ignored)
    assert isinstance(stop_from_press(press(), "T2", store), Ignored)
    end(store)
    assert isinstance(stop_from_press(press(), "T1", store), Ignored)


def test_slacks_own_stop_stops_the_thread_that_it_names(store: Store) -> None:
    event = {"channel": "C1", "thread_ts": "1.0", "user": "U2", "event_ts": "9.0"}
    stop = stop_from_session(event, "T1", store)
    assert isinstance(stop, IncomingMessage)
    assert (stop.kind, stop.thread.id) == ("stop", THREAD)
    for broken in (event | {"thread_ts": "5.0"}, event | {"event_ts": None}, {"channel": "C1", "user": "U2"}):
        assert isinstance(stop_from_session(broken, "T1", store), Ignored)
