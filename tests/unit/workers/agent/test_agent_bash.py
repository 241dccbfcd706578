"""The analyst and the shell: offered only where there is one, asked for by a tool call, told apart from Python."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from agent_kit import BRIEFED, ENVIRONMENT, asked, call, cell, said, turn

from core.steps import Approval, CellRan, Decided, Questioned, load_step
from workers.agent.actions import Action, AskApproval, AskModel, CorrectModel, RunCell
from workers.agent.decide import decide
from workers.agent.prompt.messages import messages
from workers.agent.turn import ApprovalPolicy, Turn

ASKS = said(call("run_bash", "b1", command="ls -l\n", title="Look around"))


def with_a_shell(*steps: object, **fields: object) -> Turn:
    return turn(asked(), BRIEFED, *steps, environment=replace(ENVIRONMENT, bash=True), **fields)  # type: ignore[arg-type]


def test_an_analyst_without_a_shell_never_hears_of_it() -> None:
    for native in (True, False):
        action = decide(turn(asked(), BRIEFED, native_tools=native))
        assert isinstance(action, AskModel)
        told = json.dumps([action.messages, action.tools])
        assert "bash" not in told
        assert "shell" not in told.replace("shell lines", "")


def test_the_shell_is_a_tool_where_there_is_one() -> None:
    action = decide(with_a_shell())
    assert isinstance(action, AskModel)
    assert [tool["function"]["name"] for tool in action.tools] == ["run_python", "run_bash", "ask_user", "finish"]
    assert "after a person approved it" in action.messages[0]["content"]


def test_a_model_that_writes_fenced_code_has_none() -> None:
    action = decide(with_a_shell(native_tools=False))
    assert isinstance(action, AskModel)
    assert "run_bash" not in json.dumps([action.messages, action.tools])


def waits(action: Action) -> Approval:
    assert isinstance(action, AskApproval)
    return action.approval


@pytest.mark.parametrize("policy", ["never", "first cell", "risky", "every cell"])
def test_a_command_waits_for_a_yes_whatever_the_policy_says(policy: ApprovalPolicy) -> None:
    approval = waits(decide(with_a_shell(ASKS, approvals=policy)))
    assert (approval.what, approval.title, approval.code) == ("bash", "Look around", "ls -l")


def test_a_command_becomes_a_cell_of_bash_after_a_yes() -> None:
    asks = Questioned(call_id="approve:1", question="?", approval=waits(decide(with_a_shell(ASKS))))
    agreed = Decided(call_id="approve:1", outcome="run", user="UANA")
    assert decide(with_a_shell(ASKS, asks, agreed)) == RunCell("b1", "T1/c1", "Look around", "ls -l", "bash")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("bash", {"cmd": "ls -l"}), ("shell", {"code": "ls -l"}), ("run_command", {"command": "ls -l"})],
)
def test_the_names_that_models_invent_for_it_are_understood(name: str, arguments: dict[str, str]) -> None:
    approval = waits(decide(with_a_shell(said(call(name, "b1", **arguments)))))
    assert (approval.what, approval.code, approval.call) == ("bash", "ls -l", "b1")


def test_where_there_is_none_it_is_an_unknown_tool() -> None:
    action = decide(turn(asked(), BRIEFED, said(call("bash", "b1", command="ls"))))
    assert isinstance(action, CorrectModel)
    assert action.reason == "unknown_tool"
    assert 'There is no tool "bash"' in action.text
    assert "run_bash" not in action.text


def test_an_empty_command_is_sent_back() -> None:
    action = decide(with_a_shell(said(call("run_bash", "b1", command=" \n"))))
    assert isinstance(action, CorrectModel)
    assert action.reason == "empty_code"


def test_a_refused_command_reads_as_one() -> None:
    refused = "the command was not run: it was not approved."
    ran = cell("ls -l", "b1", language="bash", status="killed", notice=refused)
    action = decide(with_a_shell(ASKS, ran))
    assert isinstance(action, AskModel)
    result = next(message for message in action.messages if message["role"] == "tool")
    assert refused in result["content"]
    assert "do the step in Python" in result["content"]
    assert "memory" not in result["content"]


def test_a_thread_that_lost_its_shell_still_tells_what_was_done_in_it() -> None:
    ran = cell("ls -l", "b1", language="bash", stdout="sales.csv")
    for native in (True, False):
        told = json.dumps(messages(turn(asked(), BRIEFED, ASKS, ran, native_tools=native)))
        assert "ls -l" in told
        assert "sales.csv" in told


def test_a_step_from_before_there_were_shells_is_one_of_python() -> None:
    stored = cell().model_dump(mode="json")
    del stored["language"]
    assert load_step(stored) == cell()
    assert CellRan.model_fields["language"].default == "python"
