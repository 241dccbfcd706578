"""A file whose tests are all deselected is not imported; one that may have a test that is selected always is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unselected import is_left_out, is_never

FAST = "not (process or integration or browser or attack or fault)"
TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("expression", "always", "sometimes", "never"),
    [
        (FAST, {"attack"}, {"attack"}, True),
        (FAST, set(), {"attack"}, False),
        (FAST, {"timeout"}, {"attack"}, False),
        ("process and not (integration or fault)", {"integration"}, {"process"}, True),
        ("process and not (integration or fault)", set(), {"process", "integration"}, False),
        ("process and not (integration or fault)", set(), {"integration", "parametrize"}, True),
        ("integration and not attack", {"browser"}, {"integration"}, False),
        ("attack", {"integration"}, {"attack"}, False),
        ("not attack or browser", {"attack"}, {"browser"}, False),
    ],
)
def test_a_file_is_never_selected_only_if_no_mark_that_it_may_have_can_change_that(
    expression: str, always: set[str], sometimes: set[str], never: bool
) -> None:
    assert is_never(expression, frozenset(always), frozenset(sometimes)) is never


@pytest.mark.parametrize(
    ("source", "conftest", "in_fast", "in_attacks"),
    [
        ("pytestmark = pytest.mark.attack\n", "", False, True),
        ("pytestmark = [pytest.mark.attack, pytest.mark.skipif(True)]\n", "", True, True),
        ("@pytest.mark.attack\ndef test_one(): ...\n", "", True, True),
        ('"""pytestmark = pytest.mark.attack"""\n', "", True, True),
        ("def test_one(store_url): ...\n", "params=[pytest.param(1, marks=pytest.mark.attack)]", True, True),
        ("def test_one(): ...\n", "        item.add_marker(pytest.mark.attack)\n", False, True),
        ("", "", True, False),
    ],
)
def test_a_file_is_left_out_where_neither_it_nor_its_folder_has_the_mark(
    source: str,
    conftest: str,
    in_fast: bool,
    in_attacks: bool,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(source, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    for expression, taken in ((FAST, in_fast), ("attack and not fault", in_attacks), ("", True)):
        monkeypatch.setattr(pytestconfig.option, "markexpr", expression)
        assert is_left_out(path, pytestconfig) is not taken, expression


def test_only_test_files_and_their_conftests_give_marks() -> None:
    given = re.compile(r"\bmark\.(process|long|integration|browser|attack|fault)\b")
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith(("test_", "conftest"))]
    assert [path.name for path in helpers if given.search(path.read_text(encoding="utf-8"))] == []
