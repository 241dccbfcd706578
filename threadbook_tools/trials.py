"""Runs the tests of a project in a process of its own: what they import, change or leave running stays there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

_MOST_OUTPUT = 400_000
_LOOK_S = 0.1
_DRAIN_S = 1.0
NO_PROGRAMS = 126
"""As a shell says it of a program that it may not run."""
_OFFLINE = {
    **{"CI": "1", "npm_config_offline": "true", "NO_UPDATE_NOTIFIER": "1", "CARGO_NET_OFFLINE": "true"},
    **{"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "0"},
    **{"GOMAXPROCS": "2", "CARGO_BUILD_JOBS": "2", "RUST_TEST_THREADS": "2", "CARGO_INCREMENTAL": "0"},
}
"""Nothing is fetched, compiled Go is static, and a session's few processes are enough."""


@dataclass(frozen=True)
class Trial:
    """Its outcome: the exit code, None when it was stopped, and what was printed."""

    exit_code: int | None
    output: str
    runner: str


def run_tests(files: Mapping[str, bytes], arguments: Sequence[str], seconds: float) -> Trial:
    """Put the files into a fresh folder and run pytest, or unittest where pytest is missing, with these arguments.

    The folder and every process of the tests are gone afterwards.
    """
    runner = "pytest" if importlib.util.find_spec("pytest") else "unittest"

    def body(folder: str) -> int:
        _make_room(folder, files)
        return _run(runner, list(arguments))

    return _tried(files, runner, seconds, body)


def run_program(files: Mapping[str, bytes], words: Sequence[str], seconds: float) -> Trial:
    """Put the files into a fresh folder and run a program of the system there.

    The exit code is `NO_PROGRAMS` where a process may start none, as in a cell.
    """

    def body(_: str) -> int:
        try:
            os.execvpe(words[0], list(words), {**os.environ, **_OFFLINE})  # noqa: S606 - the sandbox decides what it may
        except PermissionError:
            return NO_PROGRAMS

    return _tried(files, words[0], seconds, body)


def _tried(files: Mapping[str, bytes], runner: str, seconds: float, body: Callable[[str], int]) -> Trial:
    """What comes of `body`, in a fork that stands in a fresh folder with the files."""
    own = tempfile.mkdtemp(prefix="tests-")
    folder, temporary = os.path.join(own, "project"), os.path.join(own, "tmp")
    try:
        os.mkdir(temporary)
        _write(folder, files)
        reading, writing = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(reading)
            tempfile.tempdir = os.environ["TMPDIR"] = temporary
            _child(folder, body, writing)
        os.close(writing)
        try:
            output, code = _watched(reading, child, time.monotonic() + seconds)
        finally:
            os.close(reading)
            _end(child)
        return Trial(code, output.replace(folder + "/", ""), runner)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _write(folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(content)


def _watched(reading: int, child: int, until: float) -> tuple[str, int | None]:
    """What the child prints until it ends, and its exit code. Something that it left behind does not hold this up."""
    said = bytearray()
    code: int | None = None
    while time.monotonic() < until:
        ready, _, _ = select.select([reading], [], [], _LOOK_S)
        if ready:
            part = os.read(reading, 1 << 16)
            if not part:
                break
            said += part
            del said[_MOST_OUTPUT // 2 : -_MOST_OUTPUT // 2]
        elif code is not None:
            break
        if code is None:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                until = min(until, time.monotonic() + _DRAIN_S)
    if code is None and time.monotonic() < until:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said.decode("utf-8", "replace"), code


def _end(child: int) -> None:
    """Kill the child with all that it started, whether or not it has ended by itself."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _child(folder: str, body: Callable[[str], int], output: int) -> None:
    """In the fork: run the tests, and end without any of the session's own endings."""
    code = 3
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a person's stop ends it
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - it is the stream
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - likewise
        os.chdir(folder)
        code = body(folder)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # whatever it is, it is told
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _make_room(folder: str, files: Iterable[str]) -> None:
    """The project's modules are found first, also where the session has others of their names."""
    roots = [folder, os.path.join(folder, "src")]
    sys.path[:0] = roots
    own = {name.removeprefix("src/").partition("/")[0].removesuffix(".py") for name in files}
    for module in [each for each in sys.modules if each.partition(".")[0] in own]:
        del sys.modules[module]
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins of the host, which the project did not ask for


def _run(runner: str, arguments: list[str]) -> int:
    if runner == "pytest":
        import pytest

        # The project's own options may need plugins that are not here.
        return int(pytest.main(["-q", "-p", "no:cacheprovider", "-o", "addopts=", *arguments]))
    import unittest

    words = ["tests", *(arguments or ["discover"])]
    return int(not unittest.main(module=None, argv=words, exit=False, verbosity=1).result.wasSuccessful())
