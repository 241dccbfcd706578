"""Who mentions the bot while the Store takes nothing in is told once, by Slack alone."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from patience import eventually

import bot.connection.retry_buffer
from bot.connection.retry_buffer import RetryBuffer
from bot.store_outage import StoreOutage
from core.slack.fake import FakeSlack
from core.slack.writing.writer import SlackWriter
from core.spool import Spool, Spooled
from core.store import Store, StoreUnreachable

CHANNEL = "C0SALES001"


def mention(slack: FakeSlack, ts: str = "100.000001", **more: Any) -> Spooled:
    event = {"type": "app_mention", "channel": CHANNEL, "ts": ts, "user": "U1", "text": "what sold best?"} | more
    return Spooled(event, slack.team, "U0BOT")


@pytest.fixture
def slack() -> FakeSlack:
    return FakeSlack()


@pytest.fixture
def outage(slack: FakeSlack, tmp_path: Path) -> StoreOutage:
    nowhere = Store(f"sqlite:///{tmp_path}/nowhere.db")  # without a table: whoever asks it fails
    return StoreOutage(lambda team: SlackWriter(slack.client(), nowhere))


def whispers(slack: FakeSlack) -> list[Mapping[str, Any]]:
    return [arguments for method, arguments in slack.calls if method == "chat.postEphemeral"]


@pytest.mark.parametrize(("is_kept", "says"), [(True, "is kept on my disk"), (False, "is not kept")])
def test_the_author_is_told_what_is_kept_and_what_to_do(
    slack: FakeSlack, outage: StoreOutage, *, is_kept: bool, says: str
) -> None:
    outage.tell(mention(slack), is_kept=is_kept)
    (told,) = whispers(slack)
    assert says in told["text"]
    assert (told["user"], told["channel"], told.get("thread_ts")) == ("U1", CHANNEL, None)


def test_in_a_thread_with_replies_the_words_are_in_the_thread(slack: FakeSlack, outage: StoreOutage) -> None:
    outage.tell(mention(slack, thread_ts="99.000001"), is_kept=True)
    assert whispers(slack)[0]["thread_ts"] == "99.000001"


@pytest.mark.parametrize(
    "more", [{"type": "message"}, {"bot_id": "B1"}, {"user": "U0BOT"}, {"subtype": "message_changed"}]
)
def test_of_what_may_be_meant_for_others_nobody_is_told(
    slack: FakeSlack, outage: StoreOutage, more: Mapping[str, Any]
) -> None:
    outage.tell(mention(slack, **more), is_kept=True)
    assert whispers(slack) == []


def test_each_event_that_waits_is_told_once(slack: FakeSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot.connection.retry_buffer, "TELL_AFTER_S", 0.0)
    told: list[tuple[str, bool]] = []
    works, tries = threading.Event(), [0]

    def take(_: Spooled) -> None:
        tries[0] += 1
        if not works.is_set():
            raise StoreUnreachable("the disk is full")

    buffer = RetryBuffer(
        take, Spool(tmp_path), every_s=0.001, tell=lambda one, is_kept: told.append((one.event["type"], is_kept))
    )
    buffer.add(mention(slack, type="message"))
    buffer.add(mention(slack))
    buffer.add(mention(slack, ts="100.000002"))
    eventually(lambda: tries[0] > 50 and len(told) > 2, "some tries")
    works.set()
    assert sorted(told) == [("app_mention", True), ("app_mention", True), ("message", True)]
