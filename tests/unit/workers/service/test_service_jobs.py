"""A job's process takes further threads while it is young and its worker watches it."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import fakeredis
import pytest

from core.queue import SERIALIZER, SHARED_QUEUE, Queue, Wakes
from core.settings import load_settings
from core.store import Store
from workers.service import jobs

FIRST, SECOND, THIRD = (f"T1:C1:{number}.0" for number in range(3))


@dataclass
class Job:
    """The process of a job, with one thread at work; `meanwhile` happens while the first is."""

    wakes: Wakes
    redis: fakeredis.FakeRedis
    worked_on: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def run(self, worker: object, thread_id: str) -> None:
        self.worked_on.append(thread_id)
        if thread_id == FIRST:
            self.meanwhile()

    @property
    def waiting(self) -> list[str]:
        return [job.args[0] for job in Queue(SHARED_QUEUE, connection=self.redis, serializer=SERIALIZER).jobs]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here"}, tmp_path)
    store = Store(f"sqlite:///{tmp_path}/store.db")
    store.migrate()
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        made = Job(Wakes(redis, store), redis)

        @contextmanager
        def opened(*_: object, **__: object) -> Iterator[SimpleNamespace]:
            yield SimpleNamespace(wakes=made.wakes)

        monkeypatch.setattr(jobs, "opened", opened)
        monkeypatch.setattr(jobs, "run", made.run)
        monkeypatch.setattr(jobs, "_prepared", [(settings, store)])
        for thread_id in (SECOND, THIRD):
            made.wakes.wake(thread_id)
        yield made
    store.close()


def test_a_young_process_takes_the_waiting_threads_oldest_first(job: Job) -> None:
    jobs.advance(FIRST)
    assert (job.worked_on, job.waiting) == ([FIRST, SECOND, THIRD], [])


def test_a_thread_that_begins_to_wait_meanwhile_is_taken_too(job: Job) -> None:
    def somebody_writes() -> None:
        job.wakes.wake("T1:C1:9.0")

    job.meanwhile = somebody_writes
    jobs.advance(FIRST)
    assert job.worked_on == [FIRST, SECOND, THIRD, "T1:C1:9.0"]


def test_an_old_process_leaves_the_other_threads_to_a_new_one(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "TAKE_MORE_S", 0.0)
    jobs.advance(FIRST)
    assert (job.worked_on, job.waiting) == ([FIRST], [SECOND, THIRD])


def test_a_process_whose_worker_is_told_to_stop_ends_after_its_thread(job: Job) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        jobs.block_stop_signal()
        job.meanwhile = lambda: signal.pthread_kill(threading.get_ident(), jobs.STOP_AFTER_THREAD)
        jobs.advance(FIRST)
        assert (job.worked_on, job.waiting) == ([FIRST], [SECOND, THIRD])
    finally:
        signal.sigtimedwait({jobs.STOP_AFTER_THREAD}, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_a_process_without_its_worker_ends_after_its_thread(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.meanwhile = lambda: monkeypatch.setattr(os, "getppid", lambda: 1)
    jobs.advance(FIRST)
    assert (job.worked_on, job.waiting) == ([FIRST], [SECOND, THIRD])


def test_a_thread_that_fails_ends_the_process_and_the_others_keep_waiting(job: Job) -> None:
    def fail() -> None:
        raise ValueError("words of a person")

    job.meanwhile = fail
    with pytest.raises(jobs.JobFailed) as failed:
        jobs.advance(FIRST)
    assert "words of a person" not in "".join(traceback.format_exception(failed.value))  # RQ keeps it in Redis
    assert job.waiting == [SECOND, THIRD]
