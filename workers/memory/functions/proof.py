"""The proof of a function: the program that runs in the sandbox, and what its outcome says. Pure.

Tests count when they can fail: the function has to pass all of them, and broken versions of it have to fail some. A
test that every broken version passes shows nothing, and neither do tests that miss most broken versions.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Sequence
from typing import Any, Final

from core import python_source
from core.steps import FunctionDraft, FunctionTest, FunctionTried
from workers.agent.code.source import tree
from workers.agent.text import one_line
from workers.memory.functions import inside
from workers.memory.functions.static import MOST_TESTS, TEST_MODULES

TOTAL_S: Final = 40.0
TEST_S: Final = 10.0
BROKEN_S: Final = 3.0
MOST_BROKEN: Final = 14
LEAST_CAUGHT: Final = 0.7
"""The share of broken versions that the tests have to fail on."""
_ERROR_CHARS, _NAME_CHARS = 300, 80
_MOST_NAMED = 4


def broken_versions(draft: FunctionDraft, mutants: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Broken versions as what was done and the source: one that gives nothing for every input, then these.

    None of them raises on its own: a test that only calls the function would fail on that, and shows nothing.
    """
    nothing = _giving_nothing(draft)
    return [*([("the function gives nothing", nothing)] if nothing else []), *mutants][:MOST_BROKEN]


def program(draft: FunctionDraft, broken: Sequence[tuple[str, str]], earlier: str = "") -> str:
    """The cell that tries a draft. `earlier` are the tests of the version before it."""
    given = {
        "name": draft.name,
        "code": draft.code,
        "tests": draft.tests,
        "earlier": earlier,
        "broken": [source for _, source in broken],
        "modules": sorted(TEST_MODULES),
        "total_s": TOTAL_S,
        "test_s": TEST_S,
        "broken_s": BROKEN_S,
    }
    source = inspect.getsource(inside)
    return (
        "def _prove():\n"
        "    import json\n"
        "    own = {'__name__': 'proof'}\n"
        f"    exec(compile({source!r}, '<proof>', 'exec'), own)\n"
        f"    return json.dumps(own['prove'](json.loads({json.dumps(given)!r})))\n"
        "_prove()\n"
    )


def outcome_of(
    learning: str,
    draft: FunctionDraft,
    shown: str,
    broken: Sequence[tuple[str, str]],
    earlier: int = 0,
) -> FunctionTried | None:
    """What the program's result says; None when it is no such result. `shown` comes out of a sandbox.

    `earlier` is the version whose tests were run too.
    """
    found = _read(shown)
    if found is None:
        return None
    tests = _tests(found.get("tests"), 0)
    before = _tests(found.get("earlier"), earlier) if earlier else ()
    ran = _list(found.get("broken"))[: len(broken)]
    tried = [
        (what, _names(each[0]), _names(each[1]))
        for (what, _), each in zip(broken, ran, strict=False)
        if isinstance(each, list) and len(each) == 2
    ]
    faults = [f"{test.name} fails: {test.error}" for test in tests if test.outcome == "failed"]
    if not any(test.outcome == "passed" for test in tests):
        faults.append("no test passes.")
    caught = sum(bool(failed) for _, failed, _ in tried)
    if not faults:
        faults += _weak(tests, tried, caught)
    return FunctionTried(
        learning=learning,
        state="failed" if faults else "passed",
        draft=draft,
        faults=tuple(faults),
        tests=(*tests, *before),
        broken=len(tried),
        caught=caught,
    )


def _weak(tests: Sequence[FunctionTest], tried: Sequence[tuple[str, set[str], set[str]]], caught: int) -> list[str]:
    """What the tests do not show."""
    if not tried:
        return ["there was no time to try the tests on a broken function."]
    shown: set[str] = set().union(*(asserted for _, _, asserted in tried))
    idle = [test.name for test in tests if test.outcome == "passed" and test.name not in shown]
    missed = [what for what, failed, _ in tried if not failed]
    found = [f"{name} cannot fail: what it asserts holds for every broken version of the function." for name in idle]
    if caught < LEAST_CAUGHT * len(tried):
        found.append(
            f"the tests miss {len(missed)} of {len(tried)} broken versions: {'; '.join(missed[:_MOST_NAMED])}. "
            "Test values that tell them apart."
        )
    return found


def _tests(given: Any, of: int) -> tuple[FunctionTest, ...]:
    found = []
    for each in _list(given)[: MOST_TESTS + 1]:
        if isinstance(each, list) and len(each) == 3 and each[1] in ("passed", "failed", "skipped"):
            name, outcome, error = (one_line(str(part), _ERROR_CHARS) for part in each)
            found.append(
                FunctionTest.model_validate({"name": name[:_NAME_CHARS], "outcome": outcome, "error": error, "of": of})
            )
    return tuple(found)


def _names(value: Any) -> set[str]:
    return {str(each)[:_NAME_CHARS] for each in _list(value)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _read(shown: str) -> dict[str, Any] | None:
    try:
        text = python_source.literal(shown)
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def _giving_nothing(draft: FunctionDraft) -> str:
    """The module whose public function does nothing; "" when it cannot be made."""
    module = tree(draft.code)
    if module is None:
        return ""
    copied = python_source.parsed(ast.unparse(module))
    for node in copied.body:
        if isinstance(node, ast.FunctionDef) and node.name == draft.name:
            node.body = [ast.Return(ast.Constant(None))]
    return ast.unparse(ast.fix_missing_locations(copied)) + "\n"
