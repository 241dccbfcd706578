"""One janitor sweeps for all nodes, and a slow Slack does not hold it up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import fakeredis
import pytest
import time_machine
from patience import PATIENCE_S, eventually

from core.store import StoreUnreachable
from workers.service.sweeping.sweep_lease import Newest, SweepLease


@pytest.fixture
def redis() -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        yield connection


def test_one_janitor_sweeps_for_all_and_goes_on_doing_so(redis: fakeredis.FakeRedis) -> None:
    first, second = SweepLease(redis), SweepLease(redis)
    assert [first.take(), second.take(), first.take(), second.take()] == [True, False, True, False]


def test_an_older_janitor_whose_wakes_are_not_signed_keeps_no_newer_one_from_sweeping(
    redis: fakeredis.FakeRedis,
) -> None:
    redis.set("threadbook:janitor", "a janitor of an older version", px=60_000)
    assert SweepLease(redis).take()


def test_when_the_janitor_that_sweeps_is_gone_another_one_does(redis: fakeredis.FakeRedis) -> None:
    gone, next_one = SweepLease(redis, ttl_s=0.05), SweepLease(redis, ttl_s=60)
    assert gone.take()
    eventually(next_one.take, "the next janitor's turn")
    assert not gone.take()


def fail(lease: SweepLease) -> None:
    """Sweep while the Store is away from the node of this janitor alone."""
    with lease.taken():
        raise StoreUnreachable("away")


def test_a_janitor_whose_sweep_fails_leaves_the_next_one_to_another(redis: fakeredis.FakeRedis) -> None:
    failing, other = SweepLease(redis), SweepLease(redis)
    with pytest.raises(StoreUnreachable):
        fail(failing)
    with other.taken() as is_mine:
        assert is_mine
    with pytest.raises(StoreUnreachable):
        fail(failing)
    assert [failing.take(), other.take()] == [False, True]


def test_each_take_lasts_as_long_as_the_first(redis: fakeredis.FakeRedis) -> None:
    lease = SweepLease(redis, ttl_s=60)
    assert lease.take()
    redis.pexpire("threadbook:janitor:signed", 1_000)
    assert lease.take()
    assert redis.pttl("threadbook:janitor:signed") > 1_000


def test_what_was_not_begun_gives_way_to_what_came_later() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    seen: list[int] = []

    def do(number: int) -> None:
        seen.append(number)
        begun.set()
        assert go_on.wait(PATIENCE_S)
        if number == 3:
            done.set()

    newest = Newest(do, "test")
    newest.put(1)
    assert begun.wait(PATIENCE_S)
    newest.put(2)
    newest.put(3)
    go_on.set()
    assert done.wait(PATIENCE_S)
    assert seen == [1, 3]


def test_a_failure_ends_nothing() -> None:
    done = threading.Event()

    def do(number: int) -> None:
        if number == 1:
            raise ValueError("Slack is away")
        done.set()

    newest = Newest(do, "test")
    newest.put(1)
    eventually(lambda: newest._given == [], "the first one to be taken")
    newest.put(2)
    assert done.wait(PATIENCE_S)


def test_a_janitor_that_died_before_the_clock_of_redis_was_set_back_is_followed_soon(
    redis: fakeredis.FakeRedis,
) -> None:
    dead, next_one = SweepLease(redis, ttl_s=60), SweepLease(redis, ttl_s=60)
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=2)):
        assert dead.take()
    assert not next_one.take()
    (key,) = redis.keys()
    assert redis.pttl(key) <= 60_000
