"""Wakes: any number become one job; a wake that was lost is made again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fakeredis
import pytest
import time_machine
from redis import Redis
from redis.client import Pipeline
from rq import Queue
from rq.job import Job

from core.queue import (
    ADVANCE,
    JOB_TIMEOUT_S,
    JOB_TTL_S,
    NODE_TTL_S,
    SERIALIZER,
    SHARED_QUEUE,
    Wakes,
    drop_dead_queues,
    node_queue,
    nodes,
    queue_lengths,
    queues_of,
)
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


def put_on_node(store: Store, node_id: str) -> None:
    lease = Lease(thread_id=THREAD, token=store.raise_fence(THREAD), owner="test")
    store.set_thread_node(lease, node_id)


def test_a_wake_is_one_job_that_names_the_thread(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    assert wakes.wake(THREAD)
    (job,) = waiting(redis)
    assert (job.func_name, job.args) == (ADVANCE, [THREAD])
    assert job.result_ttl == 0
    assert job.ttl is not None


def test_many_wakes_become_one_job(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    assert [wakes.wake(THREAD) for _ in range(5)] == [True, False, False, False, False]
    assert len(waiting(redis)) == 1


def test_a_wake_after_the_job_began_is_a_job_of_its_own(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    wakes.claimed(THREAD)
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 2


def test_threads_do_not_share_a_wake(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    assert wakes.wake(THREAD)
    assert wakes.wake("T1:C1:2.0")
    assert len(waiting(redis)) == 2


def test_a_wake_whose_job_vanished_is_made_again(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    for job in waiting(redis):
        job.delete()
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_wake_whose_job_was_taken_by_a_worker_that_died_is_made_again(
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


def test_a_thread_is_woken_on_the_live_node_that_holds_its_session(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_node(store, "alpha")
    wakes.announce_node("alpha")
    wakes.wake(THREAD)
    assert len(waiting(redis, node_queue("alpha"))) == 1
    assert waiting(redis) == []


def test_a_thread_of_a_dead_node_is_woken_for_any_node(redis: fakeredis.FakeRedis, wakes: Wakes, store: Store) -> None:
    put_on_node(store, "alpha")
    wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_wake_that_waits_for_a_node_that_stopped_is_moved(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_node(store, "alpha")
    wakes.announce_node("alpha")
    wakes.wake(THREAD)
    wakes.retire_node("alpha")
    assert not wakes.node_is_live("alpha")
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


def test_a_job_in_the_queue_of_an_earlier_version_is_made_again_in_todays(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_node(store, "alpha")
    wakes.announce_node("alpha")
    old = Queue("host:alpha", connection=redis, serializer=SERIALIZER)
    job = old.enqueue(ADVANCE, THREAD)
    redis.set(f"threadbook:wake:{THREAD}", f"{job.id} {old.name}")
    assert wakes.wake(THREAD)
    assert len(waiting(redis, node_queue("alpha"))) == 1


def test_a_node_listens_to_its_own_queue_first() -> None:
    assert queues_of("alpha") == ["node:alpha", "threads"]


def test_a_job_holds_nothing_but_json(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    (job,) = waiting(redis)
    assert json.loads(job.data) == [ADVANCE, None, [THREAD], {}]


def test_a_job_that_is_taken_is_gone_and_the_thread_can_be_woken_again(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    wakes.wake(THREAD)
    (job,) = waiting(redis)
    assert wakes.take("here") == THREAD
    assert not Job.exists(job.id, connection=redis)
    assert wakes.take("here") is None
    assert wakes.wake(THREAD), "its taker may have died"


def test_a_node_takes_from_its_own_queue_and_the_shared_one_only(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_node(store, "elsewhere")
    wakes.announce_node("elsewhere")
    wakes.wake(THREAD)
    assert wakes.take("here") is None
    assert wakes.take("elsewhere") == THREAD


def test_a_full_queue_does_not_starve_the_other(redis: fakeredis.FakeRedis, wakes: Wakes, store: Store) -> None:
    put_on_node(store, "here")
    wakes.announce_node("here")
    wakes.wake(THREAD)
    others = [f"T1:C2:{number}.0" for number in range(40)]
    for other in others:
        wakes.wake(other)
    taken = [wakes.take("here") for _ in range(40)]
    assert THREAD in taken
    assert others[0] in taken


def test_a_name_that_another_instance_holds_is_not_announced(wakes: Wakes, redis: Redis) -> None:
    assert wakes.announce_node("alpha", about={"pid": 1}, instance="one")
    assert wakes.announce_node("alpha", about={"pid": 1}, instance="one"), "the same instance goes on"
    assert not wakes.announce_node("alpha", about={"pid": 2}, instance="two")
    (seen,) = nodes(redis)
    assert (seen.instance, seen.about) == ("one", {"pid": 1})


def test_an_instance_retires_no_other_one(wakes: Wakes) -> None:
    wakes.announce_node("alpha", instance="one")
    wakes.retire_node("alpha", instance="two")
    assert wakes.node_is_live("alpha")
    wakes.retire_node("alpha", instance="one")
    assert not wakes.node_is_live("alpha")


def test_a_name_is_free_once_its_holder_is_silent(wakes: Wakes, redis: Redis) -> None:
    wakes.announce_node("alpha", instance="one")
    redis.delete("threadbook:node:alpha")  # what the end of its time does
    assert wakes.announce_node("alpha", instance="two")
    assert not wakes.announce_node("alpha", instance="one"), "the first one learns that it was replaced"


# --- the janitor's question: whose wake was lost?


def test_a_thread_whose_job_waits_where_it_is_read_has_no_lost_wake(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    assert wakes.lost([THREAD]) == [THREAD]
    wakes.wake(THREAD)
    assert wakes.lost([THREAD]) == []
    put_on_node(store, "alpha")
    wakes.announce_node("alpha")
    assert wakes.lost([THREAD]) == [THREAD]
    wakes.wake(THREAD)
    assert wakes.lost([THREAD]) == []
    wakes.retire_node("alpha")
    assert wakes.lost([THREAD]) == [THREAD]


def test_a_job_that_was_taken_or_has_expired_is_a_lost_wake(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    (job,) = waiting(redis)
    redis.delete(job.key)
    assert wakes.lost([THREAD]) == [THREAD]
    wakes.wake(THREAD)
    redis.delete(Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER).key)
    assert wakes.lost([THREAD]) == [THREAD]
    assert wakes.lost([]) == []


def test_asking_for_lost_wakes_costs_the_same_for_one_thread_and_for_many(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []
    alone, together = Redis.execute_command, Pipeline.execute

    def counted(client: Redis, *arguments: Any, **options: Any) -> Any:
        commands.append(str(arguments[0]))
        return alone(client, *arguments, **options)

    def counted_all(pipe: Pipeline, *arguments: Any, **options: Any) -> Any:
        commands.extend(str(command[0]) for command in pipe.command_stack)
        return together(pipe, *arguments, **options)

    monkeypatch.setattr(Redis, "execute_command", counted)
    monkeypatch.setattr(Pipeline, "execute", counted_all)
    many = [f"T1:C1:{number}.0" for number in range(2, 200)]
    for thread in many:
        store.record_message(
            IncomingMessage(
                team="T1", channel="C1", channel_type="channel", ts=thread[6:], root_ts=thread[6:], user="U1", text="?"
            )
        )
        wakes.wake(thread)
    commands.clear()
    assert wakes.lost(many[:1]) == []
    for_one = len(commands)
    commands.clear()
    assert wakes.lost(many) == []
    assert 0 < len(commands) == for_one


def test_the_queue_of_a_node_that_is_gone_is_not_counted_and_is_dropped(
    redis: fakeredis.FakeRedis, wakes: Wakes, store: Store
) -> None:
    put_on_node(store, "alpha")
    wakes.announce_node("alpha")
    wakes.wake(THREAD)
    assert queue_lengths(redis) == {SHARED_QUEUE: 0, node_queue("alpha"): 1}
    assert drop_dead_queues(redis) == []
    wakes.retire_node("alpha")
    assert queue_lengths(redis) == {SHARED_QUEUE: 0}
    assert drop_dead_queues(redis) == [node_queue("alpha")]
    assert drop_dead_queues(redis) == []
    assert wakes.lost([THREAD]) == [THREAD]
    assert wakes.wake(THREAD)
    assert len(waiting(redis)) == 1


@pytest.mark.parametrize("job", [{"data": b"no job"}, {"origin": b"threads"}, b"no hash"], ids=["data", "none", "type"])
def test_bytes_that_are_no_job_are_dropped_and_the_next_job_is_taken(
    redis: fakeredis.FakeRedis, wakes: Wakes, job: dict[str, bytes] | bytes
) -> None:
    if isinstance(job, bytes):
        redis.set("rq:job:forged", job)
    else:
        redis.hset("rq:job:forged", mapping=job)  # type: ignore[arg-type]
    redis.rpush("rq:queue:threads", "forged")
    wakes.wake(THREAD)
    assert wakes.take("here") == THREAD
    assert not redis.exists("rq:job:forged")
    assert wakes.take("here") is None


def test_a_job_that_has_expired_is_passed_over(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    redis.rpush("rq:queue:threads", "expired")
    wakes.wake(THREAD)
    assert wakes.take("here") == THREAD


def test_a_job_in_the_queue_is_one_that_rq_can_read(redis: fakeredis.FakeRedis, wakes: Wakes) -> None:
    wakes.wake(THREAD)
    (job,) = Queue("threads", connection=redis, serializer=SERIALIZER).jobs
    assert (job.origin, job.func_name, job.args, job.timeout) == ("threads", ADVANCE, [THREAD], JOB_TIMEOUT_S)
    assert job.get_status() == "queued"
    assert job.enqueued_at is not None
    assert 0 < redis.ttl(job.key) <= JOB_TTL_S


def test_a_node_that_died_before_the_clock_of_redis_was_set_back_is_forgotten_soon(
    wakes: Wakes, redis: fakeredis.FakeRedis
) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=2)):
        wakes.announce_node("dead")
    (seen,) = nodes(redis)
    assert seen.id == "dead"
    (key,) = redis.scan_iter(match="threadbook:node:*")
    assert redis.pttl(key) <= NODE_TTL_S * 1_000
