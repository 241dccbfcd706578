"""What pip installs: lower bounds that hold, and exact versions for whoever wants what was tested."""

from __future__ import annotations

import ast
import importlib.util
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {name: listed for name, listed in PROJECT["optional-dependencies"].items() if name != "pinned"}
STATED = [Requirement(each) for listed in (PROJECT["dependencies"], *EXTRAS.values()) for each in listed]
ROOMS = ("bot", "core", "executor", "playground", "prompts", "tryout", "workers")


@pytest.fixture(scope="module")
def pins() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pins_script", ROOT / "scripts" / "pins.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("stated", STATED, ids=str)
def test_each_package_has_a_lower_bound_that_the_tested_version_meets(stated: Requirement, pins: ModuleType) -> None:
    assert {one.operator for one in stated.specifier} == {">="}
    assert stated.specifier.contains(pins.constraints()[canonicalize_name(stated.name)])


def test_the_pinned_extra_names_all_that_running_needs(pins: ModuleType) -> None:
    """Red after a change of dependencies: run scripts/pins.py."""
    assert PROJECT["optional-dependencies"]["pinned"] == pins.pins()


def test_what_the_product_imports_is_stated() -> None:
    stated = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    stated |= {canonicalize_name(Requirement(each).name) for each in EXTRAS["s3"]}
    ours = {*ROOMS, "threadbook", *sys.stdlib_module_names}
    distributions = metadata.packages_distributions()
    unstated = {
        name
        for name in imported()
        if name not in ours and not stated & {canonicalize_name(each) for each in distributions.get(name, [])}
    }
    assert unstated == set()


def imported() -> set[str]:
    """The packages that the modules of the product import at their top: what a process needs to start."""
    files = [ROOT / "threadbook.py", *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))]
    found: set[str] = set()
    for path in files:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def test_every_pinned_package_runs_on_the_oldest_python_that_we_promise(pins: ModuleType) -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    pinned = pins.constraints()
    needs = {canonicalize_name(one.name): one.metadata.get("Requires-Python") for one in metadata.distributions()}
    assert len(needs.keys() & pinned.keys()) > 100
    assert [name for name in sorted(pinned) if not SpecifierSet(needs.get(name) or "").contains(oldest)] == []
