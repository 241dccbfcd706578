"""Tries a function inside the sandbox. The source of this module is what runs there; nobody imports it to try anything.

`prove` runs the tests on the function, then on broken versions of it. The function and its tests see a `team` and a
`pytest` made here: nothing of them stays in the process. Code that reads what comes back trusts none of
it.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import math
import re
import sys
import time
import types
from typing import Any

_ERROR_CHARS = 400


class _Late(BaseException):
    """A test took too long. No `except Exception` of a function stops it."""


class _Raises:
    """What `pytest.raises` gives: the block has to raise one of these."""

    def __init__(self, expected: Any, match: Any = None) -> None:
        self.expected, self.match, self.value = expected, match, None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, _trace: Any) -> bool:
        if kind is None:
            raise AssertionError(f"it raised nothing; expected {self.expected!r}")
        if not issubclass(kind, self.expected) or issubclass(kind, _Late):
            return False
        if self.match is not None and not re.search(self.match, str(error)):
            raise AssertionError(f"{str(error)!r} does not match {self.match!r}")
        self.value = error
        return True


class _Approx:
    """What `pytest.approx` gives: equal within a small difference, also inside lists and dictionaries."""

    def __init__(self, expected: Any, rel: float = 1e-6, abs: float = 1e-12) -> None:
        self.expected, self.rel, self.abs = expected, rel, abs

    def __eq__(self, found: Any) -> bool:
        return self._same(found, self.expected)

    def __repr__(self) -> str:
        return f"about {self.expected!r}"

    def _same(self, found: Any, expected: Any) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(found, dict)
                and found.keys() == expected.keys()
                and all(self._same(found[key], value) for key, value in expected.items())
            )
        if isinstance(expected, (list, tuple)):
            return len(found) == len(expected) and all(map(self._same, found, expected))
        try:
            return math.isclose(found, expected, rel_tol=self.rel, abs_tol=self.abs)
        except TypeError:
            return bool(found == expected)

    __hash__ = None  # type: ignore[assignment]


def prove(given: dict[str, Any]) -> dict[str, Any]:
    """Run the tests on the function, those of its earlier version too, then on each broken version.

    Returns the outcome of each test, and for each broken version the names of the tests that failed on it, and of those
    that failed by what they assert; None for one that there was no time for. A test that fails because the function
    itself raises has not looked at anything.
    """
    ends_at = time.monotonic() + given["total_s"]
    own = _run(given, given["code"], given["tests"], given["test_s"], ends_at)
    before = _run(given, given["code"], given["earlier"], given["test_s"], ends_at) if given["earlier"] else []
    failed: list[Any] = []
    if own and all(each[1] != "failed" for each in own):
        for source in given["broken"]:
            if time.monotonic() > ends_at:
                failed.append(None)
                continue
            ran = [
                each for each in _run(given, source, given["tests"], given["broken_s"], ends_at) if each[1] == "failed"
            ]
            failed.append([[each[0] for each in ran], [each[0] for each in ran if not each[3]]])
    return {"tests": [each[:3] for each in own], "earlier": [each[:3] for each in before], "broken": failed}


def _run(given: dict[str, Any], code: str, tests: str, test_s: float, ends_at: float) -> list[list[Any]]:
    """Each test with its outcome ("passed", "failed", "skipped"), its error, and whether the function itself raised."""
    name, allowed = given["name"], frozenset(given["modules"])
    pytest = types.SimpleNamespace(raises=_Raises, approx=_Approx)
    team = types.SimpleNamespace()
    try:
        module = _executed(code, "<team>", allowed, {})
        setattr(team, name, module[name])
        found = _executed(tests, "<team tests>", allowed, {"team": team, "pytest": pytest})
    except ModuleNotFoundError as error:
        if error.name == "hypothesis" and "hypothesis" in tests:
            return _run(given, code, _without_properties(tests), test_s, ends_at) + [
                [each, "skipped", "hypothesis is not installed", False] for each in _properties(tests)
            ]
        return [["(import)", "failed", _told(error), True]]
    except Exception as error:
        return [["(import)", "failed", _told(error), True]]
    results = []
    for test, function in list(found.items()):
        if test.startswith("test_") and callable(function):
            results.append([test, *_tried(function, test_s, ends_at)])
    return results


def _tried(test: Any, limit_s: float, ends_at: float) -> list[Any]:
    """Runs a test for at most `limit_s` of the processor, and not beyond `ends_at`. A busy node fails no test."""
    before, begun = sys.gettrace(), time.thread_time()
    count = [0]

    def look(frame: Any, _event: str, _arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith("<team"):
            return None
        count[0] += 1
        if count[0] % 64 == 0 and (time.thread_time() - begun > limit_s or time.monotonic() > ends_at):
            raise _Late
        return look

    try:
        if time.monotonic() > ends_at:
            return ["failed", "there was no time left for it", True]
        sys.settrace(look)
        _calm(test)()
    except _Late:
        why = f"it took longer than {limit_s:g} s" if time.monotonic() <= ends_at else "the time for all tests was over"
        return ["failed", why, True]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return ["failed", _told(error), _is_of_function(error)]
    finally:
        sys.settrace(before)
    return ["passed", "", False]


def _is_of_function(error: BaseException) -> bool:
    """Whether the error came out of the function, not out of what the test looks at."""
    trace, inside = error.__traceback__, False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        inside = file == "<team>" or (inside and file != "<team tests>")
        trace = trace.tb_next
    return inside


def _calm(test: Any) -> Any:
    """A property test that draws the same examples each time, keeps nothing on disk, and waits for nothing."""
    if not hasattr(test, "hypothesis"):
        return test
    hypothesis: Any = importlib.import_module("hypothesis")
    fixed = hypothesis.settings(
        max_examples=40,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
    )
    return fixed(test)


def _executed(source: str, file: str, allowed: frozenset[str], ours: dict[str, Any]) -> dict[str, Any]:
    """The names that a source defines. It imports what is allowed, and `ours` under their names."""

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name in ours:
            return ours[name]
        asked_by = (globals or {}).get("__name__", "")
        if asked_by == "team" and (level or name.partition(".")[0] not in allowed):
            raise ImportError(f"{name} may not be imported")
        return builtins.__import__(name, globals, locals, fromlist, level)

    known = {**vars(builtins), "__import__": imported}
    namespace: dict[str, Any] = {"__name__": "team", "__builtins__": known}
    exec(compile(source, file, "exec"), namespace)  # noqa: S102 - this is the sandbox
    return namespace


def _properties(tests: str) -> list[str]:
    body = ast.parse(tests).body
    return [each.name for each in body if isinstance(each, ast.FunctionDef) and each.decorator_list]


def _without_properties(tests: str) -> str:
    """The tests without those that hypothesis drives, and without its import."""
    tree = ast.parse(tests)
    tree.body = [
        each
        for each in tree.body
        if not (isinstance(each, ast.FunctionDef) and each.decorator_list)
        and not (isinstance(each, ast.ImportFrom) and (each.module or "").startswith("hypothesis"))
        and not (isinstance(each, ast.Import) and any(alias.name.startswith("hypothesis") for alias in each.names))
    ]
    return ast.unparse(tree)


def _told(error: BaseException) -> str:
    line = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<team tests>":
            line = f"tests.py, line {trace.tb_lineno}: "
        trace = trace.tb_next
    try:
        text = f"{line}{type(error).__name__}: {error}"
    except Exception:
        text = f"{line}{type(error).__name__}"
    return text[:_ERROR_CHARS]
