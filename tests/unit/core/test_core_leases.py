"""Leases: one worker at a time, renewed while it works, and a token that only rises."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fakeredis
import pytest
import time_machine
from no_room import no_room_for
from patience import eventually
from redis import ConnectionError as RedisConnectionError

from core.errors import LeaseLost
from core.leases import WAITS, Leases, drop_leases
from core.store import Store
from core.values import IncomingMessage

THREAD = "T1:C1:1.0"
KEY = f"threadbook:lease:{THREAD}"


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def redis(server: fakeredis.FakeServer) -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=server) as connection:
        yield connection


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    opened.record_message(
        IncomingMessage(team="T1", channel="C1", channel_type="im", ts="1.0", root_ts="1.0", user="U1", text="hi")
    )
    yield opened
    opened.close()


@pytest.fixture
def leases(redis: fakeredis.FakeRedis, store: Store) -> Leases:
    return Leases(redis, store, ttl_s=30)


def test_one_worker_at_a_time(leases: Leases) -> None:
    lease = leases.take(THREAD)
    assert lease is not None
    assert leases.take(THREAD) is None
    assert leases.is_held(THREAD)
    leases.release(lease)
    assert not leases.is_held(THREAD)


def test_a_lease_that_finds_no_room_for_a_thread_is_given_back_and_the_next_one_is_renewed(
    redis: fakeredis.FakeRedis, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = Leases(redis, store, ttl_s=0.3)
    no_room_for(monkeypatch, "leases")
    with pytest.raises(RuntimeError), leases.hold(THREAD):
        pass
    assert not leases.is_held(THREAD)
    with leases.hold(THREAD) as held:
        assert held is not None
        redis.delete(KEY)
        eventually(lambda: leases.is_held(THREAD), "the renewal")
    assert not leases.is_held(THREAD)


def test_every_lease_has_a_higher_token(leases: Leases) -> None:
    tokens = []
    for _ in range(3):
        lease = leases.take(THREAD)
        assert lease is not None
        tokens.append(lease.token)
        leases.release(lease)
    assert tokens == sorted(set(tokens))


def test_an_emptied_redis_does_not_lower_the_token(leases: Leases, redis: fakeredis.FakeRedis, store: Store) -> None:
    old = leases.take(THREAD)
    redis.flushall()
    new = leases.take(THREAD)
    assert old is not None
    assert new is not None
    assert new.token > old.token
    store.open_turn(new, "en", "model")
    with pytest.raises(LeaseLost):
        store.open_turn(old, "en", "model")


def test_a_forgotten_lease_is_renewed_as_long_as_nobody_took_the_thread(
    leases: Leases, redis: fakeredis.FakeRedis
) -> None:
    lease = leases.take(THREAD)
    assert lease is not None
    redis.flushall()
    assert leases.renew(lease)
    assert leases.take(THREAD) is None


def test_a_lease_that_was_taken_over_is_not_renewed(leases: Leases, redis: fakeredis.FakeRedis) -> None:
    old = leases.take(THREAD)
    redis.flushall()
    new = leases.take(THREAD)
    assert old is not None
    assert new is not None
    assert not leases.renew(old)
    assert leases.renew(new)


def test_a_lease_that_was_taken_over_and_given_back_is_lost_too(leases: Leases, redis: fakeredis.FakeRedis) -> None:
    old = leases.take(THREAD)
    redis.flushall()
    new = leases.take(THREAD)
    assert old is not None
    assert new is not None
    leases.release(new)
    assert not leases.renew(old)
    assert not leases.is_held(THREAD), "a refused renewal must not block the next worker"


def test_releasing_an_old_lease_leaves_the_new_one(leases: Leases, redis: fakeredis.FakeRedis) -> None:
    old = leases.take(THREAD)
    redis.flushall()
    new = leases.take(THREAD)
    assert old is not None
    assert new is not None
    leases.release(old)
    assert leases.renew(new)


def test_an_unknown_thread_leaves_no_lease_behind(leases: Leases) -> None:
    with pytest.raises(KeyError):
        leases.take("T1:C1:9.9")
    assert not leases.is_held("T1:C1:9.9")


def test_a_held_lease_is_renewed_again_and_again_and_ends_with_the_block(
    redis: fakeredis.FakeRedis, store: Store
) -> None:
    leases = Leases(redis, store, ttl_s=0.3)
    with leases.hold(THREAD) as held:
        assert held is not None
        for _ in range(2):
            redis.set(KEY, held.lease.owner)  # without an end, until a renewal sets one
            eventually(lambda: redis.ttl(KEY) != -1, "a renewal")
        assert not held.is_lost()
    assert not leases.is_held(THREAD)


def test_holding_what_another_holds_gives_none_and_takes_nothing_away(leases: Leases) -> None:
    with leases.hold(THREAD) as first, leases.hold(THREAD) as second:
        assert first is not None
        assert second is None
        assert leases.renew(first.lease)
    assert not leases.is_held(THREAD)


def test_the_holder_learns_that_the_lease_was_taken_over(redis: fakeredis.FakeRedis, store: Store) -> None:
    leases = Leases(redis, store, ttl_s=0.3)
    with leases.hold(THREAD) as held:
        assert held is not None
        with redis.pipeline(transaction=True) as pipe:
            pipe.delete(KEY)
            pipe.set(KEY, "somebody else")
            pipe.execute()
        eventually(held.is_lost, "the loss of the lease")
    assert leases.is_held(THREAD), "the other's lease must survive our release"


def test_a_redis_that_is_away_for_good_loses_the_lease_and_fails_nobody(
    redis: fakeredis.FakeRedis, server: fakeredis.FakeServer, store: Store
) -> None:
    leases = Leases(redis, store, ttl_s=0.3)
    with leases.hold(THREAD) as held:
        assert held is not None
        server.connected = False
        eventually(held.is_lost, "the loss of the lease")
    with pytest.raises(RedisConnectionError):
        leases.take(THREAD)


def test_a_job_that_fails_gives_its_lease_back(leases: Leases) -> None:
    with pytest.raises(RuntimeError, match="boom"), leases.hold(THREAD):
        raise RuntimeError("boom")
    assert not leases.is_held(THREAD)


def more_threads(store: Store, count: int) -> list[str]:
    """Threads that a lease can be taken of."""
    for number in range(count):
        ts = f"2.{number}"
        store.record_message(
            IncomingMessage(team="T1", channel="C1", channel_type="im", ts=ts, root_ts=ts, user="U1", text="hi")
        )
    return [f"T1:C1:2.{number}" for number in range(count)]


def test_many_leases_are_renewed_together_each_with_its_own_outcome(
    redis: fakeredis.FakeRedis, store: Store, leases: Leases
) -> None:
    good, taken, emptied, overtaken = [leases.take(thread) for thread in more_threads(store, 4)]
    assert good
    assert taken
    assert emptied
    assert overtaken
    redis.set(f"threadbook:lease:{taken.thread_id}", "another worker")
    redis.delete(f"threadbook:lease:{emptied.thread_id}")
    store.raise_fence(overtaken.thread_id)
    assert leases.renew_all([good, taken, emptied, overtaken]) == [good, emptied]
    assert leases.is_held(emptied.thread_id)
    assert not leases.is_held(overtaken.thread_id), "a newer holder is not kept out"


def test_one_thread_renews_all_leases_and_ends_with_the_last(redis: fakeredis.FakeRedis, store: Store) -> None:
    leases = Leases(redis, store, ttl_s=0.3)

    def renewers() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "leases"]

    with ExitStack() as stack:
        for thread in more_threads(store, 20):
            stack.enter_context(leases.hold(thread))
        assert len(renewers()) == 1
    eventually(lambda: not renewers(), "the end of the renewals")
    with leases.hold(THREAD):
        assert len(renewers()) == 1


def test_a_lease_that_is_lost_takes_no_other_along(redis: fakeredis.FakeRedis, store: Store) -> None:
    leases = Leases(redis, store, ttl_s=0.3)
    first, second = more_threads(store, 2)
    with leases.hold(first) as lost, leases.hold(second) as kept:
        assert lost
        assert kept
        redis.set(f"threadbook:lease:{first}", "another worker")
        eventually(lost.is_lost, "the loss")
        redis.set(f"threadbook:lease:{second}", kept.lease.owner)
        eventually(lambda: redis.ttl(f"threadbook:lease:{second}") != -1, "a renewal after it")
        assert not kept.is_lost()


def test_the_leases_of_a_dead_process_are_dropped_and_no_others(redis: fakeredis.FakeRedis, store: Store) -> None:
    first, second, third = more_threads(store, 3)
    dead, other = (Leases(redis, store, holder=holder) for holder in ("dead:", "other:"))
    assert dead.take(first)
    assert dead.take(second)
    assert other.take(third)
    assert drop_leases(redis, "dead:", [first, third, "unknown"]) == 1
    assert other.held([first, second, third]) == {second, third}
    assert drop_leases(redis, "dead:", []) == 0


def test_a_process_that_ends_gives_all_its_leases_back_and_renews_none(
    redis: fakeredis.FakeRedis, store: Store
) -> None:
    leases = Leases(redis, store, ttl_s=0.3, holder="me:")
    threads = more_threads(store, 3)
    with ExitStack() as stack:
        for thread in threads:
            stack.enter_context(leases.hold(thread))
        leases.release_all()
        assert leases.held(threads) == set()


def test_the_holder_learns_that_nobody_came(leases: Leases) -> None:
    with leases.hold_and_read(THREAD) as taken:
        assert taken is not None
        assert not taken[0].was_left_alone()
    assert taken[0].was_left_alone()


def test_the_holder_learns_that_somebody_came_even_before_the_last_holder(leases: Leases) -> None:
    for comes in (True, False):
        with leases.hold_and_read(THREAD) as taken:
            assert taken is not None
            if comes:
                assert leases.take(THREAD) is None
        assert (taken[0].was_left_alone(), taken[0].was_wanted()) == (not comes, comes)


def test_who_waits_for_a_place_does_not_want_the_thread_that_was_held(
    leases: Leases, redis: fakeredis.FakeRedis
) -> None:
    redis.set(WAITS, "1")
    with leases.hold_and_read(THREAD) as taken:
        assert taken is not None
    assert (taken[0].was_left_alone(), taken[0].was_wanted()) == (False, False)


def test_who_cannot_know_does_not_say_that_nobody_came(leases: Leases, server: fakeredis.FakeServer) -> None:
    with leases.hold_and_read(THREAD) as taken:
        assert taken is not None
        server.connected = False
    assert (taken[0].was_left_alone(), taken[0].was_wanted()) == (False, True)


def test_who_lost_the_lease_does_not_say_that_nobody_came(leases: Leases, redis: fakeredis.FakeRedis) -> None:
    with leases.hold_and_read(THREAD) as taken:
        assert taken is not None
        redis.set(KEY, "another")
    assert not taken[0].was_left_alone()
    assert redis.get(KEY) == b"another"


def test_a_lease_of_the_dead_from_before_the_clock_of_redis_was_set_back_ends_soon(
    leases: Leases, redis: fakeredis.FakeRedis
) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=2)):
        assert leases.take(THREAD) is not None
    assert leases.held([THREAD]) == {THREAD}
    assert redis.pttl(KEY) <= 30_000
