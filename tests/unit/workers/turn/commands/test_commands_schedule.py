"""A schedule that is ordered in a thread: it is stored once, and told as what it is."""

from __future__ import annotations

import pytest
from turn_world import Death, NewWorld, cell, finish, question

from workers.models.scripted import ScriptedModel


@pytest.mark.parametrize("at", range(1, 8))
def test_the_last_schedule_that_a_person_may_have_is_told_as_made_by_whoever_goes_on(
    new_world: NewWorld, at: int
) -> None:
    world = new_world(team="[schedules]\nper_person = 1\n")
    world.model = ScriptedModel([cell("print(40 + 2)"), finish("It is **42**.")])
    key = world.say("how many?")
    world.settle(key)
    world.say("run this again every day at 9:00 UTC", thread=key)
    world.settle(key, Death(at))
    assert [each.state for each in world.store.schedules(key.id)] == ["active"]
    assert "Scheduled by ana" in world.text(key)
    assert "You own 1 schedules already" not in world.text(key)


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("import numpy as np\nprint('share', round(np.random.rand() * 0, 2) + 42)", True),
        ("import numpy as np\nnp.random.seed(1)\nprint('share', round(np.random.rand() * 0, 2) + 42)", False),
    ],
)
def test_code_that_draws_other_numbers_each_time_is_told_when_it_is_scheduled(
    new_world: NewWorld, code: str, is_told: bool
) -> None:
    world = new_world()
    world.model = ScriptedModel([cell(code), finish("It is **42**.")])
    key = world.say("how many?")
    world.settle(key)
    world.say("run this again every day at 9:00 UTC", thread=key)
    world.settle(key)
    assert "Scheduled by ana" in world.text(key)
    assert ("draws random numbers without a seed" in world.text(key)) == is_told


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("month = '2026-11'\nprint(month, 40 + 2)", "stay the same in each run: 2026-11. For a period"),
        ("print(40 + 2)", ""),
    ],
)
def test_the_dates_that_each_run_will_look_at_again_are_told_when_it_is_scheduled(
    new_world: NewWorld, code: str, told: str
) -> None:
    world = new_world()
    world.model = ScriptedModel([cell(code), finish("It is **42**.")])
    key = world.say("how many?")
    world.settle(key)
    world.say("run this again every day at 9:00 UTC", thread=key)
    world.settle(key)
    assert "Scheduled by ana" in world.text(key)
    assert told in world.text(key)
    assert ("stay the same in each run" in world.text(key)) == bool(told)


def test_while_a_question_is_open_nothing_is_scheduled_and_least_of_all_the_report_before_it(
    new_world: NewWorld,
) -> None:
    world = new_world()
    world.model = ScriptedModel(
        [
            cell("print(40 + 2)"),
            finish("It is **42**."),
            question("Which year?"),
            cell("print(6 * 8)"),
            finish("**48**."),
        ]
    )
    key = world.say("how many?")
    world.settle(key)
    world.say("and how many more?", thread=key)
    world.settle(key)
    world.say("run this again every day at 9:00 UTC", thread=key)
    world.settle(key)
    assert "is not answered yet, so nothing was scheduled" in world.text(key)
    assert world.store.schedules(key.id) == []
    world.say("2026", thread=key)
    world.settle(key)
    world.say("run this again every day at 9:00 UTC", thread=key)
    world.settle(key)
    assert [each.state for each in world.store.schedules(key.id)] == ["active"]
