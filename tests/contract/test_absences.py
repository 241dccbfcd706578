"""What is absent is part of the design: each line here is a promise that a reader of the code may rely on.

Who may import what is held by the import contracts in `pyproject.toml`. Here is what they cannot say.
"""

from __future__ import annotations

import ast
import re
import sys

from own_code import ROOT, files, imports_of, name_of, nodes_of

ROOMS = ("bot", "workers", "core", "executor", "playground", "tryout")
INSIDE = "executor/inside/"
"""The only room whose code runs in a subprocess: heavy libraries are met there, if at all."""


PRODUCT = (ROOT / "threadbook.py", *files(*ROOMS))


def all_imports(room: str) -> set[tuple[str, str]]:
    """(file, top-level package) for every import of a room."""
    return {(name_of(path), name.split(".")[0]) for path in files(room) for name in imports_of(path)}


def test_the_entry_point_only_starts_rooms() -> None:
    """One file that is no package is outside the import contracts."""
    known = {name.split(".")[0] for name in imports_of(ROOT / "threadbook.py")}
    assert known <= {*sys.stdlib_module_names, *ROOMS, "typer"} - {"pickle"}


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


def test_the_analysts_loop_reads_no_clock() -> None:
    clocks = re.compile(r"\bdatetime\.(now|utcnow|today)\b|\bdate\.today\b")  # a moment as a value is no clock
    assert [path for path in files("workers/agent") if clocks.search(path.read_text())] == []
