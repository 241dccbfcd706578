"""The tests of a project that are not Python's: what the project has, how it is run, and why it is not run here."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_TARGET = re.compile(rb"^test\s*:(?!=)", re.MULTILINE)
_START = os.path.join(os.path.dirname(globals().get("__file__", "")), "native_start.py")
"""Starts a program that was built here from its bytes, as nothing of a working folder is executed."""
_RUST_TARGET = f"x86_64-unknown-linux-{'gnu' if platform.libc_ver()[0] == 'glibc' else 'musl'}"
_HINTS = {
    "packages that it needs are not here, and nothing is fetched. Put them into the archive ({vendor}) and ask again": (
        r"module lookup disabled by GOPROXY=off|no required module provides package|missing go\.sum entry|"
        r"cannot find module providing|inconsistent vendoring|you're using offline mode|--offline was specified|"
        r"no matching package|[Uu]nable to update registry|failed to download"
    ),
    "something of it was to be executed that was built here, which the walls refuse: a build script, a procedural "
    "macro, or a program that a test starts": (
        r"Permission denied \(os error 13\)|: permission denied|failed to map segment from shared object"
    ),
    "it needs a newer toolchain than the one of this machine": (
        r"requires go >= \d|go\.mod requires go|requires rustc \d|is not supported by the following package|"
        r"feature `edition\d+` is required"
    ),
}
"""What a compiler's words mean here, where they do not say so themselves."""
_SHOWN = 200
_KEPT = "what was compiled until then is kept in this session, so ask again, or give it more `seconds`"
Which = Callable[[str], str | None]


@dataclass(frozen=True)
class Suite:
    """Tests that a project has: where it says so, the command that runs them, and why not, where they cannot be run."""

    name: str
    words: tuple[str, ...] = ()
    why_not: str = ""
    command: str = ""
    """What people would type, where `words` are more than that."""
    vendor: str = ""
    """What puts the packages that it needs into the project."""
    kept: str = ""
    """What is kept of a run that was stopped."""

    @property
    def shown(self) -> str:
        """How people name it."""
        return f"{self.name} ({self.command or shlex.join(self.words)})" if self.words else self.name

    def hint(self, output: str) -> str:
        """Why it failed for a reason of this place rather than of the project, as far as its words tell; else ""."""
        found = (hint for hint, words in _HINTS.items() if self.vendor and re.search(words, output))
        return next(found, "").format(vendor=self.vendor)


def suites(files: Mapping[str, bytes], which: Which = shutil.which) -> tuple[Suite, ...]:
    """The suites of a project beside Python's. Nothing is installed or fetched for any of them."""
    found = [*_node(files, which), *_go(files, which), *_rust(files, which), *_bats(files, which)]
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


def _go(files: Mapping[str, bytes], which: Which) -> Iterator[Suite]:
    if "go.mod" not in files:
        return
    if why_not := _cannot_start("go", which):
        yield Suite("go.mod, go test", why_not=why_not)
    else:
        own = "vendor" if "vendor/modules.txt" in files else "mod"
        words = ("go", "test", f"-mod={own}", "-exec", _quoted(sys.executable, "-I", _START), "./...")
        yield Suite("go.mod", words, command="go test ./...", vendor="go mod vendor", kept=_KEPT)


def _rust(files: Mapping[str, bytes], which: Which) -> Iterator[Suite]:
    if "Cargo.toml" not in files:
        return
    if why_not := _cannot_start("cargo", which):
        yield Suite("Cargo.toml, cargo test", why_not=why_not)
        return
    static = ["-C", "target-feature=+crt-static"]
    place = f"target.{_RUST_TARGET}"
    settings: dict[str, object] = {
        f"{place}.runner": [sys.executable, "-I", _START],
        f"{place}.rustflags": static,
        "build.rustdocflags": static,
        "profile.dev.debug": 0,
    }
    has_own = any(name in files for name in (".cargo/config.toml", ".cargo/config"))
    if not has_own and any(name.endswith("/.cargo-checksum.json") and name.startswith("vendor/") for name in files):
        settings["source.crates-io.replace-with"] = "vendored"
        settings["source.vendored.directory"] = "vendor"
    told = [word for name, value in settings.items() for word in ("--config", f"{name}={json.dumps(value)}")]
    words = ("cargo", "test", "--offline", "--no-fail-fast", "--workspace", "--target", _RUST_TARGET, *told)
    yield Suite("Cargo.toml", words, command="cargo test --offline", vendor="cargo vendor")


def _cannot_start(tool: str, which: Which) -> str:
    """Why tests that are built as programs are not run here; "" where they are."""
    if which(tool) is None:
        return f"{tool} is not installed"
    if platform.machine() != "x86_64" or not os.path.isfile(_START):
        return "programs that were built in the working folder are started on 64-bit x86 alone"
    return ""


def _quoted(*words: str) -> str:
    """As go splits a command: double quotes around what has a space."""
    return " ".join(f'"{word}"' if " " in word else word for word in words)


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
