"""A person runs their own code in the thread's session: a cell with their name, which the model sees."""

from __future__ import annotations

import json

import pytest
from turn_world import ANA, BEN, Death, Meanwhile, NewWorld, World, cell, finish, question

from core.blobs import Blobs
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

RUN = "run ```n = 41\nprint(n + 1)```"


def prompts(world: World) -> str:
    """All that the model was asked, as one text."""
    assert isinstance(world.model, Meanwhile)
    return "\n".join(json.dumps(request.messages, ensure_ascii=False) for request in world.model.requests)


def test_own_code_runs_as_a_cell_with_its_author_and_the_model_is_not_asked(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([]), {})
    key = world.say(RUN, user=BEN)
    world.settle(key)
    (ran,) = world.steps(key, "cell")
    assert (ran["stdout"], ran["user"]) == ("42\n", BEN)
    assert world.statuses(key) == ["done"]
    assert world.kinds(key)[-1] == "closed"
    assert world.model.requests == []
    assert "42" in world.text(key)
    assert ran["author"] in world.text(key)
    assert world.signs(key) == ["white_check_mark"]


def test_the_model_sees_own_code_with_its_output_in_its_next_turn(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([cell("print(n)"), finish("It is 41.")]), {})
    key = world.say(RUN)
    world.settle(key)
    world.say("what is n?", thread=key)
    world.settle(key)
    assert "n = 41" in prompts(world)
    assert "ran this code of their own" in prompts(world)
    assert [step["stdout"] for step in world.steps(key, "cell")] == ["41\n"]


def test_an_error_of_own_code_is_told_with_its_line_and_what_it_set_is_kept(world: World) -> None:
    key = world.say("run ```kept = 7\n1 / 0```")
    world.settle(key)
    said = world.text(key)
    assert "failed in line 2: ZeroDivisionError" in said
    assert world.signs(key) == ["warning"]
    world.say("run ```print(kept)```", thread=key)
    world.settle(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "7\n"


def test_code_that_is_no_python_is_told_plainly(world: World) -> None:
    key = world.say("run ```for x in```")
    world.settle(key)
    assert "SyntaxError" in world.text(key)


def test_undo_takes_own_code_back(world: World) -> None:
    key = world.say("run ```n = 1```")
    world.settle(key)
    world.say("run ```n = 2```", thread=key)
    world.settle(key)
    world.say("undo", thread=key)
    world.settle(key)
    world.say("run ```print(n)```", thread=key)
    world.settle(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "1\n"


def test_an_empty_block_runs_nothing_and_is_told(world: World) -> None:
    key = world.say("run ``` ```")
    world.settle(key)
    assert world.steps(key, "cell") == []
    assert "nothing ran" in world.text(key)
    assert world.signs(key) == ["warning"]


def test_own_code_in_a_running_turn_waits_for_the_cell_and_the_model_goes_on(world: World) -> None:
    world.model = Meanwhile(
        ScriptedModel([cell("a = 1"), cell("print(n)"), finish("Done.")]),
        {2: lambda: world.say(RUN, thread=key, user=BEN)},
    )
    key = world.say("how much?")
    world.settle(key)
    assert [(step["user"], step["stdout"]) for step in world.steps(key, "cell")] == [
        ("", ""),
        (BEN, "42\n"),
        ("", "41\n"),
    ]
    assert world.statuses(key) == ["done"]
    assert len({step["cell_id"] for step in world.steps(key, "cell")}) == 3


def test_own_code_answers_no_question_and_the_turn_waits_on(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([question("Which year?"), finish("Done.")]), {})
    key = world.say("how much?")
    world.settle(key)
    world.say(RUN, thread=key)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    world.say("2024", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "n = 41" in prompts(world)


def test_own_code_that_fails_does_not_stop_the_models_cells(world: World) -> None:
    both = {
        "calls": [
            {"name": "run_python", "arguments": {"code": "a = 1", "title": "A"}},
            {"name": "run_python", "arguments": {"code": "print('second')", "title": "B"}},
        ]
    }
    world.model = Meanwhile(
        ScriptedModel([both, finish("Done.")]), {1: lambda: world.say("run ```1 / 0```", thread=key)}
    )
    key = world.say("how much?")
    world.settle(key)
    assert [step["status"] for step in world.steps(key, "cell")] == ["error", "ok", "ok"]


def test_a_question_sent_while_own_code_runs_is_answered_in_the_same_turn(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([finish("Nothing to see.")]), {})
    key = world.say(RUN)
    world.say("and what does that mean?", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.kinds(key)[-1] == "finished"


def test_a_policy_asks_nobody_for_their_own_code(new_world: NewWorld) -> None:
    world = new_world(team='[approvals]\nask = "every cell"\n')
    key = world.say(RUN)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "questioned") == []


def test_whoever_may_not_run_code_is_told_and_nothing_runs(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nrun = ["{ANA}"]\n')
    key = world.say(RUN, user=BEN)
    world.settle(key)
    assert world.turns(key) == []
    assert "you may not do this here" in world.text(key)
    world.say(RUN, thread=key, user=ANA)
    world.settle(key)
    assert world.steps(key, "cell")[0]["user"] == ANA


def test_a_stop_before_own_code_began_keeps_it_from_running(world: World) -> None:
    world.model = ScriptedModel([question("Which year?")])
    key = world.say("how much?")
    world.settle(key)
    world.say(RUN, thread=key)
    world.say("stop", thread=key)
    world.settle(key)
    assert world.steps(key, "cell") == []
    assert "did not run" in world.text(key)
    assert world.statuses(key) == ["stopped"]


def test_own_code_of_two_people_at_once_runs_one_after_the_other(world: World) -> None:
    key = world.say("run ```n = 1```", user=ANA)
    world.say("run ```n = n + 1\nprint(n)```", thread=key, user=BEN)
    world.settle(key)
    ran = [step for turn in world.turns(key) for step in world.store.steps(turn.id) if step.kind == "cell"]
    assert [(step.user, step.stdout) for step in ran] == [(ANA, ""), (BEN, "2\n")]


@pytest.mark.parametrize("at", range(1, 15))
def test_own_code_runs_once_wherever_a_worker_dies(new_world: NewWorld, at: int) -> None:
    world = new_world()
    key = world.say("run ```print('once')```")
    world.settle(key, Death(at))
    assert [step["stdout"] for step in world.steps(key, "cell")] == ["once\n"]
    assert world.statuses(key) == ["done"]
    ours = [message for message in world.messages(key, ours=True) if "ran in" in message_text(message)]
    assert len(ours) == 1


def test_the_report_that_follows_has_own_code_with_its_author_in_notebook_and_script(world: World) -> None:
    world.model = ScriptedModel([finish("Nothing stands out.")])
    key = world.say("run ```# my check\nn = 41```", user=BEN)
    world.settle(key)
    (ran,) = world.steps(key, "cell")
    assert ran["title"] == f"Code of {ran['author']}: my check"
    world.say("what is n?", thread=key)
    world.settle(key)
    report = world.store.report(world.turns(key)[-1].id)
    assert report is not None
    (script,) = (file for file in report.files if file.name == "analysis.py")
    assert f"Code of {ran['author']}: my check" in Blobs(world.settings.files).get(script.sha256).decode()
