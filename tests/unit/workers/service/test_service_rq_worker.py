"""An RQ worker that is told to stop tells the process of its job, and is told twice even without a supervisor."""

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

from core.queue import SERIALIZER, SHARED_QUEUE
from core.settings import load_settings
from workers.service import jobs, rq_worker
from workers.service.forked_processes import DRAIN_S
from workers.service.rq_worker import NodeWorker


class FakeTimer:
    """Keeps what would be called, and when."""

    made: list[FakeTimer]

    def __init__(self, seconds: float, call: object, arguments: tuple[int, int]) -> None:
        self.seconds, self.arguments = seconds, arguments
        self.daemon = self.started = False
        self.made.append(self)

    def start(self) -> None:
        self.started = True


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[NodeWorker]:
    monkeypatch.setattr(FakeTimer, "made", [], raising=False)
    monkeypatch.setattr(rq_worker.threading, "Timer", FakeTimer)
    monkeypatch.setattr(Worker, "request_stop", lambda *_: None)
    with closing(fakeredis.FakeRedis(server=fakeredis.FakeServer())) as connection:
        queue = Queue(SHARED_QUEUE, connection=connection, serializer=SERIALIZER)
        yield NodeWorker([queue], connection=connection, serializer=SERIALIZER)


def test_the_process_of_the_job_ends_after_its_thread(worker: NodeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, signum: sent.append((pid, signum)))
    worker._horse_pid = 4711
    worker.request_stop(signal.SIGTERM, None)
    assert sent == [(4711, jobs.STOP_AFTER_THREAD)]


def test_a_job_that_ended_at_that_moment_is_no_error(worker: NodeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(pid: int, signum: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", gone)
    worker._horse_pid = 4711
    worker.request_stop(signal.SIGTERM, None)


def test_the_second_signal_comes_from_itself_when_the_time_to_drain_is_over(worker: NodeWorker) -> None:
    worker.request_stop(signal.SIGTERM, None)
    (timer,) = FakeTimer.made
    assert (timer.seconds, timer.arguments) == (DRAIN_S, (os.getpid(), signal.SIGTERM))
    assert (timer.daemon, timer.started) == (True, True)


def test_a_redis_that_is_away_while_a_job_runs_does_not_end_its_worker(
    worker: NodeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise redis.TimeoutError

    monkeypatch.setattr(worker.connection, "pipeline", away)
    monkeypatch.setattr(worker.connection, "hset", away)
    job = Queue(SHARED_QUEUE, connection=worker.connection, serializer=SERIALIZER).create_job(print)
    worker.set_current_job_working_time(3)
    worker.maintain_heartbeats(job)


def test_a_worker_takes_a_silent_redis_as_gone_within_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[NodeWorker] = []
    monkeypatch.setattr(NodeWorker, "work", lambda self, **_: made.append(self))
    monkeypatch.setattr(rq_worker, "connect_redis", lambda _: fakeredis.FakeRedis(server=fakeredis.FakeServer()))
    monkeypatch.setattr(rq_worker.gc, "freeze", lambda: None)
    monkeypatch.setattr(jobs, "block_stop_signal", lambda: None)
    rq_worker.run(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
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
