"""A shell in the thread: a team turns it on, and no command runs without a person's yes."""

from __future__ import annotations

import pytest
from test_turn_approvals import Office
from turn_world import ANA, Json, NewWorld, World, cell, finish

from core.steps import Approval, Decided, Questioned
from tryout.blocks_text import message_text
from workers.agent.actions import RunCell
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
