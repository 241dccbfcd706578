"""What the broker may hold: a result above it ends in a sentence, before it is written."""

from __future__ import annotations

import pytest

from workers.sources.broker.memory import STEP, Memory
from workers.sources.drivers.base import MB
from workers.sources.errors import LimitReached


def test_a_result_that_would_pass_the_limit_with_all_else_is_refused() -> None:
    memory = Memory(600, used=lambda: 590 * MB)
    with memory.result() as grows:
        grows(STEP)
    with pytest.raises(LimitReached, match="no memory"), memory.result() as grows:
        grows(11 * MB)
    assert memory.refused == 1


def test_small_results_are_not_looked_at() -> None:
    looks: list[int] = []
    memory = Memory(600, used=lambda: looks.append(1) or 0)
    with memory.result() as grows:
        for _ in range(7):
            grows(MB)
    assert looks == []


def test_memory_that_the_kernel_refuses_is_a_sentence_too() -> None:
    memory = Memory(600, used=lambda: 0)
    with pytest.raises(LimitReached, match="no memory"), memory.result():
        raise MemoryError
    assert memory.refused == 1
