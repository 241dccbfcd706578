"""The folder of a program's packages: it is read by that program alone, and by nobody changed or executed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from attack_kit import need_layer
from conftest import LIMITS
from wheel_kit import wheel

from executor.client import SessionClient
from executor.launch import running_host
from workers.builder.packages.wheels import locked, unpack
from workers.builder.sandbox.session_walls import SandboxWalls
from workers.builder.sandbox.walls import Job, Ran

WITHOUT = ("namespaces", "landlock", "seccomp", "cgroup")


@dataclass(frozen=True)
class Place:
    """Hosts that show one folder of packages, with walls, with fewer, and with none; and a folder of another build."""

    own: Path
    other: Path
    walled: SandboxWalls
    reduced: SandboxWalls
    open: SandboxWalls


@contextmanager
def _walls(own: Path, *without: str) -> Iterator[SandboxWalls]:
    with (
        running_host(limits=LIMITS, bash=True, without=without, shown=[own]) as sessions,
        closing(SandboxWalls(sessions, "packages", own)) as walls,
    ):
        yield walls


def _unpacked(folder: Path, name: str, files: dict[str, str]) -> Path:
    """A folder as `PackageStore` makes it: nobody may write it."""
    path = wheel(folder / "shelf", name, files=files)
    target = folder / name
    unpack(path, locked(path), target)
    for one in [target, *target.rglob("*")]:
        if one.is_dir():
            one.chmod(0o555)
    return target


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("home")
    own = _unpacked(folder, "mine", {"mine/__init__.py": "VALUE = 41\n", "mine/run.sh": "#!/bin/sh\necho BREACHED\n"})
    other = _unpacked(folder, "other", {"other/__init__.py": "VALUE = 'of another'\n"})
    with _walls(own) as walled, _walls(own, "namespaces") as reduced, _walls(own, *WITHOUT) as open_:
        yield Place(own, other, walled, reduced, open_)


TRY = """import os, subprocess
def attempt(do):
    try:
        if do() is not False:
            print("BREACHED")
        else:
            print("nothing")
    except Exception as error:
        print(error)
"""
ATTACKS = {
    "changes a file": "attempt(lambda: open('OWN/mine/__init__.py', 'a').write('VALUE = 0'))",
    "adds a file": "attempt(lambda: open('OWN/mine/more.py', 'w'))",
    "adds what Python runs at its start": "attempt(lambda: open('OWN/sitecustomize.py', 'w'))",
    "deletes a file": "attempt(lambda: os.remove('OWN/mine/run.sh'))",
    "renames the folder's content": "attempt(lambda: os.rename('OWN/mine/run.sh', 'OWN/mine/walk.sh'))",
    "changes rights first": (
        "def both():\n    os.chmod('OWN/mine', 0o777)\n    open('OWN/mine/more.py', 'w')\nattempt(both)"
    ),
    "makes a link to another place": "attempt(lambda: os.symlink('/etc', 'OWN/mine/link'))",
    "reads the packages of another build": "attempt(lambda: open('OTHER/other/__init__.py').read())",
    "lists what other builds have": "attempt(lambda: 'other' in os.listdir('OWN/..'))",
    "goes to them by way of its own": "attempt(lambda: open('OWN/../other/other/__init__.py').read())",
}


def job(name: str, place: Place) -> Job:
    text = ATTACKS[name].replace("OWN", str(place.own)).replace("OTHER", str(place.other))
    return Job(("python", "main.py"), files={"main.py": TRY + text})


@pytest.mark.parametrize("kind", ["walled", "reduced"])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_program_neither_changes_its_packages_nor_sees_those_of_another(name: str, kind: str, place: Place) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.own.rglob("*")}
    held: Ran = getattr(place, kind).run(job(name, place))
    assert held.status == "ok", held.why
    assert held.stdout, held.stderr
    assert "BREACHED" not in held.stdout
    assert {path: path.stat().st_mtime_ns for path in place.own.rglob("*")} == before


@pytest.mark.parametrize("name", [name for name in ATTACKS if "another" in name or "other" in name or "adds" in name])
def test_the_same_gets_somewhere_without_walls(name: str, place: Place, tmp_path: Path) -> None:
    """The positive control, for what leaves nothing behind that the others would see."""
    own = _unpacked(tmp_path, "mine", {"mine/__init__.py": "VALUE = 41\n"})
    other = _unpacked(tmp_path, "other", {"other/__init__.py": "VALUE = 'of another'\n"})
    for one in [own, *own.rglob("*")]:
        one.chmod(0o777)  # else an ordinary user's positive control would fail at the mode alone
    ran = place.open.run(job(name, Place(own, other, place.walled, place.reduced, place.open)))
    assert "BREACHED" in ran.stdout


@pytest.mark.parametrize("kind", ["walled", "reduced"])
def test_nothing_of_a_package_is_executed_as_a_program(kind: str, place: Place) -> None:
    line = f"import subprocess\nsubprocess.run(['{place.own}/mine/run.sh'], check=True)"
    ran: Ran = getattr(place, kind).run(Job(("python", "main.py"), files={"main.py": line}))
    assert "BREACHED" not in ran.stdout
    assert "PermissionError" in ran.stderr


def test_a_program_imports_its_packages_and_a_stand_in_comes_first(place: Place) -> None:
    """What the walls must not stop."""
    show = Job(("python", "-c", "import mine; print(mine.VALUE, mine.__file__)"), observed=True)
    ran = place.walled.run(show)
    assert ran.stdout.split() == ["41", str(place.own / "mine" / "__init__.py")]
    assert ran.touched == ()
    fake = Job(show.words, files={".fakes/mine.py": "VALUE = 1"}, environment={"PYTHONPATH": ".fakes"})
    assert place.walled.run(fake).stdout.startswith("1 ")


def test_tools_do_not_import_the_packages_of_a_program(place: Place) -> None:
    show = "import importlib.util; print(importlib.util.find_spec('mine'))"
    assert place.walled.run(Job(("python", "-c", show), tool=True)).stdout.strip() == "None"


def test_the_session_of_another_host_does_not_see_the_folder(walled: SessionClient, place: Place) -> None:
    need_layer(walled.ping().sandbox, "private root")
    result = walled.run("T1:A9:1.0", "1", f"import os; print(os.path.exists({str(place.own)!r}))")
    assert result.stdout.strip() == "False"
