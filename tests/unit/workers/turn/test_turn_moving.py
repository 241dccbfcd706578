"""Threads that change nodes: what comes along comes whole, or what is missing is named to people and to the model."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from turn_world import Death, Killed, Meanwhile, NewWorld, World, cell, finish

from core.blobs import Objects
from core.errors import BlobsUnreachable
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

REPORT = finish("It is **7**.")
ONE = cell("n = 1\nprint('n is', n)", "One")
TWO = cell("n = 2\nprint('n is', n)", "Two")
LOOK = cell("print('n' in globals() and n)", "Look")


@pytest.fixture
def moving(new_world: NewWorld) -> World:
    return new_world(hands_over=True)


def away() -> pytest.MonkeyPatch:
    """The file store takes no sessions until `undo`."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch = pytest.MonkeyPatch()
    patch.setattr(Objects, "put", full)
    return patch


def outputs(world: World, key: ThreadKey) -> list[str]:
    return [ran["stdout"] for ran in world.steps(key, "cell")]


def asked_of(world: World) -> str:
    """All that the model read before its last reply."""
    assert isinstance(world.model, Meanwhile)
    last = [request for request in world.model.requests if request.purpose == "act"][-1]
    return "\n".join(str(message["content"]) for message in last.messages)


def asked_twice(world: World, second: list[Any]) -> ThreadKey:
    world.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], [TWO, REPORT], second]), {})
    key = world.say("how much?")
    world.settle(key)
    return key


def test_what_was_not_stored_before_its_node_died_is_named_to_people_and_to_the_model(moving: World) -> None:
    key = asked_twice(moving, [LOOK, REPORT])
    patch = away()
    moving.say("and two?", thread=key)
    moving.settle(key)
    patch.undo()
    moving.say("and now?", thread=key)
    moving.run(key, node="there")
    assert outputs(moving, key) == ["1\n"], "the pack that was stored is the one before the second cell"
    assert "not everything could be moved" in moving.text(key)
    assert "The results of these steps are missing: Two." in moving.text(key)
    assert "All variables and files were moved" not in moving.text(key)
    (moved,) = moving.steps(key, "moved")
    assert (moved["came"], moved["cells"]) == (True, ["Two"])
    assert "whose effects are missing: Two." in asked_of(moving)


def test_all_came_along_is_said_when_it_did(moving: World) -> None:
    key = asked_twice(moving, [LOOK, REPORT])
    moving.say("and two?", thread=key)
    moving.settle(key)
    moving.say("and now?", thread=key)
    moving.run(key, node="there")
    assert outputs(moving, key) == ["2\n"]
    assert "All variables and files were moved there." in moving.text(key)
    assert "The session moved" not in asked_of(moving)


def test_where_nothing_was_stored_the_model_is_told_that_its_session_is_new(moving: World) -> None:
    patch = away()
    moving.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], [LOOK, REPORT]]), {})
    key = moving.say("how much?")
    moving.settle(key)
    patch.undo()
    moving.say("and now?", thread=key)
    moving.run(key, node="there")
    assert outputs(moving, key) == ["False\n"]
    assert "My Python session had to start again" in moving.text(key)
    assert "It is a new Python session" in asked_of(moving)


def test_a_damaged_session_gives_way_to_the_one_before_it_and_its_cells_are_named(moving: World) -> None:
    key = asked_twice(moving, [LOOK, REPORT])
    moving.say("and two?", thread=key)
    moving.settle(key)
    exported = moving.store.exported_session(key.id)
    assert exported is not None
    moving.worker().context.blobs.folder(key.id.replace(":", "_")).remove([f"pack-{exported.name}"])
    moving.say("and now?", thread=key)
    moving.run(key, node="there")
    assert outputs(moving, key) == ["1\n"]
    assert "The results of these steps are missing: Two." in moving.text(key)


def test_a_file_store_that_is_away_when_a_thread_arrives_is_waited_for(
    moving: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = asked_twice(moving, [LOOK, REPORT])
    moving.model = Meanwhile(ScriptedModel(turns=[[ONE, REPORT], [LOOK, REPORT]]), {})
    moving.say("and now?", thread=key)

    def refused(*_: object) -> None:
        raise BlobsUnreachable("refused")

    with monkeypatch.context() as patch:
        patch.setattr(Objects, "get", refused)
        moving.run(key, node="there")
    assert moving.put_off(key)
    moving.run(key, node="there")
    assert outputs(moving, key) == ["1\n"]
    assert "All variables and files were moved there." in moving.text(key)


def test_a_worker_that_dies_while_a_thread_arrives_tells_it_once(moving: World) -> None:
    for at in range(1, 12):
        key = asked_twice(moving, [LOOK, REPORT])
        patch = away()
        moving.say("and two?", thread=key)
        moving.settle(key)
        patch.undo()
        moving.say("and now?", thread=key)
        try:
            moving.run(key, node="there", death=Death(at))
        except Killed:
            moving.sessions_at("there").halted = False
        moving.run(key, node="there")
        assert moving.statuses(key) == ["done"] * 3, at
        assert moving.text(key).count("not everything could be moved") == 1, at
        assert [step["cells"] for step in moving.steps(key, "moved")] == [["Two"]], at


def test_a_report_that_is_only_left_to_be_shown_moves_no_session(moving: World) -> None:
    key = asked_twice(moving, [LOOK, REPORT])
    before = moving.store.exported_session(key.id)
    moving.say("and two?", thread=key)
    death = Death()
    with pytest.raises(Killed):
        moving.run(key, death=dies_at_the_end(moving, key, death))
    moving.run(key, node="there")
    assert moving.statuses(key) == ["done", "done"]
    assert moving.text(key).count("It is **7**.") == 2
    assert moving.store.thread_node(key.id) == "here"
    assert moving.store.exported_session(key.id) != before
    moving.say("and now?", thread=key)
    moving.run(key, node="there")
    assert outputs(moving, key) == ["2\n"]


def dies_at_the_end(world: World, key: ThreadKey, death: Death) -> Death:
    """The worker dies as soon as the turn's end is stored."""
    watch = death.watch

    def watching(when: str, effect: str) -> None:
        watch(when, effect)
        if when == "after" and effect == "write" and not death.dead and ends(world, key):
            death.dead = True
            death.then()
            raise Killed

    death.watch = watching  # type: ignore[method-assign]
    return death


def ends(world: World, key: ThreadKey) -> bool:
    return len(world.turns(key)) == 2 and world.kinds(key)[-1:] == ["finished"]


def test_an_undo_at_another_node_leaves_the_stored_session_what_it_was(moving: World) -> None:
    key = asked_twice(moving, [LOOK, REPORT])
    moving.say("and two?", thread=key)
    moving.settle(key)
    moving.say("undo", thread=key)
    moving.run(key, node="there")
    assert moving.store.thread_node(key.id) == "there"
    moving.say("and now?", thread=key)
    moving.run(key, node="elsewhere")
    assert outputs(moving, key) in (["1\n"], ["2\n"]), "a variable is there"


def test_a_node_that_was_renamed_finds_its_sessions_and_says_nothing(world: World) -> None:
    world.model = ScriptedModel(turns=[[ONE, REPORT], [LOOK, REPORT]])
    key = world.say("how much?")
    world.settle(key)
    world._hosts["renamed"] = world.sessions
    world.say("and now?", thread=key)
    world.run(key, node="renamed")
    assert outputs(world, key) == ["1\n"]
    assert world.store.thread_node(key.id) == "renamed"
    assert "My Python session had to start again" not in world.text(key)
    assert "another machine" not in world.text(key)
    assert world.steps(key, "moved") == []
