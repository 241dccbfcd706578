"""An RQ worker gives its jobs to a pool while there is room, and ends soon after it was told to."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import fakeredis
import pytest
import redis
from rq import Queue, Worker
from rq.job import Job
from signed_jobs import put

from core.metrics import FORGED_JOBS
from core.queue import ADVANCE, SERIALIZER, SHARED_QUEUE
from core.settings import load_settings
from core.store import Store
from workers.service import jobs, rq_worker
from workers.service.processes.forked import DRAIN_S
from workers.service.rq_worker import CUT_OFF_S, LOST_S, NodeWorker, node_worker
from workers.service.turn_pool import TurnPool


class FakeTimer:
    """Keeps what would be called, and when."""

    made: list[FakeTimer]

    def __init__(self, seconds: float, call: object, arguments: tuple[int, int]) -> None:
        self.seconds, self.arguments = seconds, arguments
        self.daemon = self.started = False
        self.made.append(self)

    def start(self) -> None:
        self.started = True


class FakePool(TurnPool):
    """Takes so many turns; each look may end one."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.started: list[str] = []
        self.drained: list[tuple[float, bool]] = []
        self.killed = False
        self.ends_one_at_each_wait = False

    def has_room(self) -> bool:
        return self.room > 0

    def start(self, thread_id: str) -> None:
        self.started.append(thread_id)
        self.room -= 1

    def look(self) -> None:
        """Nothing happens."""

    def wait(self, seconds: float) -> None:
        self.room += 1

    def drain(self, seconds: float, *, cut_off: bool) -> None:
        self.drained.append((seconds, cut_off))

    def kill(self) -> None:
        self.killed = True

    @property
    def pids(self) -> list[int]:
        return [4711]


@pytest.fixture
def pool() -> FakePool:
    return FakePool(room=10)


@pytest.fixture
def worker(tmp_path: Path, pool: FakePool, monkeypatch: pytest.MonkeyPatch) -> Iterator[NodeWorker]:
    monkeypatch.setattr(FakeTimer, "made", [], raising=False)
    monkeypatch.setattr(rq_worker.threading, "Timer", FakeTimer)
    monkeypatch.setattr(Worker, "request_stop", lambda *_: None)
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here"}, tmp_path)
    store = Store(f"sqlite:///{tmp_path}/store.db")
    store.migrate()
    with closing(store), closing(fakeredis.FakeRedis(server=fakeredis.FakeServer())) as connection:
        yield node_worker(settings, connection, store, pool)


def queue_of(worker: NodeWorker) -> Queue:
    return Queue(SHARED_QUEUE, connection=worker.connection, serializer=SERIALIZER)


def job_for(worker: NodeWorker, thread_id: object, function: str = ADVANCE) -> Job:
    """A job that RQ has taken out of the queue."""
    job = put_into(worker, thread_id, function)
    queue_of(worker).remove(job)
    return job


def put_into(worker: NodeWorker, thread_id: object, function: str = ADVANCE) -> Job:
    """A signed job in the queue."""
    return put(queue_of(worker), thread_id, function=function, signatures=worker.job_class.signatures)


def test_a_job_and_all_that_wait_go_to_the_pool_while_it_has_room(worker: NodeWorker, pool: FakePool) -> None:
    job = job_for(worker, "first")
    waiting = [put_into(worker, f"waits {number}") for number in range(12)]
    worker.execute_job(job, queue_of(worker))
    assert pool.started == ["first", *(f"waits {number}" for number in range(9))]
    left = [each for each in [job, *waiting] if Job.exists(each.id, connection=worker.connection)]
    assert left == waiting[9:]


def test_a_full_pool_is_waited_for_before_the_next_job(worker: NodeWorker, pool: FakePool) -> None:
    pool.room = 1
    worker.execute_job(job_for(worker, "first"), queue_of(worker))
    assert pool.has_room()


@pytest.mark.parametrize("forged", [("os.system", "ls"), (ADVANCE, ["a", "list"]), (ADVANCE, "x" * 501)])
def test_a_job_that_is_not_ours_is_dropped_and_the_next_one_is_taken(
    worker: NodeWorker, pool: FakePool, forged: tuple[str, object]
) -> None:
    function, argument = forged
    queue_of(worker).enqueue(function, argument)
    put_into(worker, argument, function)
    put_into(worker, "ours")
    job = job_for(worker, argument, function)
    worker.execute_job(job, queue_of(worker))
    assert pool.started == []
    assert not Job.exists(job.id, connection=worker.connection)
    worker.execute_job(job_for(worker, "first"), queue_of(worker))
    assert pool.started == ["first", "ours"]


def test_a_redis_that_is_away_while_turns_are_at_work_does_not_end_their_worker(
    worker: NodeWorker, pool: FakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise redis.TimeoutError

    pool.room = 1
    job = job_for(worker, "first")
    monkeypatch.setattr(worker, "take", away)
    monkeypatch.setattr(worker.connection, "hset", away)
    worker.execute_job(job, queue_of(worker))
    assert pool.started == ["first"]


def test_a_worker_that_is_told_to_stop_begins_nothing_more(
    worker: NodeWorker, pool: FakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into(worker, "waits")
    told: list[int] = []
    monkeypatch.setattr(Worker, "request_stop", lambda self, signum, frame: told.append(signum))

    def start(thread_id: str) -> None:
        pool.started.append(thread_id)
        worker.request_stop(signal.SIGTERM, None)
        assert told == [], "a process that was just forked must be known before anything is raised"

    monkeypatch.setattr(pool, "start", start)
    worker.execute_job(job_for(worker, "first"), queue_of(worker))
    assert (pool.started, told) == (["first"], [signal.SIGTERM])
    worker.drain()
    assert pool.drained == [(DRAIN_S - CUT_OFF_S, True)]


def test_a_worker_that_lost_redis_cuts_nobody_off(worker: NodeWorker, pool: FakePool) -> None:
    worker.drain()
    assert pool.drained == [(LOST_S, False)]


def test_the_second_signal_kills_the_processes(worker: NodeWorker, pool: FakePool) -> None:
    assert worker.horse_pid == 4711
    worker.kill_horse()
    assert pool.killed


def test_the_second_signal_comes_from_itself_when_the_time_to_drain_is_over(worker: NodeWorker) -> None:
    worker.request_stop(signal.SIGTERM, None)
    (timer,) = FakeTimer.made
    assert (timer.seconds, timer.arguments) == (DRAIN_S, (os.getpid(), signal.SIGTERM))
    assert (timer.daemon, timer.started) == (True, True)


def test_a_worker_takes_a_silent_redis_as_gone_within_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[NodeWorker] = []
    monkeypatch.setattr(NodeWorker, "work", lambda self, **_: made.append(self))
    monkeypatch.setattr(rq_worker, "connect_redis", lambda _: fakeredis.FakeRedis(server=fakeredis.FakeServer()))
    monkeypatch.setattr(rq_worker.gc, "freeze", lambda: None)
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    store = Store(settings.database_url)
    monkeypatch.setattr(jobs, "_prepared", [(settings, store)])
    rq_worker.run(settings)
    assert made[0].dequeue_timeout == 3
    assert made[0].connection.connection_pool.connection_kwargs["socket_timeout"] == 13


def test_a_worker_that_loses_redis_ends_with_a_line_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise redis.TimeoutError

    monkeypatch.setattr(rq_worker, "_work", away)
    with pytest.raises(SystemExit) as ended:
        rq_worker.run(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    assert ended.value.code == 1


def test_what_a_worker_has_dropped_is_handed_over_at_each_sign_of_life(worker: NodeWorker) -> None:
    handed: list[float] = []
    dropped = FORGED_JOBS.labels("signature")
    worker.hand_over = lambda: handed.append(dropped._value.get())
    queue_of(worker).enqueue(ADVANCE, "T1:C1:1.0")
    before = dropped._value.get()
    assert worker.take() is None
    worker.heartbeat()
    assert handed == [before + 1]
