"""What users of such bots complain of, tried in whole turns; docs/mission.md names the tests of other complaints."""

from __future__ import annotations

import pytest
from turn_world import ANA, BEN, Json, Meanwhile, NewWorld, World, cell, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

SEVEN, EIGHT = finish("North sold 120 units."), finish("South sold 130 units.")


def script(world: World, *turns: list[Json]) -> Meanwhile:
    """The replies of each turn, and what the model read for them."""
    world.model = Meanwhile(ScriptedModel(turns=list(turns)), {})
    return world.model


def again(world: World, key: ThreadKey) -> None:
    """Slack delivers the thread's first message once more, and the thread is woken."""
    first = world.messages(key)[0]
    world._take_in(key, first["ts"], ANA, first["text"], "text")
    world.settle(key)


def test_a_question_that_is_delivered_again_and_again_has_one_answer_and_the_thread_goes_on(
    new_world: NewWorld,
) -> None:
    world = new_world()
    script(world, [cell("print(120)"), SEVEN], [cell("print(130)"), EIGHT])
    key = world.say("how much did the north sell?")
    for _ in range(3):
        world.settle(key)
        again(world, key)
    assert world.text(key).count("North sold 120 units.") == 1
    world.say("and the south?", thread=key)
    world.settle(key)
    again(world, key)
    assert world.text(key).count("North sold 120 units.") == 1
    assert world.text(key).count("South sold 130 units.") == 1
    assert world.statuses(key) == ["done", "done"]


@pytest.mark.parametrize("meanwhile", [True, False], ids=["while it works", "afterwards"])
def test_two_authors_are_told_apart(new_world: NewWorld, meanwhile: bool) -> None:
    world = new_world()
    model = script(world, [cell("print(120)"), SEVEN, SEVEN], [EIGHT, EIGHT])
    key = world.say("count the north", user=ANA)
    if meanwhile:
        model._then[1] = lambda: world.say("leave the south out", user=BEN, thread=key)
    world.settle(key)
    if not meanwhile:
        world.say("leave the south out", user=BEN, thread=key)
        world.settle(key)
    last = [request for request in model.requests if request.purpose == "act"][-1]
    read = "\n".join(str(message["content"]) for message in last.messages)
    for author, words in (("ana", "count the north"), ("ben", "leave the south out")):
        before = read[: read.rindex(words)].rstrip("\n> ")
        assert author in before[-200:], f"{words!r} stands without its author"
    assert read.index("count the north") < read.rindex("leave the south out")
