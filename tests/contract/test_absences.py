"""What is absent is part of the design: each line here is a promise that a reader of the code may rely on."""

from __future__ import annotations

import ast
import re
import sys

import pytest
from own_code import ROOT, files, imports_of, name_of, nodes_of

ROOMS = ("bot", "workers", "core", "executor", "playground", "tryout")
INSIDE = "executor/inside/"
"""The only room whose code runs in a subprocess: heavy libraries and pickle are met there, if at all."""


PRODUCT = (ROOT / "threadbook.py", *files(*ROOMS))


def all_imports(room: str) -> set[tuple[str, str]]:
    """(file, top-level package) for every import of a room."""
    return {(name_of(path), name.split(".")[0]) for path in files(room) for name in imports_of(path)}


def importers(package: str) -> set[str]:
    return {
        name_of(path)
        for path in PRODUCT
        if any(name == package or name.startswith(package + ".") for name in imports_of(path))
    }


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("openai", ("workers/models/",)),
        ("rq", ("core/queue.py", "workers/service/rq_worker.py", "workers/service/wake_job.py")),
        ("slack_bolt", ("bot/",)),
        ("mcp", ("workers/tools/session.py", "tryout/mcp_server.py")),
        ("playground", ("playground/", "threadbook.py")),
        ("pickle", (INSIDE,)),
        ("cloudpickle", (INSIDE,)),
    ],
)
def test_a_part_is_imported_only_in_its_room(package: str, allowed: tuple[str, ...]) -> None:
    strangers = {path for path in importers(package) if not path.startswith(allowed)}
    assert not strangers, f"{package} belongs to {', '.join(allowed)} alone"


def test_the_process_environment_is_read_in_one_place() -> None:
    names = {"environ", "getenv", "environb"}
    readers = {
        name_of(path)
        for path, node in nodes_of(PRODUCT, names)
        if isinstance(node, ast.Attribute) and node.attr in names
    }
    assert "core/settings.py" in readers
    assert {path for path in readers if not path.startswith("executor/")} <= {"core/settings.py"}


def test_the_executor_needs_only_the_standard_library() -> None:
    foreign = {
        (path, name)
        for path, name in all_imports("executor")
        if name not in {*sys.stdlib_module_names, "executor"} and not path.startswith(INSIDE)
    }
    assert not foreign


def test_the_analysts_loop_reads_no_clock_and_starts_nothing() -> None:
    effects = {"time", "random", "os", "socket", "subprocess", "threading", "asyncio"}
    assert {(path, name) for path, name in all_imports("workers/agent") if name in effects} == set()
    clocks = re.compile(r"\bdatetime\.(now|utcnow|today)\b|\bdate\.today\b")  # a moment as a value is no clock
    assert [path for path in files("workers/agent") if clocks.search(path.read_text())] == []


def test_the_playground_imports_nothing_of_ours() -> None:
    ours = {name for path in files("playground") for name in imports_of(path) if name.split(".")[0] in ROOMS}
    assert {name for name in ours if not name.startswith("playground")} == set()
