"""tests/unit mirrors the product: whoever looks for the tests of a package finds them under the same path."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"
ROOMS = ("bot", "core", "executor", "playground", "tryout", "workers")
INSIDE_ANOTHER = {
    # What only runs inside a session's own process is met through a session.
    "executor/inside": "executor",
    "executor/sandbox": "executor",
    "workers/profiling/inside": "workers/profiling",
    # Parts that have no door of their own.
    "bot/home": "bot",
    "bot/presses": "bot",
    "executor/state": "executor",
    "core/store/migrations": "core/store",
    "core/store/migrations/versions": "core/store",
    "playground/api": "playground",
    "playground/blocks": "playground",
    "playground/page": "playground",
    "executor/attacks": "tryout",
    **{
        f"workers/agent/provenance/{room}": "workers/agent/provenance"
        for room in ("claims", "consistency", "derivations", "formulas", "language", "outputs", "ranks", "statements")
    },
    **{
        f"workers/builder/{room}": "workers/builder"
        for room in ("critics", "history", "packages", "requirements", "sandbox", "testing")
    },
    "workers/memory/functions": "workers/memory",
    "workers/memory/imports": "workers/memory",
    "workers/memory/meaning": "workers/memory",
    "workers/memory/playbooks": "workers/memory",
    "workers/offline/intent": "workers/offline",
    "workers/offline/templates": "workers/offline",
}
"""Packages whose tests stand with those of another."""


def packages() -> list[str]:
    modules = (path for room in ROOMS for path in (ROOT / room).rglob("*.py") if path.name != "__init__.py")
    return sorted({path.parent.relative_to(ROOT).as_posix() for path in modules})


@pytest.mark.parametrize("package", packages())
def test_each_package_has_its_tests_under_the_same_path(package: str) -> None:
    folder = UNIT / INSIDE_ANOTHER.get(package, package)
    assert list(folder.glob("test_*.py")), f"{package} has no tests in {folder.relative_to(ROOT)}"


def test_each_folder_of_tests_is_that_of_a_package() -> None:
    folders = {path.parent.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py")}
    assert [folder for folder in sorted(folders) if not (ROOT / folder).is_dir()] == []


def test_no_two_test_modules_have_one_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_what_is_excused_from_the_mirror_is_there() -> None:
    assert [name for name in INSIDE_ANOTHER if not (ROOT / name).is_dir()] == []
