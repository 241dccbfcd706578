"""States that take long to read are read only where their memory has changed."""

from __future__ import annotations

import random

import pytest

from executor.inside import process_settings
from executor.inside.process_settings import ProcessSettings


class Numbers:
    """Random numbers whose state is read by a count of the looks; `memory` is where they lie."""

    def __init__(self) -> None:
        self.memory: bytes | None = b"1"
        self.reads = 0
        self.glanced = process_settings._Glanced(lambda: self.memory, self.state, lambda state: state == 2)

    def state(self) -> int:
        self.reads += 1
        return self.reads


@pytest.fixture
def numbers() -> Numbers:
    made = Numbers()
    made.glanced.begin()
    return made


def test_what_a_fresh_process_has_is_never_read(numbers: Numbers) -> None:
    assert [numbers.glanced.read() for _ in range(3)] == [None] * 3
    assert numbers.reads == 0


def test_a_state_is_read_once_for_each_change_of_its_memory(numbers: Numbers) -> None:
    numbers.memory = b"2"
    assert [numbers.glanced.read() for _ in range(3)] == [1, 1, 1]


def test_a_state_that_may_change_and_leave_the_memory_is_read_again(numbers: Numbers) -> None:
    numbers.memory = b"2"
    numbers.glanced.read()
    numbers.memory = b"3"
    assert [numbers.glanced.read() for _ in range(3)] == [2, 3, 3]


def test_a_state_whose_memory_is_not_known_is_always_read(numbers: Numbers) -> None:
    numbers.memory = None
    assert [numbers.glanced.read() for _ in range(2)] == [1, 2]


def test_the_memory_of_pythons_random_numbers_is_known_in_this_version() -> None:
    assert process_settings._shared_random() is not None


def test_random_numbers_are_kept_also_where_their_memory_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    before = random.getstate()
    monkeypatch.setattr(process_settings, "_shared_random", lambda: None)
    try:
        settings = ProcessSettings()
        random.seed(1)
        changed = settings.changed()
    finally:
        random.setstate(before)
    assert changed is not None
    assert "random" in changed.settings
