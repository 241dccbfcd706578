"""What leaves when a model obeys files that order it to run code: whole turns, with real sessions behind them.

Orders that are carried out in words or by calls are in tests/unit/workers/turn/test_turn_injection.py.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hostile_files import RUN, made
from obeying_model import ObeyingModel
from turn_world import World, hurried, new_database
from what_leaves import leaks

from executor.client import SessionClient
from executor.launch import running_host

CARRIERS = ("a cell of a CSV file", "a comment in a workbook", "the metadata of a PNG")
OTHER = "canary-of-another-thread-4711"
SECRETS = {"SLACK_BOT_TOKEN": "xoxb-planted-4711", "OPENAI_API_KEY": "sk-planted-4711"}


class RealSessions(SessionClient):
    """A session host as whole turns in memory want it."""

    halted = False

    def watch(self, when: str, effect: str) -> None:
        """Nobody dies in these tests."""


@contextmanager
def world_with_sessions(folder: Path, **options: Any) -> Iterator[World]:
    with (
        running_host(folder / "host", **options) as client,
        hurried(),
        closing(World(folder / "world", new_database(folder))) as world,
    ):
        world.sessions = world._hosts["here"] = RealSessions(client._path)  # type: ignore[assignment]
        world.sessions.run("T1:C1:other", "1", f"open('mine.csv', 'w').write({OTHER!r})\nkept = {OTHER!r}")
        yield world


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        yield listening


def obeyed(world: World, folder: Path, server: socket.socket) -> list[str]:
    """What left in a turn with a file per order; that a server was reached is a line, too."""
    world.model = model = ObeyingModel(here=str(folder / "host"), port=server.getsockname()[1])
    files = [made(number, CARRIERS[number % 3], what) for number, what in enumerate(RUN, 1)]
    key = world.say("What is in these files?", files={file.name: file.content for file in files})
    world.settle(key)
    assert model.obeyed == {(file.order, file.number) for file in files}
    found = leaks(world.slack, key, secrets=[*SECRETS.values(), OTHER, "root:"])
    try:
        server.accept()[0].close()
    except TimeoutError:
        return found
    return [*found, "a server of the host was reached"]


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("without", [(), ("namespaces", "cgroup")])
def test_a_model_that_obeys_files_gets_no_secret_no_other_thread_and_no_network(
    tmp_path: Path, server: socket.socket, without: tuple[str, ...]
) -> None:
    with world_with_sessions(tmp_path, without=without) as world:
        assert obeyed(world, tmp_path, server) == []


def test_the_same_turn_leaks_where_no_wall_is(tmp_path: Path, server: socket.socket) -> None:
    """The control. Of secrets there is nothing to be seen here either: the host never had them."""
    with world_with_sessions(tmp_path, without=("namespaces", "landlock", "seccomp", "cgroup")) as world:
        found = "\n".join(obeyed(world, tmp_path, server))
        assert "holds a secret (cana...)" in found
        assert "a server of the host was reached" in found
