"""Property tests try the same examples in every run, so a red run is the fault of the change."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def tried() -> list[str]:
    """What a property is given, from the first example on."""
    found: list[str] = []

    @settings(derandomize=True, database=None, max_examples=100)
    @given(st.text())
    def note(text: str) -> None:
        found.append(text)

    note()
    return found


def test_the_examples_do_not_depend_on_what_was_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tried()
    (tmp_path / "many_literals.py").write_text(f"WORDS = {[f'word {n}' for n in range(2_000)]}", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("many_literals")
    try:
        assert tried() == before
    finally:
        del sys.modules["many_literals"]
