"""A command of bash in a thread, with a real session host: asked for, approved with a press, run in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Stack, running_stack, session_host

from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

COMMAND = "wc -l < sales.csv; cat /etc/shadow; echo made > made.txt"


@pytest.fixture
def stack(tmp_path: Path, redis_url: str) -> Iterator[Stack]:
    """A team with a shell."""
    home = tmp_path / "home"
    with session_host(home, "[sandbox]\nbash = true\n"), running_stack(home, redis_url, ScriptedModel([])) as stack:
        yield stack


def reply(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def test_a_command_waits_for_a_press_and_then_runs_inside_the_walls(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    read = reply("run_python", code="print(open('made.txt').read(), len(open('sales.csv').readlines()))", title="Read")
    stack.puppet.model = ScriptedModel(
        [
            reply("run_bash", command=COMMAND, title="Count the lines"),
            read,
            reply("finish", report="It has **3** lines."),
        ]
    )
    talk = stack.ask("How many lines has the file?", [path])
    assert talk.turn.status == "waiting"
    assert talk.steps("cell") == []
    (asking,) = [message for message in talk.messages if "[Run]" in message_text(message)]
    assert "Count the lines" in message_text(asking)
    stack.slack.press(talk.key, asking["ts"], "approve:run", "ana")
    stack.wait_for(lambda: talk.turn.status == "done", "the rest of the turn")
    command, cell = talk.steps("cell")
    assert (command.language, command.stdout) == ("bash", "3\n")
    assert "/etc/shadow" in command.stderr
    assert cell.stdout == "made\n 3\n"
    assert "let it run" in talk.text
