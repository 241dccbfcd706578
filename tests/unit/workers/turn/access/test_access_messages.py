"""The worker asks `may` again: what its author may not do is told once and leaves no trace."""

from __future__ import annotations

from typing import Any

import pytest
from turn_world import ANA, BEN, CHANNEL, Meanwhile, NewWorld, World, cell, finish, question

from core.errors import SlackUnreachable
from core.values import IncomingMessage, ThreadKey
from workers.models.scripted import ScriptedModel

GUEST, FOREIGN = {"is_restricted": True}, {"team_id": "T0OTHER001"}
BOTH = pytest.mark.parametrize(
    ("flags", "says"), [(GUEST, "guests of this workspace"), (FOREIGN, "only for people of this workspace")]
)


def began(world: World) -> ThreadKey:
    world.model = ScriptedModel([cell("print(1)"), finish("One.")])
    key = world.say("count")
    world.settle(key)
    return key


def audit(world: World) -> list[tuple[str, str, str]]:
    return [(line.actor, line.action, line.outcome) for line in world.store.audit_lines()]


@BOTH
def test_a_stranger_or_a_guest_is_refused_with_a_sentence_and_nothing_is_kept(
    world: World, flags: dict[str, Any], says: str
) -> None:
    world.slack.flags[BEN] = flags
    key = world.say("what is the secret plan?", user=BEN)
    world.settle(key)
    assert world.turns(key) == []
    assert says in world.text(key)
    assert world.signs(key) == []
    assert not world.store.knows_thread(key)
    assert audit(world) == [(BEN, "ask", "refused")]


def test_who_is_refused_is_told_once_per_thread(world: World) -> None:
    key = began(world)
    world.slack.flags[BEN] = GUEST
    for text in ("and the north?", "hello?"):
        world.say(text, user=BEN, thread=key)
        world.settle(key)
    assert world.text(key).count("guests of this workspace") == 1
    assert world.statuses(key) == ["done"]


@BOTH
def test_a_refused_word_does_not_join_a_running_turn(world: World, flags: dict[str, Any], says: str) -> None:
    world.slack.flags[BEN] = flags
    model = ScriptedModel([cell("print(1)"), finish("One.")])
    world.model = Meanwhile(model, {1: lambda: world.say("use the other table", user=BEN, thread=key)})
    key = world.say("count")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert says in world.text(key)
    assert [step["text"] for step in world.steps(key, "asked")] == ["count"]


def test_a_stop_of_somebody_who_may_not_stops_nothing(world: World) -> None:
    world.slack.flags[BEN] = GUEST
    model = ScriptedModel([cell("print(1)"), finish("One.")])
    world.model = Meanwhile(model, {1: lambda: world.press_stop(key, user=BEN)})
    key = world.say("count")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "guests of this workspace" in world.text(key)


def test_an_answer_of_somebody_who_may_not_leaves_the_question_open(new_world: NewWorld) -> None:
    world = new_world(team='[access]\nanswer = ["asker"]\n')
    world.model = ScriptedModel([question("Gross or net?", "gross", "net"), finish("Net.")])
    key = world.say("revenue?")
    world.settle(key)
    world.press(key, "gross", user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    assert "only the person who asked here" in world.text(key)
    world.press(key, "net", user=ANA)
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_a_reset_is_asked_for_and_confirmed_by_the_asker_or_an_admin(world: World) -> None:
    key = began(world)
    world.say("reset", user=BEN, thread=key)
    world.settle(key)
    assert "only the person who asked here" in world.text(key)
    assert len(world.turns(key)) == 1
    world.say("reset", thread=key)
    world.settle(key)
    world.press(key, "Yes, reset", user=BEN)
    world.settle(key)
    assert world.statuses(key)[-1] == "waiting"
    world.press(key, "Yes, reset", user=ANA)
    world.settle(key)
    assert "The session is reset" in world.text(key)
    assert audit(world) == [
        (BEN, "reset", "refused"),
        (ANA, "reset", "done"),
        (BEN, "confirm", "refused"),
        (ANA, "confirm", "done"),
    ]


def test_a_user_group_may_be_named_for_a_channel(new_world: NewWorld) -> None:
    world = new_world(team=f'[channels.{CHANNEL}.access]\nask = ["S0SALES"]\n')
    world.model = ScriptedModel([finish("Two.")])
    world.slack.groups["S0SALES"] = [ANA]
    refused, taken = world.say("one?", user=BEN), world.say("two?", user=ANA)
    for key in (refused, taken):
        world.settle(key)
    assert (world.turns(refused), world.statuses(taken)) == ([], ["done"])
    assert "you may not do this here" in world.text(refused)


def test_words_wait_while_slack_does_not_say_who_wrote_them(world: World) -> None:
    world.model = ScriptedModel([finish("One.")])
    key = world.say("count")
    world.slack.fault("users.info", "drop_call", times=9)
    world.run(key)
    assert world.put_off(key)
    assert world.turns(key) == []
    world.slack.heal()
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_what_people_said_before_somebody_called_us_in_is_read_whoever_they_are(world: World) -> None:
    world.slack.flags[BEN] = FOREIGN
    world.model = ScriptedModel([finish("One.")])
    talk = world.slack.say("we sold one", user=BEN)
    key = ThreadKey(world.slack.team, CHANNEL, talk["ts"])
    world.say("how many?", thread=key)
    message = world.store.unread(key.id)[0]
    earlier = message.model_copy(update={"ts": talk["ts"], "user": BEN, "text": "we sold one", "mention": False})
    world.store.record_message(type(message).__mro__[1](**earlier.model_dump(exclude={"id", "author", "talk_wanted"})))
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "only for people" not in world.text(key)


def replies(world: World, key: ThreadKey, text: str, user: str) -> None:
    """A person writes in a thread of ours without a mention."""
    posted = world.slack.say(text, user=user, thread_ts=key.root_ts)
    with world._unwatched():
        world.store.record_message(
            IncomingMessage(
                team=key.team,
                channel=key.channel,
                channel_type="channel",
                ts=posted["ts"],
                root_ts=key.root_ts,
                user=user,
                text=text,
            )
        )


def test_a_reply_in_a_thread_of_ours_is_answered_though_the_mention_behind_it_is_refused(world: World) -> None:
    key = began(world)
    world.slack.flags[BEN] = GUEST
    replies(world, key, "and the north?", ANA)
    world.say("me too", user=BEN, thread=key)
    world.settle(key)
    assert [step["text"] for step in world.steps(key, "asked")] == ["and the north?"]
    assert world.text(key).count("guests of this workspace") == 1


def test_a_reply_of_somebody_who_may_not_is_refused_also_before_a_mention_of_somebody_who_may(world: World) -> None:
    key = began(world)
    world.slack.flags[BEN] = GUEST
    replies(world, key, "print every salary", BEN)
    world.say("and the north?", thread=key)
    world.settle(key)
    assert [step["text"] for step in world.steps(key, "asked")] == ["and the north?"]
    assert "guests of this workspace" in world.text(key)


def test_slack_that_cannot_be_asked_is_no_permission(world: World) -> None:
    world.slack.fault("users.info", "drop_call", times=9)
    with pytest.raises(SlackUnreachable):
        world._bot.standing(ANA, {world.slack.team})
