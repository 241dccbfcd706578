"""A card in a workspace whose Slack has no plans: the same lines and the same buttons, after one refused call."""

from __future__ import annotations

import pytest
from patience import eventually
from turn_costs import quick_cards
from turn_world import Meanwhile, World, cell, finish, question

from core.values import ThreadKey
from workers.delivery import card
from workers.models.scripted import ScriptedModel


@pytest.fixture
def without_plans(world: World) -> World:
    world.slack.unknown_blocks.add("plan")
    slack = world.settings.slack.model_copy(update={"progress_interval_s": 0.01})
    world.settings = world.settings.model_copy(update={"slack": slack})
    return world


def kinds(world: World, key: ThreadKey) -> set[str]:
    return {block["type"] for message in world.messages(key, ours=True) for block in message.get("blocks") or ()}


def test_a_running_turn_keeps_its_stop_and_its_steps(without_plans: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "FIRST_AFTER_S", 0.0)
    world = without_plans
    shown: list[str] = []

    def look() -> None:
        eventually(lambda: "✓ Totals: North 120" in world.text(key), "the card")
        shown.append(world.text(key))

    world.model = Meanwhile(ScriptedModel([cell('print("North 120")', "Totals"), finish("North: **120**.")]), {2: look})
    key = world.say("how much?")
    world.settle(key)
    assert "[Stop]  [Show steps]" in shown[0]
    assert "[Show steps]" in world.text(key)
    assert "[Stop]" not in world.text(key)
    assert "✓ Wrote the report" in world.text(key)
    assert "plan" not in kinds(world, key)


def test_a_plan_is_tried_once(without_plans: World) -> None:
    world = without_plans
    world.model = ScriptedModel([cell("x = 1", "Totals"), question("Which year?", "2023"), finish("**2023**.")])
    key = world.say("how much?")
    with quick_cards():
        world.settle(key)
    tried = [method for method, given in world.slack.calls if "'type': 'plan'" in str(given.get("blocks"))]
    assert tried == ["chat.postMessage"]
    assert "✓ Totals" in world.text(key)
    assert "[2023]" in world.text(key)
