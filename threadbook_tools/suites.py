"""The tests of a project that are not Python's: what the project has, how it is run, and why it is not run here."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_TARGET = re.compile(rb"^test\s*:(?!=)", re.MULTILINE)
_BUILT = "its tests are built as a program in the working folder, and no program there is executed"
_SHOWN = 200
Which = Callable[[str], str | None]


@dataclass(frozen=True)
class Suite:
    """Tests that a project has: where it says so, the command that runs them, and why not, where they cannot be run."""

    name: str
    words: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def shown(self) -> str:
        """How people name it."""
        return f"{self.name} ({shlex.join(self.words)})" if self.words else self.name


def suites(files: Mapping[str, bytes], which: Which = shutil.which) -> tuple[Suite, ...]:
    """The suites of a project beside Python's. Nothing is installed or fetched for any of them."""
    found = [*_node(files, which), *_built(files), *_bats(files, which)]
    is_run = has_python_tests(files) or any(one.words for one in found)
    return (*found, *_make(files, which, is_run=is_run))


def has_python_tests(files: Mapping[str, bytes]) -> bool:
    """Whether a project has files of tests for pytest or unittest."""
    names = (name.rpartition("/")[2] for name in files)
    return any(name.endswith(".py") and (name.startswith("test") or name.endswith("_test.py")) for name in names)


def _node(files: Mapping[str, bytes], which: Which) -> Iterator[Suite]:
    if "package.json" not in files:
        return
    try:
        script = json.loads(files["package.json"])["scripts"]["test"]
        first = shlex.split(script)[0]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return
    if "no test specified" in script:  # what `npm init` writes
        return
    name = "package.json, script test"
    if which("node") is None:
        yield Suite(name, why_not="node is not installed")
    elif which(first) is None:
        yield Suite(name, why_not=f"it starts {first[:_SHOWN]}, which would have to be installed")
    else:
        yield Suite(name, ("sh", "-c", script))


def _built(files: Mapping[str, bytes]) -> Iterator[Suite]:
    for file, tool in (("go.mod", "go test"), ("Cargo.toml", "cargo test")):
        if file in files:
            yield Suite(f"{file}, {tool}", why_not=_BUILT)


def _bats(files: Mapping[str, bytes], which: Which) -> Iterator[Suite]:
    names = sorted(name for name in files if name.endswith(".bats"))
    if names and which("bats") is None:
        yield Suite("bats", why_not="bats is not installed")
    elif names:
        yield Suite("bats", ("bats", "--", *names))


def _make(files: Mapping[str, bytes], which: Which, *, is_run: bool) -> Iterator[Suite]:
    makefile = next((name for name in ("GNUmakefile", "makefile", "Makefile") if name in files), "")
    if not makefile or not _TARGET.search(files[makefile]):
        return
    if is_run:
        yield Suite(f"{makefile}, target test", why_not="the project's tests were run without it")
    elif which("make") is None:
        yield Suite(f"{makefile}, target test", why_not="make is not installed")
    else:
        yield Suite(f"{makefile}, target test", ("make", "-f", makefile, "test"))
