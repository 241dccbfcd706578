"""A message that people delete or change in Slack: the Store follows, and a turn that has read it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from patience import eventually
from planted import places
from test_bot_access import BEN, Bot, new_bot, threadbook  # noqa: F401 - fixtures
from turn_world import ANA, CHANNEL, Meanwhile, World, cell, finish, hurried, new_database

from bot.changes import change_in, follow
from bot.intake import EventContext
from core.values import ThreadKey
from workers.delivery import card
from workers.models.scripted import ScriptedModel

WORDS = "the merger is called Nightingale"
EVENT = {"type": "message", "channel": CHANNEL, "event_ts": "9.000001"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_database(tmp_path_factory.mktemp("template"))


@pytest.fixture
def world(tmp_path: Path, template: Path) -> Iterator[World]:
    with hurried(), closing(World(tmp_path / "world", template)) as made:
        yield made


def context(world: World) -> EventContext:
    return EventContext(
        team=world.slack.team,
        bot_user_id="U0FAKEBOT1",
        name_of=lambda user: user,
        knows_thread=world.store.knows_thread,
        is_strict=lambda channel: False,
    )


def deleted(ts: str) -> dict[str, Any]:
    return {
        "type": "message",
        "subtype": "message_deleted",
        "channel": CHANNEL,
        "deleted_ts": ts,
        "event_ts": "9.000001",
    }


def changed(ts: str, text: str, **message: Any) -> dict[str, Any]:
    inner = {"type": "message", "user": ANA, "ts": ts, "text": text, "edited": {"user": ANA, "ts": "9.0"}, **message}
    return {
        "type": "message",
        "subtype": "message_changed",
        "channel": CHANNEL,
        "message": inner,
        "event_ts": "9.000001",
    }


def happens(world: World, event: dict[str, Any]) -> list[str]:
    """The event comes in; returns the threads that were woken."""
    woken: list[str] = []
    change = change_in(event, context(world))
    if change is not None:
        with world._unwatched():
            follow(change, world.store, woken.append)
    return woken


def kept(world: World) -> list[str]:
    return places("Nightingale", database=world.settings.database_url)


def test_a_deleted_message_that_nobody_has_read_is_gone(world: World) -> None:
    key = world.say(WORDS)
    assert happens(world, deleted(key.root_ts)) == []
    assert kept(world) == []
    world.settle(key)
    assert world.turns(key) == []


def test_a_late_delivery_of_a_deleted_message_is_no_new_message(world: World) -> None:
    key = world.say(WORDS)
    (message,) = world.store.unread(key.id)
    happens(world, deleted(key.root_ts))
    again = type(message).__mro__[1](**message.model_dump(exclude={"id", "author", "talk_wanted"}))
    assert not world.store.record_message(again).to_notify
    assert kept(world) == []


def test_a_running_turn_ends_when_its_message_is_deleted_and_its_card_too(world: World) -> None:
    script = ScriptedModel([cell(f"print('{WORDS}'.upper())\n# {WORDS}"), finish(WORDS)])
    world.model = Meanwhile(script, {2: lambda: happens(world, deleted(key.root_ts))})
    key = world.say(f"Write this down: {WORDS}")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "The message was deleted, so I stopped" in world.text(key)
    assert "Stopped after 1 cell" in world.text(key)


def test_the_text_of_a_deleted_message_leaves_every_table(world: World) -> None:
    world.model = ScriptedModel([cell("print(1)"), finish(f"You said: {WORDS}.")])
    key = world.say(WORDS)
    world.settle(key)
    assert len(kept(world)) > 2
    assert happens(world, deleted(key.root_ts)) == []
    assert kept(world) == []
    assert world.statuses(key) == ["done"]


def test_a_message_that_is_deleted_while_its_file_is_fetched_is_not_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card, "FIRST_AFTER_S", 1_000.0)
    world.model = ScriptedModel([finish("Two.")])
    key = world.say(WORDS, files={"a.csv": b"x\n1\n"})
    world.slack.fault("download", then=lambda: happens(world, deleted(key.root_ts)))
    world.settle(key)
    assert kept(world) == []
    assert (world.statuses(key), world.text(key)) == (["done"], "")


def test_the_card_of_a_turn_whose_only_message_is_deleted_shows_no_work_any_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card, "FIRST_AFTER_S", 0.0)
    world.model = ScriptedModel([finish("Two.")])
    key = world.say(WORDS, files={"a.csv": b"x\n1\n"})

    def slowly() -> None:
        eventually(lambda: "[Stop]" in world.text(key), "the card")
        happens(world, deleted(key.root_ts))

    world.slack.fault("download", then=slowly)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "[Stop]" not in world.text(key)


def test_a_message_that_is_changed_while_its_file_is_fetched_is_read_as_it_is_now(world: World) -> None:
    world.model = ScriptedModel([cell("print(open('a.csv').read())"), finish("Two.")])
    key = world.say("count the orders", files={"a.csv": b"x\n1\n"})
    world.slack.fault("download", then=lambda: happens(world, changed(key.root_ts, "count the customers")))
    world.settle(key)
    assert [step["text"] for step in world.steps(key, "asked")] == ["count the customers"]
    assert world.statuses(key) == ["done"]


def test_what_a_deleted_message_said_a_thread_is_about_is_forgotten(world: World) -> None:
    world.model = ScriptedModel([cell("print(1)"), finish("Two.")])
    key = world.say("how many?")
    world.settle(key)
    world.say("describe: the merger called Nightingale", thread=key)
    world.settle(key)
    assert kept(world) != []
    happens(world, deleted(world.messages(key)[-2]["ts"]))
    assert kept(world) == []


def test_a_command_that_is_deleted_while_it_is_carried_out_leaves_no_words(world: World) -> None:
    world.model = ScriptedModel([cell("print(1)"), finish("Two.")])
    key = world.say("how many?")
    world.settle(key)
    world.say("describe: the merger called Nightingale", thread=key)
    ts = world.messages(key)[-1]["ts"]
    world.slack.fault("chat.postMessage", then=lambda: happens(world, deleted(ts)))
    world.settle(key)
    assert kept(world) == []
    assert world.statuses(key) == ["done"]


def test_an_unread_message_is_read_as_it_was_changed(world: World) -> None:
    key = world.say("count the orders")
    assert happens(world, changed(key.root_ts, "count the customers")) == []
    world.model = ScriptedModel([finish("Two.")])
    world.settle(key)
    assert [step["text"] for step in world.steps(key, "asked")] == ["count the customers"]


def test_a_running_turn_is_told_of_a_change(world: World) -> None:
    script = ScriptedModel([cell("print(1)"), finish("Two.")])
    world.model = Meanwhile(script, {1: lambda: happens(world, changed(key.root_ts, "count the customers"))})
    key = world.say("count the orders")
    world.settle(key)
    asked = [step["text"] for step in world.steps(key, "asked")]
    assert asked == ["count the orders", "I changed my message. It now reads: count the customers"]


def last_ts(world: World, key: ThreadKey) -> str:
    """The ts of what was last written in the thread."""
    return str(world.messages(key)[-1]["ts"])


def test_a_turn_goes_on_when_a_command_that_it_has_carried_out_is_deleted(world: World) -> None:
    asked: list[str] = []

    def asks() -> None:
        world.say("status", thread=key)
        asked.append(last_ts(world, key))

    script = ScriptedModel([cell("print(1)"), cell("print(2)"), finish("Two.")])
    world.model = Meanwhile(script, {1: asks, 3: lambda: happens(world, deleted(asked[0]))})
    key = world.say("count the orders")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "so I stopped" not in world.text(key)


def test_a_command_that_is_changed_into_words_is_not_carried_out(world: World) -> None:
    def asks() -> None:
        world.say("undo", thread=key)
        happens(world, changed(last_ts(world, key), "undo nothing, but count in euros"))

    script = ScriptedModel([cell("x = 1"), cell("print(2)"), finish("Two.")])
    world.model = Meanwhile(script, {2: asks})
    key = world.say("count the orders")
    world.settle(key)
    assert [step["text"] for step in world.steps(key, "asked")][1:] == ["undo nothing, but count in euros"]
    assert "undone" not in world.kinds(key)


def test_words_that_are_changed_into_stop_are_a_stop(world: World) -> None:
    def asks() -> None:
        world.say("stpo", thread=key)
        happens(world, changed(last_ts(world, key), "stop"))

    script = ScriptedModel([cell("x = 1"), cell("print(2)"), finish("Two.")])
    world.model = Meanwhile(script, {2: asks})
    key = world.say("count the orders")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]


def test_words_that_a_turn_works_with_and_that_are_changed_into_stop_stop_it(world: World) -> None:
    script = ScriptedModel([cell("x = 1"), cell("print(2)"), finish("Two.")])
    stops = lambda: happens(world, changed(last_ts(world, key), "stop"))  # noqa: E731
    world.model = Meanwhile(script, {1: lambda: world.say("stpo", thread=key), 2: stops})
    key = world.say("count the orders")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "The message was deleted" not in world.text(key)


def test_the_earlier_text_stays_with_its_message_until_it_is_deleted(world: World) -> None:
    key = world.say(WORDS)
    happens(world, changed(key.root_ts, "never mind, but do count"))
    assert kept(world) == ["table message_versions"]
    happens(world, deleted(key.root_ts))
    assert kept(world) == []


def test_a_change_after_the_turn_wakes_nobody(world: World) -> None:
    world.model = ScriptedModel([finish("Two.")])
    key = world.say("count the orders")
    world.settle(key)
    assert happens(world, changed(key.root_ts, "count the customers")) == []
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize(
    "event",
    [
        changed("1.000001", "hi", edited=None),
        changed("1.000001", "hi", bot_id="B1"),
        {"type": "message", "subtype": "message_deleted", "channel": CHANNEL},
        {"type": "message", "subtype": "channel_join", "channel": CHANNEL, "ts": "1.0"},
        {"type": "message", "channel": CHANNEL, "ts": "1.000001", "user": ANA, "text": "hi"},
        {"type": "message", "subtype": "message_changed"},
    ],
)
def test_what_is_no_change_of_a_persons_words_is_left_alone(world: World, event: dict[str, Any]) -> None:
    assert change_in(event, context(world)) is None


def test_the_head_of_a_thread_that_is_deleted_with_replies_below_it_is_deleted_here(world: World) -> None:
    key: ThreadKey = world.say(WORDS)
    happens(world, changed(key.root_ts, "This message was deleted.", subtype="tombstone", user="USLACKBOT"))
    assert kept(world) == []


def test_a_message_that_is_not_ours_is_nothing_to_us(world: World) -> None:
    assert happens(world, deleted("1.000001")) == []
    assert happens(world, changed("1.000001", "hello there")) == []


def test_a_mention_without_words_that_gets_them_later_is_a_question(threadbook: Bot) -> None:  # noqa: F811
    posted = threadbook.slack.say("<@U0BOT00001>", user=BEN)
    ts, team = str(posted["ts"]), threadbook.slack.team
    for kind in ("app_mention", "message"):
        threadbook.handler.take_event({**posted, "type": kind, "channel": CHANNEL}, team, "U0BOT00001")
    assert threadbook.store.threads_needing_a_wake() == []
    event = changed(ts, "<@U0BOT00001> how many orders?", user=BEN)
    for _ in range(2):
        threadbook.handler.take_event(event, team, "U0BOT00001")
    key = ThreadKey(team, CHANNEL, ts)
    assert threadbook.store.threads_needing_a_wake() == [key.id]
    assert [mail.text for mail in threadbook.store.unread(key.id)] == ["how many orders?"]
    message = threadbook.slack.thread(ts)[0]
    assert [sign["name"] for sign in message["reactions"]] == ["eyes"]


@pytest.mark.parametrize(
    ("first", "then", "read"),
    [
        ("help", "help me to count the orders", ["help me to count the orders"]),
        ("note: it is urgent", "how many orders?", ["how many orders?"]),
        ("note: it is urgent", "note: it is not urgent", []),
        ("leave", "leave now please", []),
        ("help", "find: orders", []),
    ],
)
def test_a_command_that_got_its_answer_and_is_changed_into_a_question_is_one(
    threadbook: Bot,  # noqa: F811
    first: str,
    then: str,
    read: list[str],
) -> None:
    posted = threadbook.slack.say(f"<@U0BOT00001> {first}", user=BEN)
    ts = str(posted["ts"])
    take(threadbook, {**posted, "type": "app_mention", "channel": CHANNEL})
    assert mail(threadbook, ts) == []
    take(threadbook, changed(ts, f"<@U0BOT00001> {then}", user=BEN))
    assert mail(threadbook, ts) == read
    thread = ThreadKey(threadbook.slack.team, CHANNEL, ts)
    assert threadbook.store.threads_needing_a_wake() == [thread.id] * len(read)
    assert [message.kind for message in threadbook.store.unread(thread.id)] == ["text"] * len(read)


def take(threadbook: Bot, event: dict[str, Any]) -> None:  # noqa: F811
    threadbook.handler.take_event(event, threadbook.slack.team, "U0BOT00001")


def mail(threadbook: Bot, ts: str) -> list[str]:  # noqa: F811
    thread = ThreadKey(threadbook.slack.team, CHANNEL, ts)
    return [message.text for message in threadbook.store.unread(thread.id)]


def later(ts: str, text: str, seconds: int = 30, **message: Any) -> dict[str, Any]:
    """The event of a change so long after the message was written."""
    at = f"{int(ts.partition('.')[0]) + seconds}.000001"
    return {**changed(ts, text, user=BEN, **message), "event_ts": at}


def test_a_change_that_overtakes_its_message_is_what_is_read(threadbook: Bot) -> None:  # noqa: F811
    original = threadbook.slack.say("<@U0BOT00001> count the orders", user=BEN)
    ts = str(original["ts"])
    take(threadbook, later(ts, "<@U0BOT00001> count the customers"))
    for kind in ("app_mention", "message"):
        take(threadbook, {**original, "type": kind, "channel": CHANNEL})
    assert mail(threadbook, ts) == ["count the customers"]


def test_a_mention_that_is_edited_into_a_message_is_a_question(threadbook: Bot) -> None:  # noqa: F811
    original = threadbook.slack.say("count the orders", user=BEN)
    ts = str(original["ts"])
    take(threadbook, {**original, "type": "message", "channel": CHANNEL})
    for _ in range(2):
        take(threadbook, later(ts, "<@U0BOT00001> count the orders"))
    assert mail(threadbook, ts) == ["count the orders"]


def test_a_changed_reply_that_overtakes_its_message_is_read_and_older_talk_is_not(threadbook: Bot) -> None:  # noqa: F811
    root = str(threadbook.slack.say("lunch?", user=BEN)["ts"])
    talk = str(threadbook.slack.say("at noon", user=BEN, thread_ts=root)["ts"])
    threadbook.say("<@U0FAKEBOT1> count the orders", thread_ts=root)
    reply = str(threadbook.slack.say("and the customers", user=BEN, thread_ts=root)["ts"])
    take(threadbook, later(reply, "and the shops", thread_ts=root))
    take(threadbook, later(talk, "at one", thread_ts=root))
    assert mail(threadbook, root) == ["count the orders", "and the shops"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("count the customers", 30), ("<@U0BOT00001> count the customers", 4_000)]
)
def test_a_change_of_a_message_that_is_not_for_us_or_is_old_is_no_question(
    threadbook: Bot,  # noqa: F811
    text: str,
    seconds: int,
) -> None:
    ts = str(threadbook.slack.say("count the orders", user=BEN)["ts"])
    take(threadbook, later(ts, text, seconds))
    assert mail(threadbook, ts) == []


def test_a_message_whose_deletion_overtakes_it_is_no_question(threadbook: Bot) -> None:  # noqa: F811
    original = threadbook.slack.say("<@U0BOT00001> count the orders", user=BEN)
    ts = str(original["ts"])
    take(threadbook, deleted(ts))
    take(threadbook, {**original, "type": "message", "channel": CHANNEL})
    take(threadbook, later(ts, "<@U0BOT00001> count the customers"))
    assert mail(threadbook, ts) == []


def test_a_message_that_is_deleted_while_it_is_taken_in_is_no_question(
    threadbook: Bot,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = threadbook.slack.say("<@U0BOT00001> count the orders", user=BEN)
    ts = str(original["ts"])
    takes = threadbook.handler.take

    def slowly(*message: Any) -> None:
        take(threadbook, deleted(ts))
        takes(*message)

    monkeypatch.setattr(threadbook.handler, "take", slowly)
    take(threadbook, {**original, "type": "message", "channel": CHANNEL})
    assert mail(threadbook, ts) == []
