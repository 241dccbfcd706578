"""A report that comes back to the model and is mended passage by passage, through whole turns."""

from __future__ import annotations

import json

from turn_world import Json, Meanwhile, World, cell, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

LOOK = cell("print('North 120\\nSouth 88')", "Totals")
DRAFT = "North sold **4,711**.\n\n- South sold 88.\n- South is the smaller one."


def changes(*pairs: tuple[str, str]) -> Json:
    listed = [{"old": old, "new": new} for old, new in pairs]
    return {"calls": [{"name": "finish", "arguments": {"changes": listed}}]}


def ask(world: World, *replies: Json) -> ThreadKey:
    world.model = Meanwhile(ScriptedModel(list(replies)), {})
    key = world.say("How much did each region sell?")
    world.settle(key)
    return key


def reasons(world: World, key: ThreadKey) -> list[str]:
    return [str(step["reason"]) for step in world.steps(key, "corrected")]


def test_changes_to_a_report_that_came_back_are_posted_as_the_whole_report(world: World) -> None:
    key = ask(world, LOOK, finish(DRAFT), changes(("4,711", "120"), ("\n- South is the smaller one.", "")))
    assert reasons(world, key) == ["unsourced"]
    assert world.steps(key, "finished")[-1]["report"] == "North sold **120**.\n\n- South sold 88."
    assert "North sold **120**." in world.text(key)


def test_changes_that_do_not_fit_are_told_and_the_next_ones_are_taken(world: World) -> None:
    key = ask(world, LOOK, finish(DRAFT), changes(("West sold 9", "")), changes(("4,711", "120")))
    assert reasons(world, key) == ["unsourced", "changes_unfit"]
    assert world.steps(key, "finished")[-1]["report"] == DRAFT.replace("4,711", "120")
    assert isinstance(world.model, Meanwhile)
    last = [each for each in world.model.requests if each.purpose == "act"][-1]
    told = json.dumps(last.messages, ensure_ascii=False)
    assert 'Nothing was changed: \\"West sold 9\\" does not stand in your report.' in told


def test_the_judge_reads_the_report_as_it_was_changed(world: World) -> None:
    key = ask(world, LOOK, finish(DRAFT), changes(("4,711", "120")))
    assert world.statuses(key) == ["done"]
    assert isinstance(world.model, Meanwhile)
    (judged,) = [each for each in world.model.requests if each.purpose == "check"]
    assert "> North sold **120**." in str(judged.messages)
