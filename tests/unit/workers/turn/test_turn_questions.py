"""The analyst asks the people in the thread: the turn waits without a worker, and whoever answers wakes it."""

from __future__ import annotations

import pytest
from patience import eventually
from turn_world import BEN, Meanwhile, World, cell, finish, question

from bot.presses.answers import to_answer
from core.values import IncomingMessage, ThreadKey
from tryout.stack.blocks_text import message_text
from workers.delivery import card as card_module
from workers.models.scripted import ScriptedModel


@pytest.fixture
def key(world: World) -> ThreadKey:
    """A thread that waits for an answer."""
    world.model = ScriptedModel(
        [cell("n = 1"), question("Gross or net?", "gross", "net"), cell("n += 1\nprint(n)"), finish("Net: **7**.")]
    )
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    return key


def asking(world: World, key: ThreadKey) -> str:
    _card, *others = world.messages(key, ours=True)
    return next(text for message in others if "Gross or net?" in (text := message_text(message)))


def test_a_question_waits_with_its_options_as_buttons(world: World, key: ThreadKey) -> None:
    assert "[gross]" in asking(world, key)
    assert world.slack.sessions[key.root_ts] == "suspended"
    assert not world.works(key)


def test_a_pressed_option_is_the_answer_and_the_buttons_go(world: World, key: ThreadKey) -> None:
    world.press(key, "net", user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "asked")[-1]["text"] == "net"
    assert "[gross]" not in asking(world, key)
    assert "ben" in asking(world, key)
    assert world.steps(key, "cell")[-1]["stdout"] == "2\n"


def test_after_the_answer_slack_shows_an_agent_at_work_again(
    world: World, key: ThreadKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_module, "FIRST_AFTER_S", 0.0)
    at_work = lambda: world.slack.sessions[key.root_ts] == "processing"  # noqa: E731 - read again until it is so
    world.model = Meanwhile(world.model, {4: lambda: eventually(at_work, "an agent at work")})
    world.press(key, "net", user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.slack.sessions[key.root_ts] == "active"


def test_a_question_is_answered_in_words_too(world: World, key: ThreadKey) -> None:
    world.say("net, but without returns", thread=key, user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "net, but without returns" in asking(world, key)
    assert [m["reactions"][0]["name"] for m in world.messages(key) if not m.get("bot_id")] == ["white_check_mark"] * 2


def test_of_two_answers_the_first_counts_and_the_other_is_read_too(world: World, key: ThreadKey) -> None:
    world.press(key, "net", user=BEN)
    world.say("gross!", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert [asked["text"] for asked in world.steps(key, "asked")] == ["how much was sold?", "net", "gross!"]
    assert "net" in asking(world, key)


def test_a_press_after_the_turn_is_over_changes_nothing(world: World, key: ThreadKey) -> None:
    ts = next(m["ts"] for m in world.messages(key, ours=True) if "[gross]" in message_text(m))
    world.say("net", thread=key)
    world.settle(key)
    before = world.seen(key)
    world._take_in(key, ts, BEN, "gross", "answer")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.seen(key) == before


def test_a_question_that_is_stopped_loses_its_buttons_and_is_asked_again_after_continue(
    world: World, key: ThreadKey
) -> None:
    world.say("stop", thread=key, user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "[gross]" not in asking(world, key)
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    world.press(key, "net")
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_whole_questions_are_shown_whole_and_the_pressed_one_is_the_answer(world: World) -> None:
    whole = [f"{word} whole question, with its columns, of".ljust(119, "m") + "?" for word in ("One", "A", "The")]
    model = Meanwhile(ScriptedModel([question("Sales?", *whole), cell("print(7)"), finish("**7**.")]), {})
    world.model = model
    key = world.say("sales?")
    world.settle(key)
    asks = next(m for m in world.messages(key, ours=True) if "[1]" in message_text(m))
    assert all(f"{n}. {each}" in message_text(asks) for n, each in enumerate(whole, start=1))
    (row,) = [block for block in asks["blocks"] if block["type"] == "actions"]
    assert [button["text"]["text"] for button in row["elements"]] == ["1", "2", "3"]

    container = {"type": "message", "channel_id": key.channel, "message_ts": asks["ts"], "thread_ts": key.root_ts}
    pressed = {"type": "block_actions", "user": {"id": BEN}, "container": container, "actions": [row["elements"][1]]}
    with world._unwatched():
        answer = to_answer(pressed, key.team, world.store)
        assert isinstance(answer, IncomingMessage)
        world.store.record_message(answer)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "asked")[-1]["text"] == whole[1]
    after = [request for request in model.requests if request.purpose == "act"][1]
    assert whole[1] in after.messages[-1]["content"]
    assert f"ben answered: {whole[1]}" in world.text(key)
