"""While a cell runs, the card shows the line that it is in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from turn_world import World, cell, finish

from executor.client import HostUnavailable
from executor.values import Where
from workers.delivery.deliver import Delivery
from workers.delivery.progress import ProgressView
from workers.models.scripted import ScriptedModel
from workers.turn import live

WAITS = """import os, time
for _ in range(2000):
    if os.path.exists('seen'):
        break
    time.sleep(0.01)
print('over')"""
LINE = "line 5: time.sleep(0.01)"


@pytest.fixture
def shown(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the card said of the running cell. When it has said the line, the cell ends."""
    monkeypatch.setattr(live, "INTERVAL_S", -1.0)
    monkeypatch.setattr(live, "LOOK_S", 0.01)
    outputs: list[str] = []
    progress = Delivery.progress

    def watched(show: Delivery, view: ProgressView, status: str = "") -> None:
        outputs.extend(task.output for task in view.tasks if task.status == "in_progress")
        for folder in (world.sessions._home.root / "workspaces").glob("*"):
            if LINE in outputs:
                (folder / "seen").touch()
        progress(show, view, status)

    monkeypatch.setattr(Delivery, "progress", watched)
    return outputs


def ran(world: World, *replies: object) -> Sequence[str]:
    world.model = ScriptedModel([*replies, finish("Done.")])
    key = world.say("how long?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    return [step["stdout"] for step in world.steps(key, "cell")]


def test_the_card_shows_the_line_that_a_long_cell_is_in(
    world: World, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = world.sessions.where

    def told(thread_id: str) -> Where | None:
        found = where(thread_id)
        return found and Where(found.cell_id, 5, "    time.sleep(0.01)", found.seconds)

    monkeypatch.setattr(world.sessions, "where", told)
    assert ran(world, cell(WAITS)) == ["over\n"]
    assert LINE in shown
    assert sum(output == LINE for output in shown) == 1  # a line that stays is not drawn again


def test_a_cell_whose_line_nobody_can_tell_shows_none(world: World, shown: list[str]) -> None:
    assert ran(world, cell("import time\ntime.sleep(0.1)\nprint('over')")) == ["over\n"]
    assert not any("line" in output for output in shown)


def test_a_session_host_that_does_not_say_the_line_costs_the_cell_nothing(
    world: World, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(thread_id: str) -> Where | None:
        raise HostUnavailable("away")

    monkeypatch.setattr(world.sessions, "where", away)
    assert ran(world, cell("import time\ntime.sleep(0.1)\nprint('over')")) == ["over\n"]
