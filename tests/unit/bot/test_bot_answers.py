"""A pressed option is a claim; the Store decides whether its question is open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_bot_access import BEN, Bot, new_bot, threadbook  # noqa: F401 - fixtures

from bot.intake import Ignored
from bot.presses.answers import to_answer
from core.steps import Asked, GaveUp, Questioned, Resumed, Step, UnknownStep
from core.store import Store
from core.values import IncomingMessage, Lease

THREAD = "T1:C1:1.0"
QUESTION = Questioned(call_id="c1", question="Which one?", options=("net", "gross " * 30, " ", "both"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    opened.record_message(
        IncomingMessage(team="T1", channel="C1", channel_type="channel", ts="1.0", root_ts="1.0", user="U1", text="hi")
    )
    yield opened
    opened.close()


@pytest.fixture
def lease(store: Store) -> Lease:
    return Lease(thread_id=THREAD, token=store.raise_fence(THREAD), owner="test")


@pytest.fixture
def turn_id(store: Store, lease: Lease) -> str:
    turn = store.open_turn(lease, "en", "model")
    store.append_step(lease, turn.id, QUESTION)
    store.set_turn_status(lease, turn.id, "waiting")
    return turn.id


def press(turn_id: str, *, call: str = "c1", n: object = 0, channel: str = "C1", user: str = "U2") -> dict[str, Any]:
    return {
        "type": "block_actions",
        "user": {"id": user},
        "container": {"type": "message", "channel_id": channel, "message_ts": "2.0", "thread_ts": "1.0"},
        "actions": [{"action_id": "answer:0", "value": json.dumps({"turn": turn_id, "call": call, "n": n})}],
    }


def test_a_press_is_a_message_with_the_options_full_words(store: Store, turn_id: str) -> None:
    assert to_answer(press(turn_id, n=1), "T1", store) == IncomingMessage(
        team="T1",
        channel="C1",
        channel_type="channel",
        ts="2.0",
        root_ts="1.0",
        user="U2",
        text="gross " * 30,
        kind="answer",
        mention=True,
    )


def test_options_are_counted_as_the_buttons_are(store: Store, turn_id: str) -> None:
    answer = to_answer(press(turn_id, n=2), "T1", store)
    assert isinstance(answer, IncomingMessage)
    assert answer.text == "both"


def test_of_two_who_press_the_first_has_answered(store: Store, turn_id: str) -> None:
    for n, user in ((0, "U2"), (1, "U3")):
        answer = to_answer(press(turn_id, n=n, user=user), "T1", store)
        assert isinstance(answer, IncomingMessage)
        store.record_message(answer)
    (kept,) = [mail for mail in store.unread(THREAD) if mail.kind == "answer"]
    assert (kept.user, kept.text) == ("U2", "net")


def test_a_question_that_was_answered_is_no_longer_open(store: Store, lease: Lease, turn_id: str) -> None:
    store.append_step(lease, turn_id, Asked(user="U2", author="Ben", text="net", ts="2.0"))
    assert to_answer(press(turn_id), "T1", store) == Ignored("a question that is no longer open")


@pytest.mark.parametrize(
    "step",
    [
        GaveUp(reason="stopped", text="Stopped."),
        Resumed(user="U2", author="Ben", text="continue", ts="2.0"),
        UnknownStep(body={"kind": "danced"}),
    ],
    ids=lambda step: step.kind,
)
def test_only_a_persons_text_answers_a_question(store: Store, lease: Lease, turn_id: str, step: Step) -> None:
    store.append_step(lease, turn_id, step)
    assert isinstance(to_answer(press(turn_id), "T1", store), IncomingMessage)


def test_a_press_right_before_its_turn_waits_counts(store: Store, lease: Lease, turn_id: str) -> None:
    """The question is in the thread a moment before the worker has set the turn to waiting."""
    store.set_turn_status(lease, turn_id, "running")
    assert isinstance(to_answer(press(turn_id), "T1", store), IncomingMessage)


def test_a_turn_that_ended_waits_for_nobody(store: Store, lease: Lease, turn_id: str) -> None:
    store.set_turn_status(lease, turn_id, "stopped")
    assert to_answer(press(turn_id), "T1", store) == Ignored("a question that is no longer open")


@pytest.mark.parametrize("changes", [{"call": "c2"}, {"n": 3}, {"n": -1}, {"n": "x"}, {"n": None}, {"channel": "C2"}])
def test_a_press_that_does_not_fit_the_question_says_nothing(
    store: Store, turn_id: str, changes: dict[str, Any]
) -> None:
    assert isinstance(to_answer(press(turn_id, **changes), "T1", store), Ignored)


def test_a_press_from_another_workspace_says_nothing(store: Store, turn_id: str) -> None:
    assert isinstance(to_answer(press(turn_id), "T2", store), Ignored)


@pytest.mark.parametrize(
    "body",
    [{}, {"actions": []}, {"actions": [{"value": "not json"}]}, {"actions": [{"value": "[]"}]}, press("T1:C1:1.0/t9")],
)
def test_a_malformed_press_says_nothing(store: Store, turn_id: str, body: dict[str, Any]) -> None:
    assert isinstance(to_answer(body, "T1", store), Ignored)


@pytest.mark.parametrize("word", ["Help", "find", "*help*"])
def test_an_option_that_is_a_command_elsewhere_is_the_answer(threadbook: Bot, word: str) -> None:  # noqa: F811
    asked = threadbook.say("which desk?", user=BEN)
    kept, thread_id = threadbook.store, asked.thread.id
    holder = Lease(thread_id=thread_id, token=kept.raise_fence(thread_id), owner="test")
    turn = kept.open_turn(holder, "en", "model")
    kept.take_mail(holder, turn.id, [mail.id for mail in kept.unread(thread_id)], [])
    kept.append_step(holder, turn.id, Questioned(call_id="c1", question="Which desk?", options=("Help", "Find")))
    kept.set_turn_status(holder, turn.id, "waiting")
    event = {**threadbook.slack.say(f"<@U0BOT00001> {word}", user=BEN, thread_ts=asked.ts), "type": "app_mention"}
    threadbook.handler.take_event({**event, "channel": asked.channel}, asked.team, "U0BOT00001")
    assert threadbook.kept(asked) == [word]
    assert threadbook.said(asked) == []
