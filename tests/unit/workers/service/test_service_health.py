"""The health page of a worker service: each process of it is a part, which is down when it is gone or keeps dying."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from tools_world import served, table
from turn_world import NewWorld

from core.errors import SlackFailed
from core.health import Missing
from core.settings import Settings, load_settings
from executor.values import Sandbox
from workers.service import health
from workers.service.processes import registry
from workers.service.supervisor import forked_targets

NOBODY: Any = None
Starts = Callable[[Settings, str], Callable[[], None]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Those of a service that forks everything it can."""
    (tmp_path / "threadbook.toml").write_text('[memory]\nembedding_model = "a-model"\n')
    (tmp_path / ".threadbook").mkdir()
    return load_settings({"THREADBOOK_WORKER_HEALTH_PORT": "9102"}, tmp_path)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    """Gives for a process of a registry what starts it once more: under another pid."""

    def of(settings: Settings, name: str) -> Callable[[], None]:
        born = iter(range(1, 1_000))

        def start() -> None:
            began = next(born)
            monkeypatch.setattr(registry, "started_at", lambda _: began)
            registry.write_registry(settings, {name: os.getpid()})

        start()
        return start

    return of


def test_every_process_that_a_service_forks_is_a_part(settings: Settings) -> None:
    forked = {name.replace(" ", "_") for name in forked_targets(settings) if not name.startswith("worker-")}
    assert forked - {"health"} <= set(health.checks(settings, NOBODY, NOBODY))


@pytest.mark.parametrize("name", ["schedules", "clean room", "vectors"])
def test_a_process_that_is_gone_is_missing(settings: Settings, starts: Starts, name: str) -> None:
    check = health.checks(settings, NOBODY, NOBODY)[name.replace(" ", "_")]
    with pytest.raises(Missing, match="its process is gone"):
        check()
    starts(settings, name)
    assert check() == "runs"


@pytest.mark.parametrize("hours", [-1, 1], ids=["long ago", "before the clock was set back"])
def test_a_janitor_that_does_not_sweep_is_missing(settings: Settings, starts: Starts, hours: int) -> None:
    check, file = health.checks(settings, NOBODY, NOBODY)["janitor"], registry.sweep_file(settings)
    starts(settings, "janitor")
    file.touch()
    assert check() == "sweeps"
    at = time.time() + hours * 3_600
    os.utime(file, (at, at))
    with pytest.raises(Missing, match="its last sweep was"):
        check()


@pytest.mark.parametrize("name", ["schedules", "clean room", "vectors", "worker-1"])
def test_a_process_that_keeps_dying_is_missing_while_it_lives(settings: Settings, starts: Starts, name: str) -> None:
    part = "workers" if name == "worker-1" else name.replace(" ", "_")
    check, start = health.checks(settings, NOBODY, NOBODY)[part], starts(settings, name)
    check()
    start()
    check()  # once may happen
    start()
    with pytest.raises(Missing, match=r"its process ended 2 times within 60 s|1 of them keeps dying"):
        check()


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


MANY = {
    "SLACK_CLIENT_ID": "1.2",
    "SLACK_CLIENT_SECRET": "a-secret",
    "SLACK_SIGNING_SECRET": "a-secret",
    "THREADBOOK_TOKEN_KEYS": "a-key",
}


@pytest.mark.parametrize(
    ("env", "refusal", "is_up"),
    [(MANY, "not_authed", True), (MANY, "invalid_arguments", False), ({}, "not_authed", False)],
)
def test_with_many_workspaces_slack_answers_without_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], refusal: str, is_up: bool
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SlackApiError(refusal, {"ok": False, "error": refusal})

    monkeypatch.setattr(WebClient, "api_call", refuse)
    check = health.checks(load_settings(env, tmp_path), NOBODY, NOBODY)["slack"]
    if is_up:
        assert check() == "answers"
    else:
        with pytest.raises(SlackFailed, match=refusal):
            check()
