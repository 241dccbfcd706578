"""`make test-again`: what failed even once is named, with how often."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def again() -> ModuleType:
    path = Path(__file__).parents[3] / "scripts" / "test_again.py"
    spec = importlib.util.spec_from_file_location("test_again_script", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_failures_and_errors_are_read_from_the_report(again: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a" name="good"/>'
        '<testcase classname="a" name="bad"><failure>1 is not 2</failure></testcase>'
        '<testcase classname="b" name="broken"><error/></testcase></testsuite></testsuites>'
    )
    assert again.failures(report) == {"a::bad": "1 is not 2", "b::broken": ""}


def test_the_list_is_sorted_by_how_often_and_says_when_it_is_empty(again: ModuleType) -> None:
    assert again.summary(Counter(), 20) == "No test failed in 20 runs."
    told = again.summary(Counter({"a::rarely": 1, "a::often": 7}), 20)
    assert told.splitlines() == [
        "2 tests failed at least once:",
        "   7 of 20  a::often",
        "   1 of 20  a::rarely",
    ]
