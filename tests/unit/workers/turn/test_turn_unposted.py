"""A thread that Slack lets nobody of us write into: who asked hears it privately, and “continue” goes on."""

from __future__ import annotations

import pytest
from turn_world import ANA, CHANNEL, Json, Meanwhile, World, cell, finish

from bot.changes import Change, follow
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel
from workers.service.backoff import MOST_CRASHES, MOST_DELAYS, Backoff

MANY = 100_000
DIRECT = f"D{ANA[1:]}"


@pytest.fixture
def asked(world: World) -> ThreadKey:
    """A question whose channel is about to refuse us."""
    world.model = ScriptedModel(turns=[[cell("x = 1"), finish("It is 1.")]])
    return world.say("how much?")


def privately(world: World) -> list[str]:
    """What the bot said to Ana in her direct message."""
    return [message_text(message) for message in direct_messages(world)]


def direct_messages(world: World) -> list[Json]:
    """The messages of Ana's direct message: each begins a thread of its own."""
    return [message for (channel, _), message in world.slack._messages.items() if channel == DIRECT]


def refuse(world: World, error: str, channel: str = CHANNEL) -> None:
    for method in ("chat.postMessage", "chat.update"):
        world.slack.fault(method, "error", times=MANY, error=error, channel=channel)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("restricted_action", "lets only some people post there"),
        ("restricted_action_thread_only_channel", "lets only some people post there"),
        ("thread_not_found", "the thread is gone"),
        ("missing_scope", "(`missing_scope`)"),
    ],
)
def test_who_asked_hears_in_a_direct_message_that_slack_refuses_our_words(
    world: World, asked: ThreadKey, error: str, words: str
) -> None:
    refuse(world, error)
    world.settle(asked)
    (said,) = privately(world)
    assert f"<#{CHANNEL}>" in said
    assert words in said
    assert "are kept" in said
    assert world.statuses(asked) == ["failed"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("is_archived", "The channel is archived"),
        ("not_in_channel", "invite me there again"),
        ("channel_not_found", "invite me there again"),
        ("restricted_action_read_only_channel", "lets only some people post there"),
        ("no_permission", "lets only some people post there"),
    ],
)
def test_they_hear_it_at_once_where_the_turn_waits_for_an_admin(
    world: World, asked: ThreadKey, error: str, words: str
) -> None:
    refuse(world, error)
    world.run(asked)
    (said,) = privately(world)
    assert words in said
    assert "for about two hours" in said


def test_they_hear_it_only_once_until_the_turn_is_given_up(world: World, asked: ThreadKey) -> None:
    refuse(world, "is_archived")
    for _ in range(MOST_DELAYS + 3):
        world.run(asked)
    assert len(privately(world)) == 1
    assert world.statuses(asked) == ["failed"]


def test_the_answer_comes_by_itself_when_the_channel_opens_again_in_time(world: World, asked: ThreadKey) -> None:
    refuse(world, "not_in_channel")
    world.run(asked)
    world.slack.heal()
    world.settle(asked)
    assert world.statuses(asked) == ["done"]
    assert "It is 1." in world.text(asked)


def test_continue_posts_the_answer_that_was_refused(world: World, asked: ThreadKey) -> None:
    refuse(world, "restricted_action")
    world.settle(asked)
    world.slack.heal()
    world.say("continue", thread=asked)
    world.settle(asked)
    assert world.statuses(asked) == ["done"]
    assert "It is 1." in world.text(asked)


def test_the_question_is_marked_as_failed_where_only_words_are_refused(world: World, asked: ThreadKey) -> None:
    refuse(world, "restricted_action")
    world.settle(asked)
    assert "eyes" not in world.signs(asked)


def test_a_direct_message_that_is_refused_too_ends_the_turn_all_the_same(
    world: World, asked: ThreadKey, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(world, "missing_scope", channel="")
    world.settle(asked)
    assert world.statuses(asked) == ["failed"]
    told = capsys.readouterr().out
    assert "thread_takes_no_posts" in told
    assert "person_not_told" in told


@pytest.mark.parametrize("error", ["token_revoked", "invalid_auth", "account_inactive"])
def test_no_direct_message_is_tried_where_the_workspace_takes_nothing_at_all(
    world: World, asked: ThreadKey, error: str
) -> None:
    refuse(world, error, channel="")
    world.run(asked)
    assert world.put_off(asked)
    assert "conversations.open" not in [method for method, _ in world.slack.calls]


def test_a_slack_that_is_away_is_no_refusal(world: World, asked: ThreadKey) -> None:
    world.slack.fault("chat.postMessage", "http_error", times=MANY, channel=CHANNEL)
    world.run(asked)
    assert world.put_off(asked)
    assert privately(world) == []


def test_a_command_that_cannot_be_told_of_in_its_thread_is_told_privately_and_left_out(
    world: World, asked: ThreadKey
) -> None:
    world.settle(asked)
    refuse(world, "is_archived")
    world.say("undo", thread=asked)
    for _ in range(MOST_CRASHES):
        Backoff(world._redis).begin(world.store.thread_state(asked.id).progress)
    world.run(asked)
    (said,) = privately(world)
    assert "The channel is archived" in said
    assert not world.works(asked)


def test_who_deleted_the_question_hears_nothing(world: World, asked: ThreadKey) -> None:
    def delete() -> None:
        world.slack.delete(asked.root_ts)
        follow(
            Change(asked.team, asked.channel, asked.root_ts, world.slack._next_ts(), None), world.store, lambda _: None
        )
        refuse(world, "thread_not_found")

    world.model = Meanwhile(world.model, {1: delete})
    world.settle(asked)
    assert privately(world) == []
