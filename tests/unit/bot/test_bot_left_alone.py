"""Replies that come before the mention above them: they are looked up once the bot takes part in the thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_bot_access import BEN, CHANNEL, Bot, new_bot, threadbook  # noqa: F401 - fixtures

from bot import left_alone
from bot.left_alone import LeftAlone
from core.values import IncomingMessage, ThreadKey

MENTION = "<@U0FAKEBOT1> which region sold best?"


def happens(bot: Bot, posted: dict[str, Any]) -> None:
    event = {**posted, "type": "message", "channel": CHANNEL, "channel_type": "channel"}
    bot.handler.take_event(event, bot.slack.team, "U0FAKEBOT1")


def thread_of(bot: Bot, posted: dict[str, Any]) -> ThreadKey:
    return ThreadKey(bot.slack.team, CHANNEL, posted.get("thread_ts") or posted["ts"])


def test_a_reply_that_comes_before_the_mention_above_it_is_looked_up_once(threadbook: Bot) -> None:  # noqa: F811
    root = threadbook.slack.say(MENTION, user=BEN)
    reply = threadbook.slack.say("only 2024", user=BEN, thread_ts=root["ts"])
    happens(threadbook, reply)
    assert threadbook.looked_behind == []
    for _ in range(2):
        happens(threadbook, root)
    assert threadbook.looked_behind == [(thread_of(threadbook, root).id, root["ts"])]


def test_talk_above_a_mention_and_replies_below_it_are_not_looked_up(threadbook: Bot) -> None:  # noqa: F811
    root = threadbook.slack.say("lunch?", user=BEN)
    posted = [threadbook.slack.say(text, user=BEN, thread_ts=root["ts"]) for text in ("sure", MENTION, "only 2024")]
    for each in (root, *posted, posted[1]):
        happens(threadbook, each)
    assert threadbook.looked_behind == []


def test_replies_in_a_channel_that_wants_a_mention_each_time_are_not_looked_up(new_bot: Callable[..., Bot]) -> None:  # noqa: F811
    bot = new_bot(team=f"[channels.{CHANNEL}]\nstrict_mention = true\n")
    root = bot.slack.say(MENTION, user=BEN)
    happens(bot, bot.slack.say("hm", user=BEN, thread_ts=root["ts"]))
    happens(bot, root)
    assert bot.looked_behind == []


def test_few_threads_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_alone, "MOST_THREADS", 2)
    kept = LeftAlone()
    replies = [message(root_ts=f"{number}.000001") for number in (1, 2, 3)]
    for reply in replies:
        kept.note(reply)
    roots = [reply.model_copy(update={"ts": reply.root_ts}) for reply in replies]
    assert [kept.behind(root) for root in roots] == [False, True, True]


def test_of_a_long_talk_the_latest_replies_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_alone, "MOST_REPLIES", 2)
    kept = LeftAlone()
    for second in (5, 9, 7):
        kept.note(message(root_ts="1.000001", ts=f"{second}.000001"))
    (replies,) = kept._replies.values()
    assert replies == {"7.000001", "9.000001"}


def message(*, root_ts: str, ts: str = "9.000001") -> IncomingMessage:
    return IncomingMessage(
        team="T1", channel="C1", channel_type="channel", ts=ts, root_ts=root_ts, user="U1", text="hm"
    )
