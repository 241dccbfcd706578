"""A shell in the thread: a team turns it on, and no command runs without a person's yes."""

from __future__ import annotations

from typing import Any

import pytest
from test_turn_approvals import Office
from turn_world import ANA, Json, Meanwhile, NewWorld, World, cell, finish

from core.steps import Approval, CellRan, Decided, Forgot, Moved, Questioned, Step
from tryout.stack.blocks_text import message_text
from workers.agent.about_steps import has_shell, is_new_shell
from workers.agent.actions import RunCell
from workers.models.scripted import ScriptedModel
from workers.turn.cells import _is_approved

ON = "[sandbox]\nbash = true\n"
COUNT = "echo a > made.txt; wc -c < made.txt"


def command(text: str, title: str = "Count") -> Json:
    """A reply that asks for a command of bash."""
    return {"calls": [{"name": "run_bash", "arguments": {"command": text, "title": title}}]}


@pytest.fixture
def office(new_world: NewWorld) -> Office:
    """A team with a shell and no approvals of Python, in whose thread a command waits."""
    return Office(new_world(team=ON), replies=(command(COUNT),))


def cells(world: World, office: Office) -> list[tuple[str, str, str]]:
    return [(step["language"], step["status"], step["stdout"]) for step in world.steps(office.key, "cell")]


def test_a_command_waits_with_its_text_although_python_needs_no_yes(office: Office) -> None:
    assert office.world.statuses(office.key) == ["waiting"]
    assert COUNT in message_text(office.asking()).replace("&gt;", ">").replace("&lt;", "<")
    assert "delete every file of this thread" in message_text(office.asking())
    assert "Python" not in message_text(office.asking())
    assert office.world.sessions.ran == []


def test_a_command_runs_after_a_yes_in_the_folder_of_python(office: Office) -> None:
    office.press("run")
    office.settle()
    assert cells(office.world, office) == [("bash", "ok", "2\n")]
    assert office.decided() == [("run", ANA)]
    assert office.world.statuses(office.key) == ["done"]


@pytest.mark.parametrize("do", ["redo", "skip", "reject"])
def test_a_command_that_nobody_let_run_has_no_effect(office: Office, do: str) -> None:
    office.press(do)
    office.settle()
    assert cells(office.world, office) == []
    assert office.world.sessions.ran == []


def test_an_edited_command_runs_as_the_person_wrote_it(office: Office) -> None:
    assert office.press("edit") == "form"
    office.settle()
    assert [step["code"] for step in office.world.steps(office.key, "cell")] == ["n = 42\nprint(n)"]
    assert office.world.steps(office.key, "cell")[0]["language"] == "bash"


def test_every_command_waits_for_a_yes_of_its_own(new_world: NewWorld) -> None:
    office = Office(new_world(team=ON), replies=(command("echo one"), command("echo two")))
    office.press("run")
    office.settle()
    assert cells(office.world, office) == [("bash", "ok", "one\n")]
    assert office.world.statuses(office.key) == ["waiting"]


def test_a_worker_that_dies_after_the_yes_runs_the_command_once(office: Office) -> None:
    office.press("run")
    office.world.sessions.fault("bash", "lost")
    office.settle()
    assert cells(office.world, office) == [("bash", "ok", "2\n")]
    assert len(office.world.sessions.ran) == 1


def test_without_the_setting_the_model_is_told_that_there_is_no_shell(new_world: NewWorld) -> None:
    office = Office(new_world(), replies=(command(COUNT), cell("print(1)")))
    assert [step["language"] for step in office.world.steps(office.key, "cell")] == ["python"]
    assert office.world.statuses(office.key) == ["done"]
    assert office.world.steps(office.key, "corrected")[0]["reason"] == "unknown_tool"


def test_cells_of_python_beside_it_run_without_a_yes(new_world: NewWorld) -> None:
    office = Office(new_world(team=ON), replies=(cell("print(7)"), command("cat /dev/null"), finish("Done.")))
    assert cells(office.world, office) == [("python", "ok", "7\n")]
    office.press("run")
    office.settle()
    assert [language for language, *_ in cells(office.world, office)] == ["python", "bash"]


def asked_of(office: Office) -> str:
    """All that the model read before its last reply."""
    assert isinstance(office.world.model, Meanwhile)
    last = [request for request in office.world.model.requests if request.purpose == "act"][-1]
    return "\n".join(str(message["content"]) for message in last.messages)


def goes_on(office: Office, *replies: Json, node: str = "there") -> None:
    """The next question of the thread is worked on at a node, and its commands are let run."""
    before: list[list[Json]] = [[] for _ in office.world.turns(office.key)]
    office.world.model = Meanwhile(ScriptedModel(turns=[*before, [*replies, finish("Done.")]]), {})
    office.world.say("and now?", thread=office.key)
    office.world.run(office.key, node=node)
    while office.world.statuses(office.key)[-1] == "waiting":
        office.world.decide(office.key, "run")
        office.world.run(office.key, node=node)


NEW_SHELL = "The shell of this thread is new"


def test_a_new_shell_at_another_node_is_told_to_people_once_and_to_the_model_with_its_next_command(
    new_world: NewWorld,
) -> None:
    office = Office(new_world(team=ON, hands_over=True), replies=(command("cd /tmp; n=1"),))
    office.press("run")
    office.settle()
    goes_on(office, command("echo $n"), command("echo secondmark"))
    text = office.world.text(office.key)
    assert text.count(NEW_SHELL) == 1
    assert "All variables and files were moved there." in text
    assert [step["shell"] for step in office.world.steps(office.key, "moved")] == ["moved"]
    assert asked_of(office).count("NEW shell") == 1, "the second command ran in the shell of the first"
    before, _, after = asked_of(office).partition("NEW shell")
    assert "secondmark" not in before
    assert "secondmark" in after


def test_a_thread_that_used_no_shell_hears_of_none(new_world: NewWorld) -> None:
    office = Office(new_world(team=ON, hands_over=True), replies=(cell("n = 1\nprint(n)"),))
    goes_on(office, command("echo one"))
    assert NEW_SHELL not in office.world.text(office.key)
    assert "NEW shell" not in asked_of(office)


def test_the_way_back_to_the_first_node_is_told_again(new_world: NewWorld) -> None:
    office = Office(new_world(team=ON, hands_over=True), replies=(command("n=1"),))
    office.press("run")
    office.settle()
    goes_on(office, command("echo secondmark"))
    goes_on(office, command("echo three"), node="here")
    assert [step["shell"] for step in office.world.steps(office.key, "moved")] == ["moved"]


def ran(language: str, **more: Any) -> CellRan:
    given = {"call_id": "c", "cell_id": "x", "title": "t", "code": "ls", "language": language, "status": "ok"}
    return CellRan.model_validate(given | more)


BASH, PYTHON = ran("bash"), ran("python")
MOVED, ANEW = (Moved(node="there", came=True, shell=shell) for shell in ("moved", "anew"))
RESET = Forgot(done=True, user=ANA, author="ana", text="")


@pytest.mark.parametrize(
    ("before", "shell", "new"),
    [
        ([], False, False),
        ([PYTHON], False, False),
        ([BASH], True, False),
        ([BASH, PYTHON, MOVED], False, True),
        ([BASH, ANEW, PYTHON], False, True),
        ([BASH, MOVED, BASH], True, False),
        ([BASH, MOVED, ran("bash", status="died")], False, True),
        ([BASH, RESET], False, False),
        ([BASH, MOVED, RESET], False, False),
        ([BASH, Moved(node="there", came=True)], True, False),
    ],
)
def test_a_shell_is_new_after_a_move_until_its_first_command(before: list[Step], shell: bool, new: bool) -> None:
    assert has_shell([before]) is shell
    assert is_new_shell(before) is new


@pytest.mark.parametrize(
    ("outcome", "code", "asked", "runs"),
    [
        ("run", "", "ls", True),
        ("run", "", "rm -r .", False),
        ("edited", "ls", "rm -r .", True),
        ("edited", "ls -l", "ls", False),
        ("skip", "", "ls", False),
        ("expired", "", "ls", False),
    ],
)
def test_the_session_host_is_told_yes_for_just_the_text_that_a_person_saw(
    outcome: str, code: str, asked: str, runs: bool
) -> None:
    approval = Approval(what="bash", title="List", code=asked, call="c1")
    steps = (
        Questioned(call_id="approve:1", question="May it run?", approval=approval),
        Decided(call_id="approve:1", outcome=outcome, user=ANA, code=code),  # type: ignore[arg-type]
    )
    action = RunCell("c1", "t1/c1", "List", "ls", "bash")
    assert _is_approved(steps, action, "ls") is runs
    assert _is_approved(steps[:1], action, "ls") is False
