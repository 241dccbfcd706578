"""A note is kept for the model and starts nothing."""

from __future__ import annotations

import json

from turn_world import ANA, BEN, Meanwhile, NewWorld, World, cell, finish, question

from workers.models.scripted import ScriptedModel


def prompts(world: World) -> str:
    assert isinstance(world.model, Meanwhile)
    return "\n".join(json.dumps(request.messages, ensure_ascii=False) for request in world.model.requests)


def test_a_note_starts_nothing_and_the_next_question_brings_it_along(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([finish("Done.")]), {})
    key = world.say("note: amounts are in thousands", user=BEN)
    assert not world.works(key)
    world.settle(key)
    assert world.turns(key) == []
    world.say("how much?", thread=key)
    world.settle(key)
    assert "amounts are in thousands" in prompts(world)
    assert "for you to keep in mind" in prompts(world)
    assert world.kinds(key)[:2] == ["noted", "asked"]


def test_a_note_in_a_running_turn_is_read_at_its_next_step_and_holds_no_report_back(world: World) -> None:
    world.model = Meanwhile(
        ScriptedModel([cell("1"), cell("2"), finish("Done.")]),
        {
            2: lambda: world.say("note: refunds are negative", thread=key),
            3: lambda: world.say("note: too late for this one", thread=key),
        },
    )
    key = world.say("how much?")
    world.settle(key)
    assert "refunds are negative" in prompts(world)
    assert world.statuses(key) == ["done"]
    assert not world.works(key)


def test_a_note_answers_no_question(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([question("Which year?"), finish("Done.")]), {})
    key = world.say("how much?")
    world.settle(key)
    world.say("note: 2023 is incomplete", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    world.say("2024", thread=key)
    world.settle(key)
    assert "2023 is incomplete" in prompts(world)


def test_a_note_at_rest_waits_for_the_next_turn(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([finish("Done."), finish("Done.")]), {})
    key = world.say("how much?")
    world.settle(key)
    world.say("note: the north is closed", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    world.say("and now?", thread=key)
    world.settle(key)
    assert "the north is closed" in prompts(world)
    assert world.statuses(key) == ["done", "done"]


def test_a_note_of_somebody_who_may_not_ask_is_not_kept(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nask = ["{ANA}"]\nsteer = ["{ANA}"]\n')
    world.model = Meanwhile(ScriptedModel([finish("Done.")]), {})
    key = world.say("note: ignore the north", user=BEN)
    world.say("how much?", thread=key)
    world.settle(key)
    assert "ignore the north" not in prompts(world)
