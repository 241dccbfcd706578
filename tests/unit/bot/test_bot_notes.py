"""A note is kept with a sign and wakes nobody; one without words is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_bot_access import BEN, CHANNEL, Bot, new_bot, threadbook  # noqa: F401 - fixtures

from core.values import ThreadKey


def thread_of(bot: Bot, ts: str) -> ThreadKey:
    return ThreadKey(bot.slack.team, CHANNEL, ts)


def take(bot: Bot, text: str) -> str:
    posted = bot.slack.say(text, user=BEN)
    event = {**posted, "type": "app_mention", "channel": CHANNEL}
    bot.handler.take_event(event, bot.slack.team, "U0BOT00001")
    bot.handler.take_event(event, bot.slack.team, "U0BOT00001")
    return str(posted["ts"])


def test_a_note_is_kept_once_with_its_sign_and_wakes_nobody(threadbook: Bot) -> None:  # noqa: F811
    ts = take(threadbook, "<@U0BOT00001> note amounts are in thousands")
    thread = thread_of(threadbook, ts)
    assert threadbook.store.unread(thread.id) == []
    (note,) = threadbook.store.unread(thread.id, notes=True)
    assert (note.kind, note.text) == ("note", "note amounts are in thousands")
    assert threadbook.store.threads_needing_a_wake() == []
    (message,) = threadbook.slack.thread(ts)
    assert [sign["name"] for sign in message["reactions"]] == ["memo"]


@pytest.mark.parametrize("text", ["<@U0BOT00001> note", "<@U0BOT00001> note:  "])
def test_a_note_without_words_is_told(threadbook: Bot, text: str) -> None:  # noqa: F811
    ts = take(threadbook, text)
    assert threadbook.store.unread(thread_of(threadbook, ts).id, notes=True) == []
    assert "nothing was kept" in threadbook.slack.thread(ts)[-1]["text"]


def test_own_code_wakes_its_thread_also_where_nothing_ran_before(new_bot: Callable[..., Bot]) -> None:  # noqa: F811
    bot = new_bot()
    ts = take(bot, "<@U0BOT00001> run ```1 + 1```")
    (mail,) = bot.store.unread(thread_of(bot, ts).id)
    assert mail.kind == "run"
    assert bot.store.threads_needing_a_wake() == [thread_of(bot, ts).id]


@pytest.mark.parametrize("text", ["run ```1 + 1```", "undo", "note amounts are in thousands"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_command_with_a_file_is_a_question_whichever_event_comes_first(
    threadbook: Bot,  # noqa: F811
    text: str,
    first: int,
) -> None:
    posted = threadbook.slack.say(f"<@U0BOT00001> {text}", user=BEN, files={"sales.csv": b"a\n1\n"})
    bare = {key: value for key, value in posted.items() if key not in ("files", "subtype")}
    events = ({**bare, "type": "app_mention"}, {**posted, "type": "message"})
    for event in (events[first], events[1 - first]):
        threadbook.handler.take_event({**event, "channel": CHANNEL}, threadbook.slack.team, "U0BOT00001")
    thread = thread_of(threadbook, str(posted["ts"]))
    (mail,) = threadbook.store.unread(thread.id)
    assert (mail.kind, [file.name for file in mail.files]) == ("text", ["sales.csv"])
    assert threadbook.store.threads_needing_a_wake() == [thread.id]
