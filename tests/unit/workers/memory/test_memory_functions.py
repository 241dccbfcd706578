"""Functions of a team: what their text may hold, their folders, and what the proof says of tests that show nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from function_samples import CODE, NAME, PROPERTY, SCHEMA, TESTS, draft, reply
from hypothesis import given
from hypothesis import strategies as st

from core.steps import FunctionDraft, FunctionTried
from core.team_folder.folder import NotWritten, TeamFolder
from executor.fake import FakeSessions
from workers.builder.testing.mutation import python_mutants
from workers.memory.functions import proof
from workers.memory.functions.drafting import read_draft
from workers.memory.functions.importing import named_in, setup_code
from workers.memory.functions.page import draft_faults, lint, read_function
from workers.memory.functions.proof import MOST_BROKEN, broken_versions, outcome_of, program
from workers.memory.functions.shelf import FunctionShelf
from workers.memory.functions.static import has_property, signature_of

SPACE = "channels/C0SALES001"
ABOUT = {"need": "churn", "accepted": ["ana"], "kept": "2026-11-23"}


@pytest.fixture
def shelf(tmp_path: Path) -> FunctionShelf:
    return FunctionShelf(TeamFolder(tmp_path))


def test_a_plain_function_with_tests_has_no_faults() -> None:
    assert draft_faults(draft()) == []
    assert draft_faults(draft(tests=TESTS + PROPERTY)) == []
    assert signature_of(NAME, CODE) == "churn_rate(left: int, before: int) -> float"
    assert has_property(TESTS + PROPERTY)
    assert not has_property(TESTS)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('hello')\n" + CODE, "top level"),
        (CODE + "\nchurn_rate(1, 2)\n", "top level"),
        (CODE + "\nRATE = churn_rate(1, 2)\n", "top level"),
        (CODE + "\nfor each in []:\n    pass\n", "top level"),
        (CODE.replace("def churn_rate(left: int", "def churn_rate(left: print('x')"), "top level"),
        (CODE.replace("before: int)", "before: int = len('a'))"), "top level"),
        (CODE + "\ndef other(x: int) -> int:\n    return x\n", "one public function"),
        (CODE.replace("def churn_rate", "def churn"), "one public function"),
        (CODE.replace("left: int", "left"), "need a type"),
        (CODE.replace("left: int", "*left: int"), "without *args"),
        ("import os\n" + CODE, "os may not be imported"),
        ("from numpy import *\n" + CODE, "without *"),
        ("from . import secrets\n" + CODE, "without *"),
        ("import numpy.ctypeslib\n" + CODE, "may not be imported"),
        (CODE.replace("if before", "__import__('os')\n    if before"), "__import__ may not be used"),
        (CODE.replace("if before", "open('/etc/passwd')\n    if before"), "open may not be used"),
        (CODE.replace("if before", "().__class__.__mro__\n    if before"), "__mro__ may not be used"),
        (
            "import pandas as pd\n" + CODE.replace("if before", "pd.io.common.os.system('ls')\n    if before"),
            ".os may not",
        ),
        (
            "import operator\n" + CODE.replace("if before", "operator.attrgetter('x')\n    if before"),
            "attrgetter may not",
        ),
        ("import pandas as pd\n" + CODE.replace("if before", "pd.read_csv('a')\n    if before"), "read_csv may not"),
        (CODE.replace("if before", "while True:\n        pass\n    if before"), "not allowed (loop)"),
        (CODE.replace("return min", "yield min"), "not to yield"),
        ("class A:\n    pass\n" + CODE, "no classes"),
        ("def broken(:\n", "no Python"),
        (CODE + "# x\n" * 400, "too long"),
        ("x = " + "(" * 3_000 + ")" * 3_000, "no Python"),
    ],
)
def test_code_with_effects_or_of_another_shape_is_refused_before_it_runs(code: str, why: str) -> None:
    assert why in " ".join(draft_faults(draft(code=code)))


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        (TESTS.replace("raises", "approx"), "bad input"),
        ("from team import churn_rate\n", "needs 2 to 20"),
        (TESTS.replace("    assert churn_rate(0, 5) == 0", "    churn_rate(0, 5)"), "asserts nothing"),
        (TESTS.replace("from team import churn_rate", "from team import churn_rate, other"), "nothing else"),
        (TESTS.replace("from team import churn_rate\n", ""), "has to begin with"),
        (TESTS.replace("import pytest", "import pytest, subprocess"), "subprocess may not"),
        (TESTS + "\n@pytest.fixture\ndef given():\n    return 1\n", "only approx and raises"),
        (TESTS + "\ndef test_more(x):\n    assert x\n", "nothing gives them"),
        (TESTS + "\n@print\ndef test_more():\n    assert 1\n", "no decorators but"),
    ],
)
def test_tests_that_show_nothing_or_reach_further_are_refused(tests: str, why: str) -> None:
    assert why in " ".join(draft_faults(draft(tests=tests)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"description": ""}, "needs 'description'"),
        ({"when": 3}, "needs 'when'"),
        ({"parameters": []}, "needs 'parameters'"),
        ({"parameters": {"type": "object", "properties": {"left": {"description": "x"}}}}, "the function takes"),
        ({"parameters": {**SCHEMA["parameters"], "required": ["left"]}}, "without a default"),
        ({"parameters": {"type": "object", "properties": {"left": {}, "before": {}}}}, "needs a description"),
    ],
)
def test_a_schema_has_to_say_what_the_signature_says(change: dict[str, Any], why: str) -> None:
    assert why in " ".join(draft_faults(draft(schema={**SCHEMA, **change})))


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=100), st.text(max_size=40))
def test_whatever_the_files_hold_reading_them_never_raises(code: str, tests: str, schema: str, name: str) -> None:
    found = read_function(
        f"{SPACE}/functions/tested/{name}", {"module.py": code, "tests.py": tests, "schema.json": schema}
    )
    assert found is not None
    assert lint(found)
    assert found.note.name == found.draft.name


def test_an_accepted_function_is_usable_and_its_earlier_versions_are_kept(shelf: FunctionShelf, tmp_path: Path) -> None:
    assert shelf.put_untested(SPACE, draft(), ABOUT) == f"{SPACE}/functions/untested/{NAME}"
    assert shelf.usable([SPACE]) == {}
    assert shelf.accept(SPACE, draft(), ABOUT).version == 1
    assert shelf.accept(SPACE, draft(), ABOUT).version == 1
    assert shelf.names(SPACE, "functions/untested") == []
    second = shelf.accept(SPACE, draft(code=CODE.replace("needs customers", "nobody was there")), ABOUT)
    assert second.version == 2
    assert list(shelf.usable([SPACE])) == [NAME]
    assert (tmp_path / SPACE / "functions/earlier" / NAME / "v1/module.py").read_text() == CODE


def test_a_function_that_somebody_edited_is_not_importable_until_it_is_tested_again(
    shelf: FunctionShelf, tmp_path: Path
) -> None:
    shelf.accept(SPACE, draft(), ABOUT)
    module = tmp_path / SPACE / "functions/tested" / NAME / "module.py"
    module.write_text(CODE.replace("left / before", "1.0"))
    assert shelf.usable([SPACE]) == {}
    (found,) = shelf.all(SPACE)
    assert "module.py changed since its tests were run" in lint(found)[0]


def test_only_plain_files_in_the_folder_are_read(shelf: FunctionShelf, tmp_path: Path) -> None:
    shelf.accept(SPACE, draft(), ABOUT)
    folder = tmp_path / SPACE / "functions/tested"
    outside = tmp_path / "elsewhere.py"
    outside.write_text(CODE)
    (folder / NAME / "module.py").unlink()
    (folder / NAME / "module.py").symlink_to(outside)
    assert shelf.all(SPACE) == []
    (folder / "linked_one").symlink_to(folder / NAME)
    assert shelf.names(SPACE) == [NAME]
    with pytest.raises(NotWritten):
        shelf.drop_untested("../elsewhere", NAME)


def test_a_question_is_offered_what_fits_it_within_the_budget(shelf: FunctionShelf) -> None:
    shelf.accept(SPACE, draft(), ABOUT)
    other = SCHEMA | {"description": "Net revenue after refunds.", "when": "Revenue without refunds."}
    shelf.accept(
        SPACE, draft(CODE.replace(NAME, "net_revenue"), TESTS.replace(NAME, "net_revenue"), other, "net_revenue"), ABOUT
    )
    assert [note.name for note in shelf.find([SPACE], "What is our customer churn in May?", 2_000)] == [NAME]
    assert shelf.find([SPACE], "What is our customer churn in May?", 40) == []
    assert shelf.find([SPACE], "Draw the temperatures", 2_000) == []
    assert shelf.find(["channels/C0OTHER001"], "What is our customer churn?", 2_000) == []


def test_the_schema_is_bounded_json(shelf: FunctionShelf) -> None:
    huge = draft().model_copy(update={"schema_text": json.dumps({"description": "x" * 9_000})})
    assert "no JSON object" in draft_faults(huge)[0]
    assert "no JSON object" in draft_faults(draft().model_copy(update={"schema_text": "[1]"}))[0]


# --- the proof


def tried(tmp_path: Path, given: FunctionDraft, *, earlier: str = "", mutants: bool = True) -> FunctionTried:
    made = python_mutants("module.py", given.code, MOST_BROKEN - 1) if mutants else ()
    broken = broken_versions(given, [(f"line {one.line}: {one.what}", one.text) for one in made])
    host = FakeSessions(tmp_path / f"host-{len(list(tmp_path.iterdir()))}")
    result = host.run("T1:C1:1.1", "proof", program(given, broken, earlier))
    assert result.status == "ok", result.error
    assert result.result is not None
    found = outcome_of("function:1", given, result.result.text, broken, 1 if earlier else 0)
    assert found is not None
    return found


def test_a_function_that_passes_tests_which_broken_ones_fail_is_proved(tmp_path: Path) -> None:
    found = tried(tmp_path, draft(tests=TESTS + PROPERTY), earlier=TESTS)
    assert found.state == "passed", found.faults
    assert [test.outcome for test in found.tests if not test.of] == ["passed"] * 6
    assert len([test for test in found.tests if test.of == 1]) == 5
    assert found.caught == found.broken
    assert "team" not in sys.modules


def test_tests_that_cannot_fail_are_caught_by_broken_versions(tmp_path: Path) -> None:
    empty = TESTS.replace("assert churn_rate(0, 5) == 0", "assert churn_rate(0, 5) == 0 or True")
    found = tried(tmp_path, draft(tests=empty))
    assert found.state == "failed"
    assert found.faults == (
        "test_nobody_left cannot fail: what it asserts holds for every broken version of the function.",
    )
    weak = "import pytest\nfrom team import churn_rate\n\n\ndef test_some():\n    assert churn_rate(0, 5) is not None\n"
    weak += "\n\ndef test_bad():\n    with pytest.raises(Exception):\n        churn_rate(1, 'a')\n"
    found = tried(tmp_path, draft(tests=weak))
    assert "the tests miss" in found.faults[-1]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (CODE.replace("left / before", "left * before"), "test_of_the_thread fails"),
        (CODE.replace('raise ValueError("needs customers")', "return 0.0"), "it raised nothing"),
        (
            CODE.replace(
                "return min", "if left == 12:\n        while left:\n            left = left + 1\n    return min"
            ),
            "longer than",
        ),
        (CODE.replace("return min", "import zipfile\n    return min"), "zipfile may not be imported"),
    ],
)
def test_code_that_does_not_do_it_fails_with_the_reason(
    tmp_path: Path, code: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "TEST_S", 0.5)
    found = tried(tmp_path, draft(code=code), mutants=False)
    assert (found.state, found.broken) == ("failed", 0)
    assert told in " ".join(found.faults)


def test_property_tests_are_skipped_where_hypothesis_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    found = tried(tmp_path, draft(tests=TESTS + PROPERTY))
    assert found.state == "passed", found.faults
    assert found.tests[-1].outcome == "skipped"


@given(
    st.text(max_size=200)
    | st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists, max_leaves=9).map(
        lambda value: repr(json.dumps({"tests": value, "broken": value, "earlier": value}))
    )
)
def test_whatever_the_sandbox_says_nothing_passes_without_a_passed_test(shown: str) -> None:
    found = outcome_of("function:1", draft(), shown, [("nothing", "")], 1)
    assert found is None or found.state == "failed"


# --- drafts and imports


def test_a_reply_in_three_blocks_is_a_draft() -> None:
    found = read_draft(reply())
    assert isinstance(found, FunctionDraft)
    assert (found.name, found.code, found.tests) == (NAME, CODE, TESTS)
    assert draft_faults(found) == []


@pytest.mark.parametrize(
    "text",
    [
        "I would write a function.",
        reply().replace("```json", "```"),
        reply() + reply(),
        reply(name="Churn Rate"),
        reply().replace('{"name"', '{"name'),
        "```json\n[]\n```\n```python\n1\n```\n```python\n2\n```",
        "x" * 70_000,
    ],
)
def test_a_reply_of_another_shape_is_answered_with_what_is_missing(text: str) -> None:
    assert isinstance(read_draft(text), str)


def test_a_cell_gets_the_functions_that_it_names(shelf: FunctionShelf) -> None:
    shelf.accept(SPACE, draft(), ABOUT)
    usable = shelf.usable([SPACE])
    for code in ("from team import churn_rate", "import team\nteam.churn_rate(1, 2)", "import team as t; t.churn_rate"):
        assert [each.name for each in named_in(code, usable)] == [NAME]
    for code in ("churn_rate(1, 2)", "from teams import churn_rate", "# from team import churn_rate", "import ("):
        assert named_in(code, usable) == ()


def test_an_imported_function_works_and_leaves_no_other_variables(shelf: FunctionShelf, tmp_path: Path) -> None:
    shelf.accept(SPACE, draft(), ABOUT)
    sessions = FakeSessions(tmp_path / "host")
    try:
        sessions.run("T1:C1:1.1", "a:team", setup_code(named_in("from team import churn_rate", shelf.usable([SPACE]))))
        assert sessions.vars("T1:C1:1.1") == []
        result = sessions.run("T1:C1:1.1", "a", "from team import churn_rate\nchurn_rate(12, 240)")
        assert result.result is not None
        assert result.result.text == "0.05"
        assert sessions.run("T1:C1:1.1", "b", "from team import other").status == "error"
    finally:
        sys.modules.pop("team", None)
