"""Functions in sessions, the real ones with their sandbox and the double: tried, imported, kept with the variables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from function_samples import CODE, NAME, PROPERTY, TESTS, draft

from core.steps import FunctionUsed
from executor.client import SessionClient
from executor.fake import FakeSessions
from executor.launch import running_host
from workers.memory.functions.importing import setup_code
from workers.memory.functions.proof import broken_versions, outcome_of, program

USED = FunctionUsed(file=f"channels/C1/functions/tested/{NAME}", name=NAME, version=1, code=CODE)
THREAD = "T1:C1:1.1"


@pytest.fixture(scope="module")
def real() -> Iterator[SessionClient]:
    with running_host() as host:
        yield host


@pytest.fixture(params=["real", "fake"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionClient]:
    found: SessionClient = request.getfixturevalue("real") if request.param == "real" else FakeSessions(tmp_path)
    yield found
    found.purge(THREAD)
    sys.modules.pop("team", None)


def value(host: SessionClient, cell_id: str, code: str) -> str:
    result = host.run(THREAD, cell_id, code)
    assert result.status == "ok", result.error
    return result.result.text if result.result is not None else ""


def test_the_proof_says_the_same_in_every_session(host: SessionClient) -> None:
    good, wrong = draft(tests=TESTS + PROPERTY), draft(code=CODE.replace("left / before", "left"))
    for given, state in ((good, "passed"), (wrong, "failed")):
        broken = broken_versions(given, [])
        found = outcome_of("function:1", given, value(host, state, program(given, broken)), broken)
        assert found is not None
        assert found.state == state, found.faults
    assert host.vars(THREAD) == [] or [each.name for each in host.vars(THREAD)] == ["_prove"]


def test_an_import_finds_what_was_put_there_before_it_and_nothing_older(host: SessionClient) -> None:
    value(host, "a:team", setup_code([USED]))
    assert value(host, "a", f"from team import {NAME}\n{NAME}(12, 240)") == "0.05"
    newer = USED.model_copy(update={"version": 2, "code": CODE.replace("left / before", "2 * left / before")})
    value(host, "b:team", setup_code([newer]))
    assert value(host, "b", f"from team import {NAME}\n{NAME}(12, 240)") == "0.1"
    value(host, "c:team", setup_code([]))
    assert host.run(THREAD, "c", f"from team import {NAME}").status == "error"


def test_an_undone_import_is_undone_and_the_cell_before_it_leaves_nothing(host: SessionClient) -> None:
    value(host, "a", "x = 1")
    value(host, "b:team", setup_code([USED]))
    value(host, "b", f"from team import {NAME}\ny = {NAME}(1, 1)")
    assert host.undo(THREAD, "b")
    assert value(host, "c", f"x, 'y' in globals(), {NAME!r} in globals()") == "(1, False, False)"


def test_an_imported_function_is_kept_with_the_variables(real: SessionClient) -> None:
    value(real, "a:team", setup_code([USED]))
    value(real, "a", f"from team import {NAME}\nx = 1")
    real.export_session(THREAD)  # its variables are kept by now
    assert real.run(THREAD, "b", "import os; os._exit(1)").status == "died"
    assert value(real, "c", f"x, {NAME}(9, 3)") == "(1, 1.0)"
    real.purge(THREAD)
