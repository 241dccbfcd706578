"""A worker that knows that its lease is lost pays for no model call any more."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE_S
from turn_world import World

from core.errors import LeaseLost
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.turn import runner


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
