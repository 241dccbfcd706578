"""One session host for all tests of the executor; each test has a thread of its own in it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hosts import bare_host
from patience import PATIENCE_S

from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult, Limits

_numbers = itertools.count(1)

Run = Callable[..., CellResult]


@pytest.fixture(scope="session")
def host() -> Iterator[SessionClient]:
    """A host whose limits are small enough to meet them quickly, but for the time that a cell has to stop in."""
    limits = Limits(cell_grace_s=PATIENCE_S, output_kb=64, artifact_mb=2, artifacts=10, artifacts_mb=4)
    with running_host(limits=limits) as client:
        yield client


@pytest.fixture
def impatient() -> Iterator[SessionClient]:
    """A host of the test's own that soon kills a cell which does not stop."""
    with bare_host(limits=Limits(cell_grace_s=0.5)) as client:
        yield client


@pytest.fixture
def thread() -> str:
    """A thread id that no other test uses."""
    return f"T1:C1:{next(_numbers)}.0"


@pytest.fixture
def run_until(host: SessionClient, thread: str) -> Callable[..., CellResult]:
    """`run_until(code)`: run a cell of this test's thread and interrupt it once it has printed something."""

    def run_cell(code: str, cell: str = "long") -> CellResult:
        printed = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            result = pool.submit(host.run, thread, cell, code, on_output=lambda *_: printed.set())
            assert printed.wait(PATIENCE_S)
            assert host.interrupt(thread) is True
            return result.result(PATIENCE_S)

    return run_cell


@pytest.fixture
def run(host: SessionClient, thread: str) -> Run:
    """`run(code)`: the next cell of this test's thread."""
    cells = itertools.count(1)

    def run_cell(code: str, **options: object) -> CellResult:
        return host.run(thread, f"c{next(cells)}", code, **options)  # type: ignore[arg-type]

    return run_cell
