"""Hosts for the attacks: one with every wall that this machine gives, and one per wall that is left out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from patience import PATIENCE_S

from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult, Limits, Sandbox

LIMITS = Limits(
    cell_timeout_s=PATIENCE_S,
    cell_grace_s=1,
    memory_mb=400,
    processes=24,
    workspace_mb=64,
    workspace_files=2_000,
    artifact_mb=8,
)
_numbers = itertools.count(1)

Attack = Callable[[str], CellResult]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/attacks" in str(item.path):
            item.add_marker(pytest.mark.attack)


@pytest.fixture(scope="session")
def walled() -> Iterator[SessionClient]:
    with running_host(limits=LIMITS, bash=True) as client:
        yield client


@pytest.fixture(scope="session")
def sandbox(walled: SessionClient) -> Sandbox:
    return walled.ping().sandbox


@pytest.fixture(scope="session")
def unwalled() -> Iterator[SessionClient]:
    """The positive control: the same attacks must get through here, or they prove nothing."""
    with running_host(limits=LIMITS, without=("namespaces", "landlock", "seccomp", "cgroup"), bash=True) as client:
        yield client


@pytest.fixture(scope="session")
def uncounted() -> Iterator[SessionClient]:
    """A host on which no cgroup counts what a session holds: it has to do so by itself."""
    with running_host(limits=LIMITS, without=("cgroup",), bash=True) as client:
        yield client


@pytest.fixture(scope="session")
def uncounted_reduced() -> Iterator[SessionClient]:
    """The same without namespaces."""
    with running_host(limits=LIMITS, without=("cgroup", "namespaces"), bash=True) as client:
        yield client


@pytest.fixture
def thread() -> str:
    return f"T1:A1:{next(_numbers)}.0"


@pytest.fixture
def attack(walled: SessionClient, thread: str) -> Attack:
    cells = itertools.count(1)
    return lambda code, **options: walled.run(thread, f"a{next(cells)}", code, **options)


@pytest.fixture
def control(unwalled: SessionClient, thread: str) -> Attack:
    cells = itertools.count(1)
    return lambda code, **options: unwalled.run(thread, f"a{next(cells)}", code, **options)
