"""A file whose tests are all deselected is not imported; one that may have a test that is selected always is."""

from __future__ import annotations

from pathlib import Path

import pytest
from unselected import is_left_out, is_never

FAST = "not (process or integration or browser or attack or fault)"


@pytest.mark.parametrize(
    ("expression", "mark", "never"),
    [
        (FAST, "attack", True),
        (FAST, "timeout", False),
        ("process and not (integration or fault)", "integration", True),
        ("process and not (integration or fault)", "process", False),
        ("integration and not attack", "browser", False),
        ("attack", "integration", False),
        ("not attack or browser", "attack", False),
    ],
)
def test_a_mark_is_never_selected_only_if_no_other_mark_can_change_that(
    expression: str, mark: str, never: bool
) -> None:
    assert is_never(expression, mark) is never


@pytest.mark.parametrize(
    ("source", "left_out"),
    [
        ("pytestmark = pytest.mark.attack\n", True),
        ("pytestmark = [pytest.mark.attack, pytest.mark.skipif(True)]\n", False),
        ("@pytest.mark.attack\ndef test_one(): ...\n", False),
        ('"""pytestmark = pytest.mark.attack"""\n', False),
        ("", False),
    ],
)
def test_only_a_file_that_is_marked_as_a_whole_is_left_out(
    source: str, left_out: bool, tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(source, encoding="utf-8")
    monkeypatch.setattr(pytestconfig.option, "markexpr", FAST)
    assert is_left_out(path, pytestconfig) is left_out
    monkeypatch.setattr(pytestconfig.option, "markexpr", "")
    assert not is_left_out(path, pytestconfig)
