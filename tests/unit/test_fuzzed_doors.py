"""Every door reads or refuses odd input; what once broke one is read again. `make fuzz` looks for more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
import door as doors

FEW = 12
"""Inputs for each door."""


@pytest.mark.parametrize(("door", "path"), list(doors.corpus()), ids=lambda given: getattr(given, "stem", given))
def test_what_once_broke_a_reader_is_read_or_refused(door: str, path: Path) -> None:
    doors.read_again(door, path)


@pytest.mark.parametrize("door", doors.TARGETS)
def test_odd_input_is_read_or_refused(door: str) -> None:
    count, error, value = doors.fuzz(door, 0.01, FEW)
    assert error is None, f"{value!r}: {error!r}"
    assert count > 0


def test_a_reader_that_breaks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doors.TARGETS, "files of an event", doors.Target(doors.st.just(None), len))
    _, error, _ = doors.fuzz("files of an event", 0.01, FEW)
    assert isinstance(error, TypeError)
