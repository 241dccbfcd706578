"""What a team decides about the sessions of its threads: the limits of one channel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from harness import Stack, running_stack, session_host

from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst

pytestmark = pytest.mark.integration

TEAM = """
[channels.C0CHURN001.limits]
cell_timeout_s = 0.5
memory_mb = 300
[sandbox]
minimum = "none"
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("sessions")
    with session_host(home, TEAM), running_stack(home, redis_url, OfflineAnalyst()) as running:
        yield running


class Listener(ScriptedModel):
    """Follows a script and keeps what it was asked."""

    def __init__(self, *calls: dict[str, Any]) -> None:
        super().__init__([{"calls": [call]} for call in calls])
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.requests.append(request)
        return super().complete(request, on_delta)


def python(code: str) -> dict[str, Any]:
    return {"name": "run_python", "arguments": {"code": code, "title": "Step"}}


def finish(report: str) -> dict[str, Any]:
    return {"name": "finish", "arguments": {"report": report}}


def test_a_channel_has_its_own_limits_from_settings_to_the_cell(stack: Stack) -> None:
    slow, large = "import time\ntime.sleep(2)\nprint('slept')", "x = bytearray(400 << 20)\nprint('held')"
    ended = {}
    for channel in ("#churn", "#sales"):
        stack.puppet.model = Listener(python(slow), python(large), finish("That is all."))
        talk = replace(stack, channel=channel).ask("How far can we go?")
        ended[channel] = [(cell.status, cell.stdout) for cell in talk.steps("cell")]
    assert [status for status, _ in ended["#churn"]] == ["timeout", "error"]
    assert ended["#sales"] == [("ok", "slept\n"), ("ok", "held\n")]


def test_the_analyst_is_told_the_limits_of_the_channel(stack: Stack) -> None:
    told = {}
    for channel in ("#churn", "#sales"):
        model = stack.puppet.model = Listener(finish("That is all."))
        replace(stack, channel=channel).ask("How far can we go?")
        told[channel] = model.requests[0].messages[0]["content"]
    assert "A cell may take 0.5 seconds, the session 300 MB of memory" in told["#churn"]
    assert "the session 2048 MB of memory" in told["#sales"]


def test_no_shell_is_offered_and_a_command_is_answered_with_what_there_is(stack: Stack) -> None:
    command = {"name": "run_bash", "arguments": {"command": "touch made", "title": "Make a file"}}
    model = stack.puppet.model = Listener(command, python("import os\nprint(os.listdir())"), finish("That is all."))
    talk = stack.ask("What is in the folder?")
    (look,) = talk.steps("cell")
    assert (look.language, look.stdout) == ("python", "[]\n")
    assert "run_bash" not in [tool["function"]["name"] for tool in model.requests[0].tools]
    assert any('There is no tool "run_bash"' in str(message) for message in model.requests[1].messages)
    assert talk.turn.status == "done"


def test_no_cell_runs_a_program(stack: Stack) -> None:
    stack.puppet.model = Listener(python("import subprocess\nsubprocess.run(['/bin/true'])"), finish("That is all."))
    talk = stack.ask("Can you run a program?")
    assert talk.steps("cell")[0].error_name == "PermissionError"
