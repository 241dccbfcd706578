"""A worker that knows that its lease is lost pays for no model call any more, and leaves no file of a purged thread."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from patience import PATIENCE_S
from turn_world import World, cell, finish

from core.blobs import Blobs
from core.errors import LeaseLost
from core.purging import delete_contents, purge_thread
from workers.delivery.reports import Report, ReportInput, render_report
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.turn import closing, runner


class Endless:
    """A model that answers only when nobody waits for it any more."""

    name = "endless"
    native_tools = True
    sees = False

    def __init__(self, begun: threading.Event) -> None:
        self.begun, self.left = begun, threading.Event()

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.begun.set()
        while request.wanted():
            self.left.wait(0.001)
        self.left.set()
        return ModelReply(text="too late")


def test_a_lost_lease_ends_the_model_call_and_writes_nothing_more(world: World) -> None:
    lost = threading.Event()
    model = world.model = Endless(begun=lost)
    key = world.say("how much was sold?")
    worker = world.worker()
    with worker.leases.hold(key.id) as held:
        assert held is not None
        with pytest.raises(LeaseLost):
            runner.advance(worker.context, held.lease, world.store.thread_state(key.id), lost.is_set)
    assert model.left.wait(PATIENCE_S)
    assert world.statuses(key) == ["running"]
    assert world.kinds(key) == ["asked"]


def stored(world: World) -> list[str]:
    """What the file store holds, as text."""
    return [path.read_text(errors="replace") for path in Path(world.settings.files).rglob("*") if path.is_file()]


@pytest.mark.parametrize("purged", [True, False])
def test_a_purge_in_the_middle_of_a_report_leaves_no_file_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch, purged: bool
) -> None:
    """A content is put before anything names it, so the purge cannot know of it."""
    world.model = ScriptedModel([cell("print(12)", "Count"), finish("There are **12** elks.")])
    blobs = Blobs(world.settings.files)

    def meanwhile(given: ReportInput) -> Report:
        if purged:
            purge_thread(world.store, blobs, world._redis, key.id)
        return render_report(given)

    monkeypatch.setattr(closing, "render_report", meanwhile)
    key = world.say("How many elks?")
    world.run(key)
    assert any("elks" in text for text in stored(world))
    delete_contents(world.store, blobs)
    assert any("elks" in text for text in stored(world)) == (not purged)


def test_contents_that_another_thread_needs_stay_when_a_purged_one_gives_them_up(world: World) -> None:
    world.model = ScriptedModel([cell("print(12)", "Count"), finish("There are **12** elks.")])
    blobs = Blobs(world.settings.files)
    key = world.say("How many elks?")
    world.settle(key)
    (turn,) = world.turns(key)
    report = world.store.report(turn.id)
    assert report is not None
    contents = {file.sha256 for file in report.files}
    assert not world.store.give_up_contents(key.id, contents), "it was not purged"
    world.model = ScriptedModel([finish("Nothing.")])
    other = world.say("Nothing?")
    world.settle(other)
    purge_thread(world.store, blobs, world._redis, other.id)
    assert world.store.give_up_contents(other.id, contents)
    delete_contents(world.store, blobs)
    assert all(map(blobs.has, contents))
