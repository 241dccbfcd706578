"""`[sandbox] imports`: a cell that imports what the team has not listed is not run, whoever wrote it."""

from __future__ import annotations

import pytest
from test_clean_rooms_second_route import FIRST_CODE, READ, REPORT, TOTAL, asked, route, second
from turn_world import BEN, NewWorld, World, cell

LISTED = '[sandbox]\nimports = ["base", "csv"]\n'
ON = f'{LISTED}[check]\nsecond_route = "headline"\n'


@pytest.fixture
def listed(new_world: NewWorld) -> World:
    """A team that lets cells import csv and the base."""
    return new_world(team=LISTED)


def test_a_cell_that_imports_what_is_not_listed_is_not_run_and_the_model_is_told_the_list(listed: World) -> None:
    key = asked(listed, script=[cell(f"import os\n{READ}"), cell(f"{READ}\n{FIRST_CODE}"), REPORT])
    first, then = listed.steps(key, "cell")
    assert (first["status"], then["status"]) == ("error", "ok")
    assert first["stdout"] == ""
    assert "os is not" in first["error"]
    assert "collections" in first["error"]
    assert listed.statuses(key) == ["done"]


def test_a_cell_within_the_list_runs(listed: World) -> None:
    key = asked(listed, script=[cell(READ), cell(f"import math\n{FIRST_CODE}"), REPORT])
    assert [step["status"] for step in listed.steps(key, "cell")] == ["ok", "ok"]


def test_the_code_of_a_person_is_held_to_the_list_too(listed: World) -> None:
    key = asked(listed, script=[cell(f"{READ}\n{FIRST_CODE}"), REPORT])
    listed.say("run\n```python\nimport subprocess\nprint('ran')\n```", thread=key, user=BEN)
    listed.settle(key)
    own = listed.steps(key, "cell")[-1]
    assert (own["status"], own["stdout"]) == ("error", "")
    assert "subprocess is not" in listed.text(key)


def test_a_second_way_is_held_to_the_list_too(new_world: NewWorld) -> None:
    world = new_world(team=ON)
    key = asked(world, route(f"import os\n{READ}\n{TOTAL}"), script=[cell(READ), cell(FIRST_CODE), REPORT])
    assert not world.steps(key, "route_began")
    assert second(world, key)["state"] != "agrees"
    assert world.statuses(key) == ["done"]


def test_without_a_list_every_module_may_be_imported(new_world: NewWorld) -> None:
    world = new_world()
    key = asked(world, script=[cell(f"import os\n{READ}\n{FIRST_CODE}"), REPORT])
    assert [step["status"] for step in world.steps(key, "cell")] == ["ok"]
