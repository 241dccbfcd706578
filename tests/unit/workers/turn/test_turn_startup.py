"""Start-up code: it runs at once, again whenever the session starts anew, and no more once it is taken away."""

from __future__ import annotations

import pytest
from turn_world import ANA, BEN, Death, Killed, NewWorld, World, cell, finish

from core.steps import dump_step
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

SCRIPT = "startup ```base = 41\nprint('ready')```"
USE = cell("print(base + 1)", "Use"), finish("It is 42.")


def ran(world: World, key: ThreadKey) -> list[tuple[str, str]]:
    """All cells of the thread: whose they are, and what they printed."""
    steps = [dump_step(step) for steps in world.store.thread_steps(key.id).values() for step in steps]
    return [(step["user"], step["stdout"]) for step in steps if step["kind"] == "cell"]


def reset(world: World, key: ThreadKey) -> None:
    world.say("reset", thread=key)
    world.settle(key)
    world.say("yes", thread=key)
    world.settle(key)


def test_start_up_code_runs_at_once_and_again_after_a_reset(world: World) -> None:
    world.model = ScriptedModel([*USE, *USE])
    key = world.say(SCRIPT)
    world.settle(key)
    assert ran(world, key) == [(ANA, "ready\n")]
    assert "gave this thread start-up code" in world.text(key)
    world.say("what comes next?", thread=key)
    world.settle(key)
    assert ran(world, key)[1:] == [("", "42\n")]
    reset(world, key)
    world.say("and now?", thread=key)
    world.settle(key)
    assert ran(world, key)[2:] == [(ANA, "ready\n"), ("", "42\n")]
    assert "Start-up code of ana" in world.text(key)


def test_own_code_in_a_new_session_finds_what_the_start_up_code_set(world: World) -> None:
    world.model = ScriptedModel([])
    key = world.say(SCRIPT)
    world.settle(key)
    reset(world, key)
    for printed in ("42", "43"):
        world.say(f"run ```print({printed})```", thread=key, user=BEN)
        world.settle(key)
    assert ran(world, key)[1:] == [(ANA, "ready\n"), (BEN, "42\n"), (BEN, "43\n")]


def test_start_up_code_runs_where_the_session_could_not_be_brought(new_world: NewWorld) -> None:
    world = new_world(hands_over=True)
    world.model = ScriptedModel([*USE])
    key = world.say(SCRIPT)
    world.settle(key)
    world.say("what comes next?", thread=key)
    with world.store._database.writing() as db:
        db.exec_driver_sql("UPDATE threads SET packed = NULL, packed_before = NULL")
    world.run(key, node="there")
    assert ran(world, key)[1:] == [(ANA, "ready\n"), ("", "42\n")]


def test_taken_away_it_runs_no_more(world: World) -> None:
    world.model = ScriptedModel([cell("print('base' in globals())"), finish("No.")])
    key = world.say(SCRIPT)
    world.settle(key)
    world.say("startup off", thread=key)
    world.settle(key)
    assert "start-up code is removed" in world.text(key)
    reset(world, key)
    world.say("is it there?", thread=key)
    world.settle(key)
    assert ran(world, key)[1:] == [("", "False\n")]
    world.say("取消启动脚本", thread=key)
    world.settle(key)
    assert "没有启动脚本" in world.text(key)


def test_code_that_fails_is_not_kept(world: World) -> None:
    world.model = ScriptedModel([cell("print(1)"), finish("Done.")])
    key = world.say("startup ```1 / 0```")
    world.settle(key)
    assert "not kept as start-up code" in world.text(key)
    reset(world, key)
    world.say("go", thread=key)
    world.settle(key)
    assert [printed for _, printed in ran(world, key)][1:] == ["1\n"]


def test_its_cell_is_taken_back_as_any_other(world: World) -> None:
    key = world.say(SCRIPT)
    world.settle(key)
    world.say("undo", thread=key)
    world.settle(key)
    assert "base" not in {each.name for each in world.sessions.vars(key.id)}


def test_who_may_not_run_code_gives_none(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nrun = ["{ANA}"]\n')
    key = world.say(SCRIPT, user=BEN)
    world.settle(key)
    assert ran(world, key) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_dies_runs_it_once(new_world: NewWorld) -> None:
    effects: list[str] = []
    at = 0
    while at <= len(effects):
        world = new_world()
        world.model = ScriptedModel([*USE])
        key = world.say(SCRIPT)
        world.settle(key)
        reset(world, key)
        world.say("go", thread=key)
        death = Death(at)
        try:
            world.settle(key, death)
        except Killed:
            world.sessions.halted = False
        world.settle(key)
        effects = effects or death.effects
        assert ran(world, key)[1:] == [(ANA, "ready\n"), ("", "42\n")], (at, effects)
        at += 4
