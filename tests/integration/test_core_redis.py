"""Leases and wakes on real servers: many connections at once, and the server's own clock."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import eventually
from redis import Redis
from rq import Queue, SimpleWorker
from rq.job import Job

import core.queue
from core.leases import Leases
from core.queue import SERIALIZER, Wakes, connect_redis, node_queue
from core.store import Store
from core.values import IncomingMessage, Lease

pytestmark = pytest.mark.integration


@pytest.fixture(params=["redis_url", "machine_redis_url"])
def redis(request: pytest.FixtureRequest) -> Iterator[Redis]:
    connection = connect_redis(request.getfixturevalue(request.param))
    yield connection
    connection.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def thread_id(store: Store, redis: Redis) -> Iterator[str]:
    """A thread on a node of its own, so that nothing else on the server is touched."""
    root, node = "1.0", uuid.uuid4().hex
    channel = f"C{uuid.uuid4().hex[:10].upper()}"
    recorded = store.record_message(
        IncomingMessage(team="T1", channel=channel, channel_type="im", ts=root, root_ts=root, user="U1", text="hi")
    )
    lease = Lease(thread_id=recorded.thread_id, token=store.raise_fence(recorded.thread_id), owner="test")
    store.set_thread_node(lease, node)
    wakes = Wakes(redis, store)
    wakes.announce_node(node, ttl_s=60)
    yield recorded.thread_id
    wakes.claimed(recorded.thread_id)
    wakes.retire_node(node)
    queue_of(store, redis, recorded.thread_id).delete()


def queue_of(store: Store, redis: Redis, thread_id: str) -> Queue:
    return Queue(node_queue(str(store.thread_node(thread_id))), connection=redis, serializer=SERIALIZER)


def test_many_wakes_at_once_make_one_job(redis: Redis, store: Store, thread_id: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Wakes(redis, store).wake(thread_id), range(40)))
    assert sum(made) == 1
    assert queue_of(store, redis, thread_id).count == 1


def test_of_many_takers_of_a_lease_one_gets_it(redis: Redis, store: Store, thread_id: str) -> None:
    leases = Leases(redis, store)
    with ThreadPoolExecutor(8) as pool:
        taken = [lease for lease in pool.map(lambda _: leases.take(thread_id), range(40)) if lease is not None]
    assert len(taken) == 1
    leases.release(taken[0])
    assert not leases.is_held(thread_id)


def test_a_lease_that_is_not_renewed_expires(redis: Redis, store: Store, thread_id: str) -> None:
    first = Leases(redis, store, ttl_s=0.2).take(thread_id)
    leases = Leases(redis, store)
    second = eventually(lambda: leases.take(thread_id), "the end of the first lease")
    assert first is not None
    assert second is not None
    assert second.token > first.token
    leases.release(second)


def test_a_node_that_stops_announcing_itself_is_gone(redis: Redis, store: Store) -> None:
    wakes, node = Wakes(redis, store), uuid.uuid4().hex
    wakes.announce_node(node, ttl_s=600)
    assert wakes.node_is_live(node)
    wakes.announce_node(node, ttl_s=1)
    eventually(lambda: not wakes.node_is_live(node), "the end of the announcement")


def test_an_rq_worker_runs_what_a_wake_queued(
    redis: Redis, store: Store, thread_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"advance_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(
        "from pathlib import Path\n\n\ndef advance(thread_id):\n"
        f"    Path({str(tmp_path / 'seen')!r}).write_text(thread_id)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(core.queue, "ADVANCE", f"{module}.advance")
    Wakes(redis, store).wake(thread_id)
    queue = queue_of(store, redis, thread_id)
    (job_id,) = queue.job_ids
    worker = SimpleWorker([queue], connection=redis, serializer=SERIALIZER)
    worker.work(burst=True, logging_level="ERROR")
    assert (tmp_path / "seen").read_text() == thread_id
    assert not Job.exists(job_id, connection=redis), "a job that is done leaves nothing behind"
