"""What is absent is part of the design: each line here is a promise that a reader of the code may rely on."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("bot", "workers", "core", "executor", "playground", "tryout")
INSIDE = "executor/inside/"
"""The only room whose code runs in a subprocess: heavy libraries and pickle are met there, if at all."""


def product_files() -> Iterator[Path]:
    yield ROOT / "threadbook.py"
    for room in ROOMS:
        yield from sorted((ROOT / room).rglob("*.py"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def all_imports(room: str) -> set[tuple[str, str]]:
    """(file, top-level package) for every import of a room."""
    files = sorted((ROOT / room).rglob("*.py"))
    return {(path.relative_to(ROOT).as_posix(), name.split(".")[0]) for path in files for name in imports(path)}


def importers(package: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in product_files()
        if any(name == package or name.startswith(package + ".") for name in imports(path))
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
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in product_files()
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb")
    }
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
    assert [path for path in sorted((ROOT / "workers/agent").rglob("*.py")) if clocks.search(path.read_text())] == []


def test_the_playground_imports_nothing_of_ours() -> None:
    ours = {
        name for path in (ROOT / "playground").rglob("*.py") for name in imports(path) if name.split(".")[0] in ROOMS
    }
    assert {name for name in ours if not name.startswith("playground")} == set()
