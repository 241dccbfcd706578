"""How often a turn is tried before it is closed, and how long it is delayed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import fakeredis
import pytest
import time_machine

from workers.service.backoff import LATE_DELAY_S, LONGEST_DELAY_S, MOST_CRASHES, MOST_DELAYS, SHORT_DELAYS, Backoff


@pytest.fixture
def backoff() -> Iterator[Backoff]:
    redis = fakeredis.FakeRedis()
    yield Backoff(redis)
    redis.close()


def test_a_step_at_which_workers_keep_dying_is_given_up(backoff: Backoff) -> None:
    tries = [backoff.begin("t1:3") for _ in range(MOST_CRASHES + 1)]
    assert [each.is_hopeless for each in tries] == [False] * MOST_CRASHES + [True]


def test_a_step_at_which_workers_died_twice_is_suspect(backoff: Backoff) -> None:
    assert [backoff.begin("t1:3").is_suspect for _ in range(3)] == [False, False, True]


def test_a_try_that_is_withdrawn_leaves_the_earlier_ones(backoff: Backoff) -> None:
    backoff.begin("t1:3")
    for _ in range(3):
        assert backoff.begin("t1:3").crashes == 1
        backoff.withdraw("t1:3")


def test_what_is_withdrawn_after_redis_was_emptied_leaves_nothing_there() -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        backoff = Backoff(redis)
        backoff.begin("t1:3")
        redis.flushall()
        backoff.withdraw_all()
        assert redis.keys() == []


def test_a_worker_that_is_told_to_end_withdraws_what_it_began(backoff: Backoff) -> None:
    backoff.begin("t1:3")
    backoff.begin("t2:5")
    backoff.end("t2:5")
    backoff.withdraw_all()
    assert [backoff.begin(step).crashes for step in ("t1:3", "t2:5")] == [0, 0]


def test_a_worker_that_did_not_die_does_not_count(backoff: Backoff) -> None:
    for _ in range(MOST_CRASHES * 2):
        assert not backoff.begin("t1:3").is_hopeless
        backoff.end("t1:3")


def test_a_new_step_begins_a_new_count(backoff: Backoff) -> None:
    for _ in range(MOST_CRASHES + 1):
        backoff.begin("t1:3")
    assert backoff.begin("t1:4").crashes == 0


def test_delays_grow_and_come_to_an_end(backoff: Backoff) -> None:
    assert not backoff.postponed(["T:C:1.1"])
    delays = [backoff.postpone("T:C:1.1", "t1:3") for _ in range(MOST_DELAYS)]
    assert delays == sorted(delays)
    assert delays[0] < delays[SHORT_DELAYS - 1] == LONGEST_DELAY_S < delays[-1] == LATE_DELAY_S
    assert backoff.postponed(["T:C:1.1"])
    assert not backoff.postponed(["T:C:2.2"])
    assert not backoff.begin("t1:3").is_hopeless
    backoff.postpone("T:C:1.1", "t1:3")
    assert backoff.begin("t1:3").is_hopeless


def test_a_delay_from_before_the_clock_of_redis_was_set_back_does_not_last_until_that_time_comes_again() -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        backoff = Backoff(redis)
        with time_machine.travel(datetime.now(UTC) + timedelta(hours=2)):
            backoff.postpone("t1", "t1:3")
        assert backoff.postponed(["t1", "t2"]) == {"t1"}
        (mark,) = redis.scan_iter(match="threadbook:later:*")
        assert redis.pttl(mark) <= LATE_DELAY_S * 1_000
