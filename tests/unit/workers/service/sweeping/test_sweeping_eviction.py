"""A session that nobody uses leaves its node's disk when the file store has it, and the next question brings it."""

from __future__ import annotations

import errno
from datetime import timedelta

import pytest
from turn_world import Meanwhile, NewWorld, World, cell, finish

from core.blobs import Objects
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.service.sweeping.eviction import Eviction

REPORT = finish("It is **42**.")
DAY_S = timedelta(days=1).total_seconds()


@pytest.fixture
def world(new_world: NewWorld) -> World:
    return new_world(hands_over=True)


def asked(world: World) -> ThreadKey:
    first = cell("given = open('given.csv').read()\nopen('made.txt', 'w').write('made')\nn = 1", "One")
    then = cell("print(n, given, open('made.txt').read())", "Look")
    world.model = Meanwhile(ScriptedModel(turns=[[first, REPORT], [then, REPORT]]), {})
    key = world.say("how much?", files={"given.csv": b"x"})
    world.settle(key)
    return key


def days_later(world: World, days: float, node: str = "here") -> list[str]:
    """What the node's janitor evicts, so many days later."""
    sessions = world.sessions_at(node)
    sessions.restart()
    for session in sessions._sessions.values():
        session.used_at -= days * DAY_S
    worker = world.worker(node)
    return Eviction(30, world.store, worker.leases, worker.context.transfer, sessions).sweep()


def is_on_disk(world: World, key: ThreadKey, node: str = "here") -> bool:
    return key.id in world.sessions_at(node)._sessions


@pytest.mark.parametrize("node", ["here", "there"])
def test_an_evicted_session_comes_back_whole_and_nobody_is_told(world: World, node: str) -> None:
    key = asked(world)
    assert days_later(world, 29) == []
    assert is_on_disk(world, key)
    assert days_later(world, 2) == [key.id]
    assert not is_on_disk(world, key)
    assert world.store.thread_node(key.id) is None
    world.say("and now?", thread=key)
    world.run(key, node=node)
    assert world.steps(key, "cell")[-1]["stdout"] == "1 x made\n"
    assert world.steps(key, "moved") == []
    assert "moved" not in world.text(key)
    assert world.store.thread_node(key.id) == node


def test_a_session_that_the_file_store_does_not_take_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Objects, "put", full)
    key = asked(world)
    assert days_later(world, 31) == []
    assert is_on_disk(world, key)
    monkeypatch.undo()
    assert days_later(world, 0) == [key.id]


def test_what_the_file_store_lost_meanwhile_is_named(world: World) -> None:
    key = asked(world)
    assert days_later(world, 31) == [key.id]
    exported = world.store.exported_session(key.id)
    assert exported is not None
    world.worker().context.blobs.folder(key.id.replace(":", "_")).remove([f"pack-{exported.name}"])
    world.say("and now?", thread=key)
    world.run(key)
    assert [moved["came"] for moved in world.steps(key, "moved")] == [False]
    assert "My Python session had to start again" in world.text(key)


def test_what_a_thread_left_at_a_node_that_it_has_left_is_deleted_there_alone(world: World) -> None:
    key = asked(world)
    world.say("and now?", thread=key)
    world.run(key, node="there")
    assert is_on_disk(world, key)
    assert days_later(world, 31) == [key.id]
    assert not is_on_disk(world, key)
    assert is_on_disk(world, key, "there")
    assert world.store.thread_node(key.id) == "there"


def test_a_thread_that_a_worker_has_stays(world: World) -> None:
    key = asked(world)
    worker = world.worker("there")
    with worker.leases.hold(key.id):
        assert days_later(world, 31) == []
    assert is_on_disk(world, key)


def test_a_node_whose_threads_stay_there_evicts_none(new_world: NewWorld) -> None:
    world = new_world()
    key = asked(world)
    assert days_later(world, 1_000) == []
    assert is_on_disk(world, key)


def test_a_janitor_that_dies_half_way_loses_nothing(world: World) -> None:
    key = asked(world)
    sessions = world.sessions_at("here")
    sessions.fault("purge", "away")
    assert days_later(world, 31) == []
    assert world.store.thread_node(key.id) is None
    sessions.heal()
    world.say("and now?", thread=key)
    world.run(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "1 x made\n"
    assert days_later(world, 0) == []
