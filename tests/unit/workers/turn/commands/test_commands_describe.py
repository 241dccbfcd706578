"""“describe: …” says what a thread is about; it stands wherever threads are listed, and its words are found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from turn_world import ANA, BEN, Death, Killed, NewWorld, World, finish

from core.commands.registry import command_in
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel


def talked(world: World) -> ThreadKey:
    world.model = ScriptedModel([finish("Done.")])
    key = world.say("which region wins?")
    world.settle(key)
    return key


def test_a_description_is_shown_and_found_until_it_is_taken_away(world: World) -> None:
    key = talked(world)
    world.say("describe: Kestrel  budget of March", thread=key, user=BEN)
    world.settle(key)
    assert "ben describes this thread as: Kestrel budget of March" in world.text(key)
    (found,) = world.store.find_threads(["kestrel", "region"])
    assert found.description == "Kestrel budget of March"
    assert world.store.title_of(key.id) == "Kestrel budget of March"
    since = datetime.now(UTC) - timedelta(days=1)
    assert [each.title for each in world.store.threads_of(key.team, ANA, since, 10)] == ["Kestrel budget of March"]
    world.say("描述：三月预算", thread=key)
    world.settle(key)
    assert world.store.description_of(key.id) == "三月预算"
    assert [one.thread_id for one in world.store.find_threads(["月预"])] == [key.id]
    world.say("describe:", thread=key)
    world.settle(key)
    assert world.store.description_of(key.id) == ""
    assert world.store.find_threads(["kestrel"]) == []
    assert world.store.title_of(key.id) == "which region wins?"


def test_a_question_that_begins_with_the_word_is_a_question() -> None:
    assert command_in("describe the columns") is None
    assert command_in("describe") is None
    assert command_in("describe: the columns") is not None


def test_a_description_that_is_too_long_changes_nothing(world: World) -> None:
    key = talked(world)
    world.say("describe: " + "x" * 501, thread=key)
    world.settle(key)
    assert "at most 500 characters" in world.text(key)
    assert world.store.description_of(key.id) == ""


def test_who_may_not_ask_describes_nothing(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nask = ["{ANA}"]\n')
    key = talked(world)
    world.say("describe: mine", thread=key, user=BEN)
    world.settle(key)
    assert world.store.description_of(key.id) == ""


def test_a_worker_that_dies_leaves_one_description(world: World) -> None:
    key = talked(world)
    for at in range(1, 6):
        world.say(f"describe: number {at}", thread=key)
        try:
            world.settle(key, Death(at))
        except Killed:
            world.sessions.halted = False
        world.settle(key)
        assert world.store.description_of(key.id) == f"number {at}"
        assert world.text(key).count(f"as: number {at}.") == 1


def test_a_purge_takes_the_description(world: World) -> None:
    key = talked(world)
    world.say("describe: secret", thread=key)
    world.settle(key)
    world.store.purge_thread(key.id)
    assert world.store.description_of(key.id) == ""
