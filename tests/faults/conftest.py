"""One world for all rows of the table: a fault leaves it whole, or its test fails and the next one gets another."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fault_servers import end
from fault_table import Table
from fault_world import World, running_world

FAILED = pytest.StashKey[bool]()


class Worlds:
    """The running product, made anew when a test left it broken."""

    def __init__(self, hosts: int = 1) -> None:
        self._hosts = hosts
        self._parts = ExitStack()
        self._world: World | None = None

    def now(self) -> World:
        """A world that works. Its folder is one that every user may enter: Postgres runs as another one."""
        if self._world is None:
            folder = Path(tempfile.mkdtemp(prefix="faults-"))
            self._parts.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.chmod(0o755)
            self._world = self._parts.enter_context(running_world(folder, hosts=self._hosts))
        return self._world

    def end(self) -> None:
        """Stop it."""
        self._world = None
        self._parts.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def worlds() -> Iterator[Worlds]:
    """Whole or to be made."""
    kept = Worlds()
    yield kept
    kept.end()


@pytest.fixture
def world(worlds: Worlds, request: pytest.FixtureRequest) -> Iterator[World]:
    """The running product."""
    yield worlds.now()
    if request.node.stash.get(FAILED, True):
        worlds.end()


@pytest.fixture(scope="module")
def pairs() -> Iterator[Worlds]:
    """Worlds of two hosts."""
    kept = Worlds(hosts=2)
    yield kept
    kept.end()


@pytest.fixture
def pair(pairs: Worlds, request: pytest.FixtureRequest) -> Iterator[World]:
    """A team's two hosts, of which the first runs; after a row that held it runs again, alone."""
    world = pairs.now()
    yield world
    if request.node.stash.get(FAILED, True):
        pairs.end()
        return
    for host in world.hosts[1:]:
        end(host.process)
        host.process = None


@pytest.fixture(scope="session")
def table() -> Iterator[Table]:
    """The rows that docs/reliability.md shows."""
    rows = Table()
    yield rows
    rows.write()
