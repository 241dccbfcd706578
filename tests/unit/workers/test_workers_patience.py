"""How often a turn is tried before it is closed, and when it is left alone."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest

from workers.patience import LATE_DELAY_S, LONGEST_DELAY_S, MOST_CRASHES, MOST_DELAYS, PATIENT_DELAYS, Patience


@pytest.fixture
def patience() -> Iterator[Patience]:
    redis = fakeredis.FakeRedis()
    yield Patience(redis)
    redis.close()


def test_a_step_where_workers_keep_dying_is_given_up(patience: Patience) -> None:
    assert [patience.begin("t1:3") for _ in range(MOST_CRASHES + 1)] == [True] * MOST_CRASHES + [False]


def test_a_worker_that_came_to_its_end_does_not_count(patience: Patience) -> None:
    for _ in range(MOST_CRASHES * 2):
        assert patience.begin("t1:3")
        patience.end("t1:3")


def test_a_new_step_starts_the_count_anew(patience: Patience) -> None:
    for _ in range(MOST_CRASHES + 1):
        patience.begin("t1:3")
    assert patience.begin("t1:4")


def test_a_delayed_thread_is_left_alone_longer_each_time_and_not_for_ever(patience: Patience) -> None:
    assert not patience.postponed(["T:C:1.1"])
    delays = [patience.postpone("T:C:1.1", "t1:3") for _ in range(MOST_DELAYS)]
    assert delays == sorted(delays)
    assert delays[0] < delays[PATIENT_DELAYS - 1] == LONGEST_DELAY_S < delays[-1] == LATE_DELAY_S
    assert patience.postponed(["T:C:1.1"])
    assert not patience.postponed(["T:C:2.2"])
    assert patience.begin("t1:3")
    patience.postpone("T:C:1.1", "t1:3")
    assert not patience.begin("t1:3")
