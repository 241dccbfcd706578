"""The packages of a program: locked wheels, unpacked strictly, installed once somebody said yes."""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from builder_kit import FINE, LocalWalls, build, code, covered, model, reply
from wheel_kit import sdist, wheel

from core.team_settings import PackageSettings
from executor.sandbox import landlock
from workers.builder.packages import lock as packages_module
from workers.builder.packages.lock import Lock, NoPackages, Packages, PackageStore, gather, needed, specifiers
from workers.builder.packages.wheels import WheelRefused, locked, unpack
from workers.builder.requirements.requirement import RequirementWrong, read

pytestmark = pytest.mark.process

SHOUT = {"shout/__init__.py": "from loudly import louder\ndef shout(text):\n    return louder(text) + '!'\n"}
LOUDLY = {"loudly/__init__.py": "def louder(text):\n    return text.upper()\n"}
TEXT = """
[file]
name = "p"
[project]
requirements = "Print HELLO!"
[run]
packages = ["shout>=1"]
[build]
rounds = 0
without = ["lint", "types", "security", "coverage", "review"]
[tests]
mutants = 0
[[tests.case]]
name = "it shouts"
covers = ["R1"]
expect = { stdout = "HELLO!\\n" }
"""
NEEDS = read(TEXT)
PROGRAM = code("p.py", "from shout import shout\nprint(shout('hello'))")
FALLS_BACK = code("p.py", "try:\n    import shout\nexcept ImportError:\n    pass\nprint('HELLO!')")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip's configuration names."""
    folder = tmp_path / "shelf"
    wheel(folder, "shout", "1.2", SHOUT, needs=("loudly",), licence="MIT")
    wheel(folder, "loudly", "0.1", LOUDLY, licence="")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def store(tmp_path: Path, **settings: Any) -> PackageStore:
    return PackageStore(tmp_path / "home", PackageSettings(**settings))


class PackageWalls(LocalWalls):
    """Walls without walls, whose programs import from a folder of packages."""

    def __init__(self, found: Packages) -> None:
        super().__init__()
        self._found = found

    def run(self, job: Any) -> Any:
        path = ":".join(filter(None, (job.environment.get("PYTHONPATH", ""), str(self._found.folder or ""))))
        return super().run(dataclasses.replace(job, environment={**job.environment, "PYTHONPATH": path}))


# --- what is wanted


def test_what_sessions_have_already_needs_nobodys_yes() -> None:
    assert needed(["pandas", "pydantic>=2", "shout", "pydantic<1"]) == ("shout", "pydantic<1")


@pytest.mark.parametrize(
    "wrong",
    [
        "x @ https://example.com/x.whl",
        "git+https://example.com/x",
        "-e .",
        "--index-url=x",
        "x; python_version>'3'",
        "",
    ],
)
def test_a_package_is_a_name_with_versions_and_nothing_else(wrong: str) -> None:
    with pytest.raises(RequirementWrong, match="a package is a name with"):
        read(f"[project]\nrequirements='x'\n[run]\npackages=[{wrong!r}]")


def test_a_program_without_python_needs_no_package_of_python() -> None:
    text = "[file]\nlanguage='{}'\n[project]\nrequirements='x'\n[run]\npackages=['shout']"
    assert specifiers(read(text.format("bash"))) == ()
    assert specifiers(read(text.format("python"))) == ("shout",)


# --- lock and installation


def test_a_lock_names_each_wheel_with_version_size_licence_and_hash(shelf: Path, tmp_path: Path) -> None:
    lock = store(tmp_path).resolve(["shout>=1"])
    assert [(one.name, one.version, one.licence) for one in lock.packages] == [
        ("loudly", "0.1", ""),
        ("shout", "1.2", "MIT"),
    ]
    assert lock.size == sum(one.stat().st_size for one in shelf.iterdir())
    assert lock.rows()[1].startswith("shout 1.2, 0.")
    assert "MIT" in lock.rows()[1]
    assert "its metadata names no licence" in lock.rows()[0]
    assert re.fullmatch(r"(\w+==[\d.]+ \\\n    --hash=sha256:[0-9a-f]{64}\n){2}", lock.requirements())
    assert not (tmp_path / "home").exists(), "nothing is installed before somebody says so"


def test_an_approved_lock_is_unpacked_once_into_a_folder_that_nobody_may_write(shelf: Path, tmp_path: Path) -> None:
    own = store(tmp_path)
    lock = own.resolve(["shout"])
    found = own.install(lock)
    assert found.folder == tmp_path / "home" / "packages" / lock.digest
    assert set(found.modules) == {"shout", "loudly"}
    for path in [found.folder, *found.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o555 if path.is_dir() else 0o444)
    for one in shelf.iterdir():
        one.unlink()
    assert own.install(lock) == found, "what lies here needs no registry"
    assert gather(own, read(TEXT.replace(">=1", "")), lock, lambda _: pytest.fail("asked again")) == found


def test_the_oldest_folders_of_packages_go(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages_module, "KEPT", 1)
    own = store(tmp_path)
    first = own.install(own.resolve(["loudly"]))
    second = own.install(own.resolve(["shout"]))
    assert first.folder is not None
    assert second.folder is not None
    assert not first.folder.exists()
    assert second.folder.is_dir()


def test_a_wheel_that_changed_after_the_yes_is_not_installed(shelf: Path, tmp_path: Path) -> None:
    own = store(tmp_path)
    lock = own.resolve(["shout"])
    wheel(shelf, "loudly", "0.1", {"loudly/__init__.py": "print('other')"})
    with pytest.raises(NoPackages, match=r"(?i)hash"):
        own.install(lock)
    assert list((tmp_path / "home" / "packages").iterdir()) == []


def test_the_unpacker_looks_at_the_hash_by_itself(tmp_path: Path) -> None:
    path = wheel(tmp_path, "loudly")
    package = locked(path)
    wheel(tmp_path, "loudly", files={"loudly/__init__.py": "print('other')"})
    with pytest.raises(WheelRefused, match="is not what was approved"):
        unpack(path, package, tmp_path / "into")


# --- what is refused


def test_a_package_without_a_wheel_is_refused_and_its_build_script_does_not_run(shelf: Path, tmp_path: Path) -> None:
    sdist(shelf, "onlysource", tmp_path / "mark")
    with pytest.raises(NoPackages, match="no wheel of onlysource that fits this Python"):
        store(tmp_path).resolve(["onlysource"])
    assert not (tmp_path / "mark").exists()


def test_a_wheel_cannot_have_pip_build_something_from_an_address(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip takes source packages of an address although wheels alone are wanted: its jail runs no program."""
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    built = sdist(tmp_path / "elsewhere", "evil", tmp_path / "mark")
    wheel(shelf, "nice", needs=(f"evil @ {built.as_uri()}",))
    with pytest.raises(NoPackages):
        store(tmp_path).resolve(["nice"])
    assert not (tmp_path / "mark").exists()


def test_a_wheel_that_needs_an_address_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, "nice", needs=("other @ https://example.com/other-1.0-py3-none-any.whl",))
    with pytest.raises(WheelRefused, match="needs a package from an address of its own"):
        locked(path)


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"max_packages": 1}, "they come down to 2 packages"), ({"seconds": 0.05}, "pip did not end within")],
)
def test_packages_are_bounded(settings: dict[str, Any], why: str, shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(NoPackages, match=why):
        store(tmp_path, **settings).resolve(["shout"])


def test_packages_that_are_too_large_are_refused(shelf: Path, tmp_path: Path) -> None:
    import zipfile

    path = wheel(shelf, "large")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("large/data", os.urandom(1_500_000))
    with pytest.raises(NoPackages, match=r"larger than 1 MB|pip says"):
        store(tmp_path, max_mb=1).resolve(["large"])


HOSTILE = {
    "a path that leads up": {"raw": {"../outside.py": "x"}},
    "a path that leads up from within": {"raw": {"evil/../../outside.py": "x"}},
    "an absolute path": {"raw": {"/tmp/outside.py": "x"}},
    "a path of Windows": {"raw": {"evil\\..\\outside.py": "x"}},
    "data that goes up": {"raw": {"evil-1.0.data/purelib/../../outside.py": "x"}},
    "a link": {"links": {"evil/link": "/etc/passwd"}},
    "a line that Python runs at every start": {"raw": {"sitecustomize.py": "x"}},
    "the same of a user": {"raw": {"usercustomize/__init__.py": "x"}},
    "the same as data": {"raw": {"evil-1.0.data/purelib/sitecustomize.py": "x"}},
    "a module of Python's own": {"raw": {"json/__init__.py": "x"}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_wheel_is_refused_whole(name: str, tmp_path: Path) -> None:
    parts: dict[str, Any] = HOSTILE[name]
    path = wheel(tmp_path / "shelf", "evil", **parts)
    with pytest.raises(WheelRefused):
        unpack(path, locked(path), tmp_path / "into")
    assert not list(tmp_path.glob("outside*"))
    assert not Path("/tmp/outside.py").exists()


def test_what_would_be_put_elsewhere_or_run_at_the_start_is_left_out_and_named(tmp_path: Path) -> None:
    left = {
        "evil.pth": "import os; os.abort()",
        "evil-1.0.data/purelib/more.pth": "import os; os.abort()",
        "evil-1.0.data/scripts/evil": "#!/bin/sh\n",
        "evil-1.0.data/data/etc/evil.conf": "x",
        "evil-1.0.data/headers/evil.h": "x",
        "evil/__pycache__/__init__.cpython-311.pyc": "x",
    }
    entry = {"evil-1.0.dist-info/entry_points.txt": "[console_scripts]\nevil = evil:main\n"}
    path = wheel(tmp_path / "shelf", "evil", raw={**left, **entry, "evil-1.0.data/platlib/evil/more.py": "A = 1\n"})
    made, _ = unpack(path, locked(path), tmp_path / "into")
    assert set(made.left_out) == set(left)
    written = {one.relative_to(tmp_path / "into").as_posix() for one in (tmp_path / "into").rglob("*") if one.is_file()}
    known = {f"evil-1.0.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    assert written == known | {"evil/__init__.py", "evil/more.py"}
    assert made.modules == ("evil",)


def test_two_packages_with_the_same_file_are_refused_unless_it_is_the_same(tmp_path: Path) -> None:
    one = wheel(tmp_path / "a", "one", files={"shared/__init__.py": ""})
    same = wheel(tmp_path / "b", "same", files={"shared/__init__.py": ""})
    other = wheel(tmp_path / "c", "other", files={"shared/__init__.py": "x"})
    for path in (one, same):
        unpack(path, locked(path), tmp_path / "into")
    with pytest.raises(WheelRefused, match="both bring shared/"):
        unpack(other, locked(other), tmp_path / "into")


def test_a_wheel_that_is_larger_unpacked_than_there_is_room_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, "bomb", files={"bomb.py": "#" * 1_000_000})
    with pytest.raises(WheelRefused, match="larger than"):
        unpack(path, locked(path), tmp_path / "into", room=100_000)


def test_a_wheel_that_calls_itself_otherwise_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, "loudly")
    other = path.rename(tmp_path / "shout-1.0-py3-none-any.whl")
    with pytest.raises(WheelRefused, match="calls itself loudly"):
        locked(other)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x-1.0-py3-none-any.whl"
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(WheelRefused, match="is no wheel"):
        locked(path)


@pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")
def test_pip_writes_nothing_beside_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shelf: Path) -> None:
    monkeypatch.setenv("PIP_LOG", str(tmp_path / "log"))
    store(tmp_path).resolve(["shout"])
    assert not (tmp_path / "log").exists()


def test_pip_is_told_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-4711")
    monkeypatch.setenv("SOME_TOKEN", "planted-4711")
    monkeypatch.setenv("PIP_INDEX_URL", "https://registry.example/simple")
    known = packages_module._environment(tmp_path)
    assert "planted-4711" not in str(known)
    assert known["PIP_INDEX_URL"] == "https://registry.example/simple"


# --- a build


def built(tmp_path: Path, found: Packages, program: str = PROGRAM) -> Any:
    answers = [reply("", program)]
    checks = [reply("", covered(("R1", True, "p.py:1"))), reply("You review", FINE)]
    walls = PackageWalls(found)
    return build(tmp_path / "p", TEXT, model(answers, checks=checks), walls=walls, packages=found)


def states(handed: Any) -> dict[str, tuple[str, str]]:
    best = handed.iteration.components[0].best
    return {one.critic: (one.state, one.note) for one in best.verdicts}


def test_a_program_is_tested_with_its_packages_and_carries_them_by_hash(shelf: Path, tmp_path: Path) -> None:
    asked: list[Lock] = []
    found = gather(store(tmp_path), NEEDS, None, lambda lock: not asked.append(lock))
    handed = built(tmp_path, found)
    assert states(handed)["tests"][0] == "passed"
    assert states(handed)["interface"] == ("passed", "")
    assert handed.iteration.packages == asked[0]
    text = (tmp_path / "p" / "requirements.txt").read_text()
    assert text == asked[0].requirements()
    readme = (tmp_path / "p" / "README.md").read_text()
    assert "pip install --only-binary :all: --require-hashes -r requirements.txt" in readme
    assert "| shout | 1.2 | MIT |" in readme


@pytest.mark.parametrize("program", [PROGRAM, FALLS_BACK])
def test_without_a_yes_the_program_is_not_run_and_nothing_passes_for_it(
    program: str, shelf: Path, tmp_path: Path
) -> None:
    found = gather(store(tmp_path), NEEDS, None, lambda _: False)
    assert (found.missing, found.folder) == (("shout>=1",), None)
    handed = built(tmp_path, found, program)
    for critic in ("run", "tests"):
        assert states(handed)[critic] == ("skipped", "it needs shout>=1: nobody approved that")
    assert not (tmp_path / "p" / "requirements.txt").exists()
    assert "It was not run as it is meant" in (tmp_path / "p" / "README.md").read_text()
    assert not (tmp_path / "home").exists()


def test_once_approved_the_checks_are_made_and_the_code_stays(shelf: Path, tmp_path: Path) -> None:
    own = store(tmp_path)
    built(tmp_path, gather(own, NEEDS, None, lambda _: False))
    handed = built(tmp_path, gather(own, NEEDS, None, lambda _: True))
    assert handed.iteration.components[0].kept_from == 1
    assert states(handed)["tests"][0] == "passed"


def test_the_owners_list_approves_what_it_names_whole(shelf: Path, tmp_path: Path) -> None:
    def nobody(_: Lock) -> bool:
        return False

    half = gather(store(tmp_path, allowed=("Shout",)), read(TEXT.replace(">=1", "")), None, nobody)
    assert half.missing == ("shout",)
    assert (
        gather(store(tmp_path, allowed=("Shout", "loudly")), read(TEXT.replace(">=1", "")), None, nobody).folder
        is not None
    )


def test_a_test_with_stand_ins_runs_without_the_package(shelf: Path, tmp_path: Path) -> None:
    text = TEXT.replace("[[tests.case]]", "[[tests.case]]\nfakes = { shout = \"shout = lambda text: 'HELLO!'\" }")
    found = gather(store(tmp_path), read(text), None, lambda _: pytest.fail("asked"))
    assert found.missing == ("shout>=1",)
    handed = build(tmp_path / "p", text, model([reply("", PROGRAM)]), walls=LocalWalls(), packages=found)
    assert not handed.iteration.lacks_packages
    assert states(handed)["tests"][0] == "passed"
    assert states(handed)["run"] == ("passed", "the tests run it")
