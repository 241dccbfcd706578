"""A wish for a schedule that is no whole order: the thread says what to write, and no model claims to have done it."""

from __future__ import annotations

import pytest
from turn_world import World, cell, finish, question

from workers.models.scripted import ScriptedModel


@pytest.mark.parametrize(
    ("said", "example"),
    [
        ("Mondays at 9", "every Monday 9:00 run this again"),
        ("run this again every Monday", "every Monday 9:00 run this again"),
        ("jeden Montag um 9 Uhr", "jeden Montag 9:00 noch einmal ausführen"),
        ("每周一", "每周一 9:00 重新运行"),
    ],
)
def test_half_an_order_is_answered_with_what_to_write_and_no_model_is_asked(
    world: World, said: str, example: str
) -> None:
    world.model = ScriptedModel([cell("print(40 + 2)"), finish("It is **42**.")])
    key = world.say("how many?")
    world.settle(key)
    world.model = ScriptedModel([finish("Done, I scheduled it.")])
    world.say(said, thread=key)
    world.settle(key)
    assert example in world.text(key)
    assert "I scheduled it" not in world.text(key)
    assert world.store.schedules(key.id) == []
    world.say(example, thread=key)
    world.settle(key)
    assert len(world.store.schedules(key.id)) == 1


def test_days_are_the_answer_to_an_open_question(world: World) -> None:
    world.model = ScriptedModel([question("Which days count?"), finish("Counted for Mondays.")])
    key = world.say("how many?")
    world.settle(key)
    world.say("every Monday", thread=key)
    world.settle(key)
    assert "Counted for Mondays." in world.text(key)
