"""A service that stops: what its jobs could not store is stored before it goes, or it is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from turn_world import World, cell, finish, hurried, new_database

from core.blobs import Objects
from core.leases import Leases
from core.settings import Settings
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.service import last_exports
from workers.service.last_exports import export_the_rest
from workers.service.supervisor import Supervisor
from workers.turn.transfer.unexported import Unexported

REPORT = finish("It is **7**.")
ONE = cell("n = 1\nprint('n is', n)", "One")
LOOK = cell("print('n' in globals() and n)", "Look")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A node whose threads move, and what a service that stops opens for itself."""
    with hurried(), closing(World(tmp_path / "world", new_database(tmp_path), hands_over=True)) as world:
        world.settings = world.settings.model_copy(update={"home": world._folder / "here"})
        monkeypatch.setattr(Settings, "hands_threads_over", True)
        monkeypatch.setattr(last_exports, "connect_redis", lambda *_, **__: world._redis)
        monkeypatch.setattr(last_exports, "SessionClient", lambda _: world.sessions)
        monkeypatch.setattr(world._redis, "close", lambda: None)
        yield world


def full(*_: object, **__: object) -> None:
    raise OSError("No space left on device")


def asked_while_away(world: World) -> ThreadKey:
    """A thread whose session could not be stored."""
    world.model = ScriptedModel(turns=[[ONE, REPORT], [LOOK, REPORT]])
    key = world.say("how much?")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Objects, "put", full)
        world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.store.exported_session(key.id) is None
    return key


def test_what_could_not_be_stored_is_stored_before_the_node_goes(world: World) -> None:
    key = asked_while_away(world)
    assert export_the_rest(world.settings, for_s=0) == []
    world.say("and now?", thread=key)
    world.run(key, node="there")
    assert world.steps(key, "cell")[-1]["stdout"] == "1\n"
    assert "All variables and files were moved there." in world.text(key)


def test_a_file_store_that_stays_away_ends_the_wait_and_names_the_threads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = asked_while_away(world)
    monkeypatch.setattr(Objects, "put", full)
    assert export_the_rest(world.settings, for_s=0) == [key.id]


def test_a_file_store_that_comes_back_in_time_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = asked_while_away(world)
    put, tries = Objects.put, []

    def away_at_first(*arguments: object) -> None:
        tries.append(arguments)
        if len(tries) < 3:
            full()
        put(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Objects, "put", away_at_first)
    monkeypatch.setattr(last_exports, "AGAIN_S", 0.01)
    assert export_the_rest(world.settings, for_s=30) == []
    assert world.store.exported_session(key.id) is not None


def test_a_thread_that_another_worker_has_is_left_to_it(world: World) -> None:
    key = asked_while_away(world)
    with Leases(world._redis, world.store).hold(key.id):
        assert export_the_rest(world.settings, for_s=0) == [key.id]
    assert world.store.exported_session(key.id) is None


def test_a_thread_that_went_on_elsewhere_is_no_business_of_this_node(world: World) -> None:
    key = asked_while_away(world)
    world.say("and now?", thread=key)
    world.run(key, node="there")
    before = world.store.exported_session(key.id)
    assert export_the_rest(world.settings, for_s=0) == []
    assert world.store.exported_session(key.id) == before


def test_where_threads_stay_nothing_is_exported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    Unexported(world.settings.home).add("T1:C1:1.0")
    monkeypatch.setattr(Settings, "hands_threads_over", False)
    assert export_the_rest(world.settings, for_s=0) == []


@pytest.mark.parametrize("hands_over", [True, False])
def test_a_node_is_announced_until_its_sessions_are_stored(
    world: World, monkeypatch: pytest.MonkeyPatch, hands_over: bool
) -> None:
    monkeypatch.setattr(Settings, "hands_threads_over", hands_over)
    wakes, live = world.worker().wakes, {}
    supervisor = Supervisor(world.settings)
    supervisor._announce(wakes)

    def jobs_end() -> None:
        live["jobs"] = wakes.node_is_live("here")

    def exports(settings: Settings) -> list[str]:
        live["exports"] = wakes.node_is_live("here")
        return ["T1:C1:1.0"]

    def session_host_ends() -> None:
        live["session host"] = wakes.node_is_live("here")

    monkeypatch.setattr(supervisor._forks, "stop", jobs_end)
    monkeypatch.setattr("workers.service.supervisor.export_the_rest", exports)
    monkeypatch.setattr(supervisor._session_host, "stop", session_host_ends)
    supervisor._stop(wakes)
    assert live == {"jobs": hands_over, "exports": hands_over, "session host": False}
    assert supervisor.left == ["T1:C1:1.0"]
