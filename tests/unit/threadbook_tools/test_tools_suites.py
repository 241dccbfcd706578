"""Tests of other languages: run where a process may start programs, and named with the reason where not."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_tools_repository import run_apart, zipped

from threadbook_tools import native_start
from threadbook_tools.suites import Suite, suites

pytestmark = pytest.mark.process

NEEDS_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="programs are started on 64-bit x86 alone")

PASSES = "const test = require('node:test');\ntest('it adds', () => { if (1 + 1 !== 2) throw new Error('no'); });\n"
NODE = {"package.json": json.dumps({"scripts": {"test": "node --test"}}), "adds.test.js": PASSES}
MAKE = {
    "Makefile": "all:\n\techo built\n\ntest: all\n\tsh check.sh\n",
    "check.sh": 'test "$(wc -c < data)" -eq 3\n',
    "data": "abc",
}


def there(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/usr/bin/{name}" if name in names else None


def found(files: dict[str, str], *tools: str) -> list[tuple[str, str]]:
    given = {name: text.encode() for name, text in files.items()}
    return [(one.shown, one.why_not) for one in suites(given, there(*tools))]


@pytest.mark.parametrize(
    ("files", "tools", "expected"),
    [
        (NODE, ("node",), [("package.json, script test (sh -c 'node --test')", "")]),
        (NODE, (), [("package.json, script test", "node is not installed")]),
        (
            {"package.json": '{"scripts": {"test": "jest --ci"}}'},
            ("node",),
            [("package.json, script test", "it starts jest, which would have to be installed")],
        ),
        (
            {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
            ("node", "echo"),
            [],
        ),
        ({"package.json": "[" * 100_000}, ("node",), []),
        ({"package.json": '{"scripts": {"test": "\'"}}'}, ("node",), []),
        (MAKE, ("make",), [("Makefile, target test (make -f Makefile test)", "")]),
        (MAKE, (), [("Makefile, target test", "make is not installed")]),
        ({"Makefile": "test := 1\n"}, ("make",), []),
        (
            {**MAKE, "tests/test_a.py": ""},
            ("make",),
            [("Makefile, target test", "the project's tests were run without it")],
        ),
        ({"test/a.bats": "", "test/-x.bats": ""}, ("bats",), [("bats (bats -- test/-x.bats test/a.bats)", "")]),
        ({"a.bats": ""}, (), [("bats", "bats is not installed")]),
        ({"go.mod": ""}, (), [("go.mod, go test", "go is not installed")]),
        ({"Cargo.toml": ""}, (), [("Cargo.toml, cargo test", "cargo is not installed")]),
    ],
)
def test_what_a_project_has_is_named_with_its_command_or_the_reason(
    files: dict[str, str], tools: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    assert found(files, *tools) == expected


def words(files: dict[str, str]) -> str:
    (suite,) = suites({name: text.encode() for name, text in files.items()}, there("go", "cargo"))
    return " ".join(suite.words)


@NEEDS_X86
def test_tests_that_are_built_as_programs_are_started_from_their_bytes() -> None:
    assert found({"go.mod": ""}, "go") == [("go.mod (go test ./...)", "")]
    assert found({"Cargo.toml": ""}, "cargo") == [("Cargo.toml (cargo test --offline)", "")]
    assert f"-exec {sys.executable} -I {native_start.__file__} ./..." in words({"go.mod": ""})
    assert f'.runner=["{sys.executable}", "-I", "{native_start.__file__}"]' in words({"Cargo.toml": ""})


@NEEDS_X86
def test_packages_that_a_project_brings_along_are_used() -> None:
    assert "-mod=mod" in words({"go.mod": ""})
    assert "-mod=vendor" in words({"go.mod": "", "vendor/modules.txt": ""})
    rust = {"Cargo.toml": "", "vendor/dep/.cargo-checksum.json": "{}"}
    assert 'source.vendored.directory="vendor"' in words(rust)
    assert "source.vendored" not in words({"Cargo.toml": ""})
    assert "source.vendored" not in words(rust | {".cargo/config.toml": ""}), "the project says itself where they are"


def test_compiled_projects_are_not_run_on_other_machines_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("threadbook_tools.suites.platform.machine", lambda: "aarch64")
    why = "programs that were built in the working folder are started on 64-bit x86 alone"
    assert found({"go.mod": ""}, "go") == [("go.mod, go test", why)]
    assert found({"Cargo.toml": ""}, "cargo") == [("Cargo.toml, cargo test", why)]


SAID = {
    "shop.go:3:8: no required module provides package example.com/dep; to add it:": "packages that it needs",
    "error: no matching package named `dep` found\nlocation searched: crates.io index": "packages that it needs",
    "could not execute process `x/build-script-build` (never executed)\n"
    "  Permission denied (os error 13)": "something of it was to be executed",
    "go: go.mod requires go >= 1.30 (running go 1.19; GOTOOLCHAIN=local)": "it needs a newer toolchain",
    "--- FAIL: TestTotal (0.00s)": "",
}


@pytest.mark.parametrize("said", SAID)
def test_a_reason_that_lies_in_this_place_is_told_in_our_words(said: str) -> None:
    hint = Suite("go.mod", ("go",), vendor="go mod vendor").hint(said)
    assert hint.startswith(SAID[said])
    assert bool(hint) == bool(SAID[said])


def told(folder: Path, files: dict[str, str], call: str = "run_tests()") -> str:
    (folder / "p.zip").write_bytes(zipped({**files}))
    return run_apart(folder, f"print(Repository('p.zip').{call})")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_tests_of_a_node_project_are_run(tmp_path: Path) -> None:
    said = told(tmp_path, NODE)
    assert said.startswith("package.json, script test (sh -c 'node --test'): passed\n")
    assert "it adds" in said
    said = told(tmp_path, {**NODE, "adds.test.js": PASSES.replace("!== 2", "!== 3")})
    assert said.startswith("package.json, script test (sh -c 'node --test'): failed with exit code 1\n")


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_the_test_target_of_a_makefile_is_run_in_a_copy(tmp_path: Path) -> None:
    assert told(tmp_path, MAKE).startswith("Makefile, target test (make -f Makefile test): passed\n")
    assert "failed with exit code 2" in told(tmp_path, {**MAKE, "data": "abcd"})
    assert [path.name for path in tmp_path.iterdir()] == ["p.zip"]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_a_suite_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    said = told(tmp_path, {"Makefile": "test:\n\tsleep 60\n"}, "run_tests(seconds=1)")
    assert said.startswith("Makefile, target test (make -f Makefile test): stopped after 1 s")


def test_python_comes_first_and_the_others_are_named(tmp_path: Path) -> None:
    said = told(tmp_path, {"test_a.py": "def test_it(): pass\n", "Makefile": "test:\n"})
    assert said.startswith("The tests passed.\n")
    assert said.rstrip().endswith("Not run: Makefile, target test: the project's tests were run without it.")


def test_arguments_are_those_of_pythons_tests_alone(tmp_path: Path) -> None:
    assert "go.mod" not in told(
        tmp_path, {"test_a.py": "def test_it(): pass\n", "go.mod": ""}, "run_tests('test_a.py')"
    )
