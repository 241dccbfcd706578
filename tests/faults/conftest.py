"""One world for all rows of the table. When a test fails, the next one gets a new world."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack

import pytest
from fault_servers import end
from fault_table import Table
from fault_world import World, world_of_its_own

FAILED = pytest.StashKey[bool]()


class Worlds:
    """The running product, made again when a test left it broken."""

    def __init__(self, nodes: int = 1) -> None:
        self._nodes = nodes
        self._stack = ExitStack()
        self._world: World | None = None

    def now(self) -> World:
        """A world that works."""
        if self._world is None:
            self._world = self._stack.enter_context(world_of_its_own(nodes=self._nodes))
        return self._world

    def end(self) -> None:
        """Stop it."""
        self._world = None
        self._stack.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def worlds() -> Iterator[Worlds]:
    """The worlds of this session."""
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
    """Worlds of two nodes."""
    kept = Worlds(nodes=2)
    yield kept
    kept.end()


@pytest.fixture
def pair(pairs: Worlds, request: pytest.FixtureRequest) -> Iterator[World]:
    """A team's two nodes, of which only the first runs, before each test and after one that passed."""
    world = pairs.now()
    yield world
    if request.node.stash.get(FAILED, True):
        pairs.end()
        return
    for node in world.nodes[1:]:
        end(node.process)
        node.process = None


@pytest.fixture(scope="session")
def table() -> Iterator[Table]:
    """The rows that docs/reliability.md shows."""
    rows = Table()
    yield rows
    rows.write()
