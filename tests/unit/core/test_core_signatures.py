"""A wake counts only if a service of the Store made it: not long ago, under this id, and once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import fakeredis
import pytest
from rq import Queue
from rq.job import Job
from signed_jobs import KEY, known_signatures, put

from core.metrics import FORGED_JOBS
from core.queue import JOB_TTL_S, SERIALIZER, SHARED_QUEUE, Wakes
from core.signatures import FIELD, FRESH_S, Signatures
from core.store import Store, StoreUnreachable

THREAD = "T1:C1:1.0"


@pytest.fixture
def queue() -> Iterator[Queue]:
    with closing(fakeredis.FakeRedis(server=fakeredis.FakeServer())) as connection:
        yield Queue(SHARED_QUEUE, connection=connection, serializer=SERIALIZER)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def wakes(queue: Queue, store: Store) -> Wakes:
    return Wakes(queue.connection, store, known_signatures())


def count(why: str) -> float:
    return float(FORGED_JOBS.labels(why)._value.get())


def test_a_job_that_was_signed_is_taken(queue: Queue, wakes: Wakes) -> None:
    put(queue, THREAD)
    assert wakes.take("here") == THREAD


def test_another_service_of_the_same_store_signs_alike(queue: Queue, store: Store) -> None:
    Wakes(queue.connection, store).wake(THREAD)
    assert Wakes(queue.connection, store).take("here") == THREAD


def test_a_service_of_another_store_does_not(queue: Queue, store: Store, tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path}/another.db")) as another:
        another.migrate()
        Wakes(queue.connection, another).wake(THREAD)
        assert Wakes(queue.connection, store).take("here") is None


def test_the_key_is_in_the_store_and_never_in_redis(queue: Queue, store: Store) -> None:
    Wakes(queue.connection, store).wake(THREAD)
    (job,) = queue.job_ids
    written = b"".join(queue.connection.hgetall(Job.key_for(job)).values())
    assert store.wake_key() == store.wake_key()
    assert len(store.wake_key()) == 32
    assert store.wake_key() not in written
    assert store.wake_key().hex().encode() not in written


@pytest.mark.parametrize("name", ["data", "enqueued_at", FIELD])
def test_a_field_that_was_changed_makes_the_job_none(
    queue: Queue, wakes: Wakes, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = count("signature")
    job, other = put(queue, THREAD), put(queue, "T1:C1:2.0", age=timedelta(seconds=9))
    queue.connection.hset(job.key, name, queue.connection.hget(other.key, name))
    queue.remove(other)
    assert wakes.take("here") is None
    assert "forged_job_dropped" in capsys.readouterr().out
    assert count("signature") == before + 1


@pytest.mark.parametrize("signature", [None, b"", b"0" * 64, b"\xff" * 64, b"x" * 100_000])
def test_a_job_without_a_signature_of_ours_is_none(queue: Queue, wakes: Wakes, signature: bytes | None) -> None:
    job = put(queue, THREAD)
    queue.connection.hdel(job.key, FIELD)
    if signature is not None:
        queue.connection.hset(job.key, FIELD, signature)
    assert wakes.take("here") is None


def test_a_job_under_another_id_is_none(queue: Queue, wakes: Wakes) -> None:
    fields = queue.connection.hgetall(put(queue, THREAD).key)
    assert wakes.take("here") == THREAD
    queue.connection.hset(Job.key_for("another"), mapping=fields)
    queue.connection.rpush(queue.key, "another")
    assert wakes.take("here") is None


def test_a_job_is_taken_once_by_a_process_however_often_it_is_put_back(queue: Queue, wakes: Wakes) -> None:
    before = count("taken_before")
    job = put(queue, THREAD)
    fields = queue.connection.hgetall(job.key)
    assert wakes.take("here") == THREAD
    for _ in range(3):
        queue.connection.hset(job.key, mapping=fields)
        queue.connection.rpush(queue.key, job.id)
        assert wakes.take("here") is None
    assert count("taken_before") == before + 3


@pytest.mark.parametrize(("age_s", "taken"), [(JOB_TTL_S - 60, THREAD), (JOB_TTL_S + 1, None)])
def test_a_job_counts_for_as_long_as_redis_would_keep_it(
    queue: Queue, wakes: Wakes, age_s: int, taken: str | None
) -> None:
    put(queue, THREAD, age=timedelta(seconds=age_s))
    assert wakes.take("here") == taken


def test_a_signed_job_with_another_function_is_still_none(queue: Queue, wakes: Wakes) -> None:
    put(queue, "ls", function="os.system")
    assert wakes.take("here") is None


def test_a_key_that_was_changed_is_read_again() -> None:
    """As when the Store was restored from a backup: after a while, and sooner when a signature does not fit."""
    now, keys = [0.0], [KEY]
    signs = Signatures(lambda: keys[-1], kept_s=60, clock=lambda: now[-1])
    fields = {"data": b"d", "enqueued_at": "2026-01-01T00:00:00.000000Z"}
    first = signs.sign("1", fields)
    keys.append(b"another")
    assert signs.sign("1", fields) == first
    now.append(FRESH_S + 1)
    assert signs.sign("1", fields) != first


def test_a_signature_that_does_not_fit_makes_the_key_be_read_again(queue: Queue, store: Store) -> None:
    now, keys = [0.0], [b"the one before", KEY]
    checks = Signatures(lambda: keys[int(now[-1] > 0)], kept_s=60, clock=lambda: now[-1])
    assert not checks.of_ours("1", {})
    wakes = Wakes(queue.connection, store, checks)
    put(queue, THREAD)
    now.append(FRESH_S / 2)
    assert wakes.take("here") == THREAD


def test_a_key_that_was_read_at_the_start_counts_where_the_store_goes_away_before_the_first_job(queue: Queue) -> None:
    asked: list[int] = []

    def read() -> bytes:
        asked.append(1)
        if len(asked) > 1:
            raise StoreUnreachable("away")
        return KEY

    now = [0.0]
    checks = Signatures(read, kept_s=60, clock=lambda: now[-1])
    checks.read()
    put(queue, THREAD)
    now.append(2 * FRESH_S)
    fields = queue.connection.hgetall(queue.fetch_job(queue.job_ids[0]).key)
    assert checks.of_ours(queue.job_ids[0], fields)
    assert checks.of_ours(queue.job_ids[0], fields)
    assert len(asked) == 2  # not once for each job


def test_while_the_store_is_away_the_key_that_was_read_counts() -> None:
    now, answers = [0.0], [True]

    def read() -> bytes:
        if not answers[-1]:
            raise StoreUnreachable("away")
        return KEY

    signatures = Signatures(read, kept_s=60, clock=lambda: now[-1])
    fields = {"data": b"d", "enqueued_at": "2026-01-01T00:00:00.000000Z"}
    answers.append(False)
    with pytest.raises(StoreUnreachable):
        signatures.sign("1", fields)
    assert not signatures.of_ours("1", {})
    answers.append(True)
    first = signatures.sign("1", fields)
    answers.append(False)
    now.append(FRESH_S + 1)
    assert signatures.sign("1", fields) == first
