"""The health page of a worker service names the process that calls tools, where there are MCP servers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tools_world import served, table
from turn_world import NewWorld

from core.health import Missing
from executor.values import Sandbox
from workers.service import health

NOBODY: Any = None


def test_the_process_of_tools_is_named_only_where_there_are_servers(new_world: NewWorld, tmp_path: Path) -> None:
    assert "tools" not in health.checks(new_world().settings, NOBODY, NOBODY)
    world = new_world(team=table("tickets", tmp_path, "search"))
    check = health.checks(world.settings, NOBODY, NOBODY)["tools"]
    with served(world.settings):
        assert check() == "answers, MCP servers: 1"


def test_a_process_of_tools_that_does_not_answer_is_missing(
    new_world: NewWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "ANSWER_S", 0.1)
    world = new_world(team=table("tickets", tmp_path, "search"))
    with pytest.raises(Missing, match="does not answer"):
        health.checks(world.settings, NOBODY, NOBODY)["tools"]()


@pytest.mark.parametrize(
    ("sandbox", "shown"),
    [
        (Sandbox("strong", {"landlock": "on: 7", "allow-list": "off"}), "sandbox strong, system calls: deny"),
        (
            Sandbox("reduced", {"namespaces": "off: refused", "landlock": "on: 7", "cgroup": "off: none"}),
            "sandbox reduced without namespaces, cgroup, system calls: deny",
        ),
    ],
)
def test_the_layers_that_a_sandbox_lacks_are_named(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox, shown: str
) -> None:
    class Client:
        def __init__(self, *_: object, **__: object) -> None:
            """Any socket will do."""

        def ping(self) -> SimpleNamespace:
            return SimpleNamespace(sandbox=sandbox, sessions=2)

    monkeypatch.setattr(health, "SessionClient", Client)
    assert health.checks(new_world().settings, NOBODY, NOBODY)["session_host"]() == f"{shown}, 2 sessions"
