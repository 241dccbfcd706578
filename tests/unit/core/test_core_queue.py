"""Wakes: any number collapse into one job; one that got lost is rung again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest
from rq import Queue
from rq.job import Job

from core.queue import ADVANCE, SERIALIZER, SHARED_QUEUE, Wakes, host_queue, queues_of
from core.store import Store
from core.values import IncomingMessage, Lease

THREAD = "T1:C1:1.0"


@pytest.fixture
def redis() -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        yield connection


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    opened.record_message(
        IncomingMessage(
            team="T1", channel="C1", channel_type="channel", ts="1.0", root_ts="1.0", user="U1", text="what sold best?"
        )
    )
    yield opened
    opened.close()


@pytest.fixture
def wakes(redis: fakeredis.FakeRedis, store: Store) -> Wakes:
    return Wakes(redis, store)


def waiting(redis: fakeredis.FakeRedis, queue: str = SHARED_QUEUE) -> list[Job]:
    return Queue(queue, connection=redis, serializer=SERIALIZER).jobs


def put_on_host(store: Store, host_id: str) -> None:
    lease = Lease(thread_id=THREAD, token=store.raise_fence(THREAD), owner="test")
    store.set_thread_host(lease, host_id)


def test_a_wake_is_one_job_that_names_the_thread(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    assert wakes.wake(THREAD)
    (job,) = waiting(redis)
    assert (job.func_name, job.args) == (ADVANCE, [THREAD])
    assert job.result_ttl == 0
    assert job.ttl is not None


def test_many_wakes_collapse_into_one_job(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    assert [wakes.wake(THREAD) for _ in range(5)] == [True, False, False, False, False]
    assert len(waiting(redis)) == 1


def test_a_wake_after_the_job_began_is_a_job_of_its_own(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    wakes.answered(THREAD)
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 2


def test_threads_do_not_share_a_bell(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    assert wakes.wake(THREAD)
    assert wakes.wake("T1:C1:2.0")
    assert len(waiting(redis)) == 2


def test_a_bell_whose_job_vanished_is_rung_anew(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    for job in waiting(redis):
        job.delete()
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_bell_whose_job_was_taken_by_a_worker_that_died_is_rung_anew(
    redis: fakeredis.FakeRedis, wakes: Wakes
) -> None:
    wakes.wake(THREAD)
    (job,) = waiting(redis)
    redis.lrem(Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER).key, 1, job.id)
    assert Job.exists(job.id, connection=redis)
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_an_emptied_redis_loses_no_thread(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    redis.flushall()
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_thread_is_rung_at_the_live_host_that_holds_its_session(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_host(store, "alpha")
    wakes.announce_host("alpha")
    wakes.wake(THREAD)
    assert len(waiting(redis, host_queue("alpha"))) == 1
    assert waiting(redis) == []


def test_a_thread_of_a_silent_host_is_rung_for_anybody(redis: fakeredis.FakeRedis, wakes: Wakes, store: Store) -> None:
    put_on_host(store, "alpha")
    wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_bell_that_waits_for_a_host_that_went_away_is_moved(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_host(store, "alpha")
    wakes.announce_host("alpha")
    wakes.wake(THREAD)
    wakes.retire_host("alpha")
    assert not wakes.host_is_live("alpha")
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_host_listens_to_its_own_threads_first() -> None:
    assert queues_of("alpha") == ["host:alpha", "threads"]


def test_a_job_holds_nothing_but_json(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    (job,) = waiting(redis)
    assert json.loads(job.data) == [ADVANCE, None, [THREAD], {}]


def test_a_job_that_is_taken_is_gone_and_the_bell_may_be_rung_anew(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    wakes.wake(THREAD)
    (job,) = waiting(redis)
    assert wakes.take("here") == THREAD
    assert not Job.exists(job.id, connection=redis)
    assert wakes.take("here") is None
    assert wakes.wake(THREAD), "who took it may have died on the way"


def test_a_host_takes_from_its_own_queue_and_the_shared_one_and_from_no_other(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_host(store, "elsewhere")
    wakes.announce_host("elsewhere")
    wakes.wake(THREAD)
    assert wakes.take("here") is None
    assert wakes.take("elsewhere") == THREAD


def test_a_full_queue_does_not_starve_the_other(redis: fakeredis.FakeRedis, wakes: Wakes, store: Store) -> None:
    put_on_host(store, "here")
    wakes.announce_host("here")
    wakes.wake(THREAD)
    others = [f"T1:C2:{number}.0" for number in range(40)]
    for other in others:
        wakes.wake(other)
    taken = [wakes.take("here") for _ in range(40)]
    assert THREAD in taken
    assert others[0] in taken
