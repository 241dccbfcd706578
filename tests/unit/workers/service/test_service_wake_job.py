"""A worker advances threads and does nothing else, whatever is written into Redis.

What a signature keeps out is looked at without it, too: the rules hold one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import fakeredis
import pytest
import rq.job
from rq import Callback, Queue, SimpleWorker
from rq.job import Job
from rq.timeouts import TimerDeathPenalty
from signed_jobs import known_signatures, put

from core.queue import ADVANCE, SERIALIZER, SHARED_QUEUE
from workers.service import jobs
from workers.service.wake_job import WakeJob, signed_jobs

TOUCHED: list[str] = []


def touch(*_: object) -> None:
    """What an attacker wants to have called."""
    TOUCHED.append("called")


class ForklessWorker(SimpleWorker):
    """Runs jobs in this process; fakeredis knows no signals of its own."""

    death_penalty_class = TimerDeathPenalty


@pytest.fixture
def queue() -> Iterator[Queue]:
    TOUCHED.clear()
    with closing(fakeredis.FakeRedis(server=fakeredis.FakeServer())) as connection:
        yield Queue(SHARED_QUEUE, connection=connection, serializer=SERIALIZER)


@pytest.fixture
def advanced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    threads: list[str] = []
    monkeypatch.setattr(jobs, "advance", threads.append)
    return threads


def work(queue: Queue, job_class: Any = None) -> None:
    here = Queue(queue.name, connection=queue.connection, serializer=SERIALIZER)
    worker = ForklessWorker([here], connection=queue.connection, serializer=SERIALIZER, job_class=job_class)
    worker.work(burst=True, logging_level="CRITICAL")


def forged(queue: Queue, *, function: str = f"{__name__}.touch", **options: Any) -> None:
    queue.enqueue_call(function, **options)


def test_a_job_of_ours_advances_its_thread(queue: Queue, advanced: list[str]) -> None:
    put(queue, "T1:C1:1.0")
    work(queue, signed_jobs(known_signatures()))
    assert advanced == ["T1:C1:1.0"]


@pytest.mark.parametrize("job_class", [signed_jobs(known_signatures()), WakeJob])
def test_a_job_that_nobody_signed_is_passed_over_and_said(
    queue: Queue, advanced: list[str], capsys: pytest.CaptureFixture[str], job_class: Any
) -> None:
    queue.enqueue_call(ADVANCE, args=("T1:C1:1.0",))
    work(queue, job_class)
    assert advanced == []
    assert "forged_job_dropped" in capsys.readouterr().out


def test_bytes_of_a_job_that_nobody_signed_are_not_even_unpacked(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[bytes] = []
    monkeypatch.setattr(rq.job.zlib, "decompress", unpacked.append)
    queue.enqueue_call(ADVANCE, args=("T1:C1:1.0",))
    work(queue, signed_jobs(known_signatures()))
    assert unpacked == []


@pytest.mark.parametrize(
    "job",
    [
        {"args": ("T1:C1:1.0",)},
        {"function": "os.system", "args": ("touch /tmp/forged",)},
        {"function": ADVANCE, "args": ()},
        {"function": ADVANCE, "args": (["T1"],)},
        {"function": ADVANCE, "args": ("x" * 501,)},
        {"function": ADVANCE, "args": ("T1:C1:1.0",), "kwargs": {"more": 1}},
    ],
)
def test_a_job_that_names_anything_else_is_dropped_and_said(
    queue: Queue, advanced: list[str], capsys: pytest.CaptureFixture[str], job: dict[str, Any]
) -> None:
    forged(queue, **job)
    work(queue, type("Unsigned", (WakeJob,), {"restore": Job.restore}))
    assert (TOUCHED, advanced) == ([], [])
    assert not Path("/tmp/forged").exists()
    assert "forged_job_dropped" in capsys.readouterr().out


@pytest.mark.parametrize("outcome", ["on_success", "on_failure", "on_stopped"])
def test_a_callback_of_a_job_is_never_called(queue: Queue, monkeypatch: pytest.MonkeyPatch, outcome: str) -> None:
    def advance(thread_id: str) -> None:
        if outcome == "on_failure":
            raise RuntimeError

    monkeypatch.setattr(jobs, "advance", advance)
    forged(queue, function=ADVANCE, args=("T1:C1:1.0",), **{outcome: Callback(touch)})
    work(queue, type("Unsigned", (WakeJob,), {"restore": Job.restore}))
    assert TOUCHED == []


@pytest.mark.parametrize(
    "name", ["func", "restore", "success_callback", "failure_callback", "stopped_callback", "send_webhooks"]
)
def test_what_is_replaced_is_what_rq_has(name: str) -> None:
    assert hasattr(Job, name)


def test_the_attack_works_on_a_worker_of_plain_jobs(queue: Queue) -> None:
    """Without this the tests above could pass because nothing runs at all."""
    forged(queue, args=("T1:C1:1.0",))
    work(queue)
    assert TOUCHED == ["called"]
