"""Packages that a program of a thread needs: shown, approved by who may, installed, and never without a yes."""

from __future__ import annotations

import dataclasses
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from builder_kit import LocalWalls, code
from test_turn_building import Author, asked, decide, outcomes, posted, steps, versions, whispers
from turn_world import ANA, BEN, World
from wheel_kit import wheel

from core.commands.registry import BUILDING, INSTALLING
from core.steps import Proposed
from core.team_memory import MemoryDecision
from core.values import ThreadKey
from workers.turn import building

pytestmark = pytest.mark.process

REQUIREMENT = '''[file]
name = "greet"

[project]
requirements = """
Print hello and the first argument.
"""

[run]
packages = ["shout"]

[build]
without = ["lint", "types", "security", "coverage", "review"]

[[tests.case]]
name = "it greets"
arguments = ["Ana"]
covers = ["R1"]
expect = { stdout = "HELLO ANA\\n" }
'''
CODE = code("greet.py", 'import sys\nfrom shout import shout\nprint(shout("hello " + sys.argv[1]))')


class PackageWalls(LocalWalls):
    folder: Path | None = None

    def run(self, job: Any) -> Any:
        more = {**job.environment, "PYTHONPATH": str(self.folder or "")}
        return super().run(dataclasses.replace(job, environment=more))


@pytest.fixture(autouse=True)
def walls(monkeypatch: pytest.MonkeyPatch) -> PackageWalls:
    local = PackageWalls()

    @contextmanager
    def without_walls(*given: Any) -> Iterator[PackageWalls]:
        local.folder = given[3]
        yield local

    monkeypatch.setattr(building, "walls_for", without_walls)
    return local


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    wheel(tmp_path / "shelf", "shout", files={"shout.py": "def shout(text):\n    return text.upper()\n"})
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    return tmp_path / "shelf"


def wanted(world: World) -> ThreadKey:
    """A thread whose file was sent, and where somebody pressed "Build"."""
    key = asked(world, "build", model=Author(codes=(CODE,)), greet_toml=REQUIREMENT.encode())
    decide(world, key, "keep")
    return key


def press(world: World, key: ThreadKey, do: Any, *, user: str = ANA, kind: str = INSTALLING) -> None:
    question = next(one for one in versions(world, key) if one.what == "packages")
    decision = MemoryDecision(proposal=question.id, do=do, version=question.version)
    world._take_in(key, world.slack._next_ts(), user, decision.encode(), kind)
    world.settle(key)


def home(world: World) -> Path:
    return world.settings.home / "packages"


def test_the_packages_are_shown_before_anything_is_built(world: World, walls: PackageWalls) -> None:
    key = wanted(world)
    said = world.text(key)
    assert "greet needs packages that are not here" in said
    assert "shout 1.0, " in said
    assert "MIT, sha256 " in said
    assert "[Install and build]" in said
    assert "[Build without them]" in said
    assert (walls.jobs, outcomes(world, key), home(world).exists()) == ([], [], False)


def test_with_a_yes_they_are_installed_and_the_program_is_built_and_tested(world: World) -> None:
    key = wanted(world)
    press(world, key, "keep")
    assert outcomes(world, key) == ["kept", "built"]
    with zipfile.ZipFile(io.BytesIO(posted(world, "greet.zip"))) as archive:
        assert archive.read("greet/requirements.txt").startswith(b"shout==1.0 \\\n    --hash=sha256:")
    said = world.text(key)
    assert "ana approved the packages of “greet”." in said
    assert "Tests: 1 of 1 pass" in said
    assert "[Install and build]" not in said


def test_without_them_the_program_is_built_and_said_to_be_untested(world: World) -> None:
    key = wanted(world)
    press(world, key, "drop")
    assert outcomes(world, key) == ["dropped", "built"]
    said = world.text(key)
    assert "decided to build “greet” without the packages" in said
    assert "Not installed, so it did not run as intended: shout (nobody approved them)." in said
    assert "1 of 1 pass" not in said
    assert not home(world).exists()


def test_who_did_not_ask_and_is_no_admin_approves_nothing(world: World) -> None:
    key = wanted(world)
    press(world, key, "keep", user=BEN)
    assert outcomes(world, key) == []
    assert not home(world).exists()


@pytest.mark.parametrize("kind", [BUILDING, "memory"])
def test_a_press_that_claims_to_be_something_else_approves_nothing(world: World, kind: str) -> None:
    key = wanted(world)
    press(world, key, "keep", kind=kind)
    assert outcomes(world, key) == []
    assert not home(world).exists()


def test_a_yes_to_packages_of_an_older_version_does_nothing(world: World) -> None:
    key = wanted(world)
    newest = versions(world, key)[0]
    text = REQUIREMENT.replace("hello", "good day", 1)
    decision = MemoryDecision(proposal=newest.id, do="edit", text=text, version=1)
    world._take_in(key, world.slack._next_ts(), BEN, decision.encode(), BUILDING)
    world.settle(key)
    press(world, key, "keep")
    assert outcomes(world, key) == []
    assert not home(world).exists()
    assert "saved version 2" in whispers(world)


def test_a_second_press_is_told_that_it_is_late(world: World) -> None:
    key = wanted(world)
    press(world, key, "keep")
    press(world, key, "drop")
    assert outcomes(world, key) == ["kept", "built"]
    assert "approved the packages of “greet”" in whispers(world)


def test_wheels_that_changed_after_they_were_shown_are_not_installed(world: World, shelf: Path) -> None:
    key = wanted(world)
    wheel(shelf, "shout", files={"shout.py": "print('other')\n"})
    press(world, key, "keep")
    assert "Not installed, so it did not run as intended: shout (pip says:" in world.text(key)
    assert list(home(world).iterdir()) == []


def test_the_owners_list_asks_nobody(new_world: Any) -> None:
    world = new_world(team='[packages]\nallowed = ["shout"]\n')
    key = wanted(world)
    assert outcomes(world, key) == ["built"]
    assert not [step for step in steps(world, key) if isinstance(step, Proposed) and step.what == "packages"]
