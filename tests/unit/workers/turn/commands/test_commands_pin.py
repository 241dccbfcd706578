"""pin and unpin hold for everybody, are said once, and survive a worker that dies."""

from __future__ import annotations

from turn_world import BEN, World, finish

from workers.models.scripted import ScriptedModel


def test_a_thread_is_pinned_for_everybody_until_somebody_takes_the_pin_away(world: World) -> None:
    world.model = ScriptedModel([finish("Done.")])
    key = world.say("which region wins?")
    world.settle(key)
    for word, pinned, says in (
        ("pin", True, "ben pinned this thread"),
        ("unpin", False, "ben removed the pin"),
        ("取消置顶", False, "没有置顶"),
    ):
        world.say(word, thread=key, user=BEN)
        world.settle(key)
        assert [one.thread_id for one in world.store.find_threads(pinned=True)] == ([key.id] if pinned else [])
        assert says in world.text(key).splitlines()[-1]
    world.say("pin", thread=key, user=BEN)
    world.settle(key)
    world.say("pin this thread!", thread=key)
    world.settle(key)
    assert "pinned already" in world.text(key)
    assert world.statuses(key) == ["done"]
