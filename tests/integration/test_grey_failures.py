"""A server that accepts and never answers is a server that is away: every call to it comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from black_hole import BlackHole, black_hole
from object_store import object_store
from redis import Redis, RedisError

import core.blobs
import core.queue
import core.store.database
from core.blobs import Blobs
from core.errors import BlobsUnreachable
from core.queue import connect_redis
from core.slack.rates import Rates
from core.store import Store, StoreUnreachable

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.queue, "ANSWER_S", 0.5)
    monkeypatch.setattr(core.store.database, "ANSWER_S", 0.5)
    monkeypatch.setattr(core.blobs, "READ_TIMEOUT_S", 1)


def through(url: str, proxy: BlackHole) -> str:
    """The URL of the same server, by way of the proxy."""
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    return parts._replace(netloc=f"{user}127.0.0.1:{proxy.port}").geturl()


@pytest.fixture
def redis_proxy(machine_redis_url: str) -> Iterator[BlackHole]:
    with black_hole(urlsplit(machine_redis_url).port or 6379) as proxy:
        yield proxy


@pytest.fixture
def redis(machine_redis_url: str, redis_proxy: BlackHole) -> Iterator[Redis]:
    with closing(connect_redis(through(machine_redis_url, redis_proxy))) as connection:
        connection.ping()
        yield connection


def test_a_redis_that_never_answers_ends_the_call(redis: Redis, redis_proxy: BlackHole) -> None:
    redis_proxy.swallow()
    with pytest.raises(RedisError):
        redis.get("anything")  # on the connection that was there
    with pytest.raises(RedisError):
        redis.get("anything")  # and on a new one
    redis_proxy.resume()
    assert redis.ping()


def test_a_silent_redis_costs_the_pacing_of_slack_one_time_out_not_one_per_call(
    redis: Redis, redis_proxy: BlackHole, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    rates = Rates(redis, paced=True)
    execute = redis.execute_command
    monkeypatch.setattr(redis, "execute_command", lambda *words, **more: (asked.append(words), execute(*words, **more)))
    redis_proxy.swallow()
    for _ in range(5):
        rates.wait("chat.update")
    assert len(asked) == 1


def test_a_postgres_that_never_answers_is_away(postgres_url: str, postgres_address: tuple[str, int]) -> None:
    with black_hole(postgres_address[1]) as proxy, closing(Store(through(postgres_url, proxy))) as store:
        store.migrate()
        assert store.unread("T1:C1:1.0") == []
        proxy.swallow()
        with pytest.raises(StoreUnreachable):
            store.unread("T1:C1:1.0")
        with pytest.raises(StoreUnreachable):
            store.raise_fence("T1:C1:1.0")
        proxy.resume()
        assert store.unread("T1:C1:1.0") == []


def test_a_lock_of_a_client_that_fell_silent_is_given_back(
    postgres_url: str, postgres_address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.store.database, "ANSWER_S", 3.0)
    monkeypatch.setattr(core.store.database, "IDLE_IN_TRANSACTION_S", 1)
    with (
        black_hole(postgres_address[1]) as proxy,
        closing(Store(through(postgres_url, proxy))) as silent,
        closing(Store(postgres_url)) as store,
    ):
        store.migrate()

        def wait_for_the_silent_one() -> None:
            with silent._database.writing() as connection:
                connection.exec_driver_sql("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
                proxy.swallow()
                read.append(store.unread("T1:C1:1.0"))  # until Postgres has ended the other connection

        read: list[object] = []
        with pytest.raises(StoreUnreachable):
            wait_for_the_silent_one()
        assert read == [[]]


def test_an_object_store_that_never_answers_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store(tmp_path / "objects.log") as objects:
        bucket = objects.bucket()
        with black_hole(urlsplit(objects.endpoint).port or 0) as proxy:
            for name, value in objects.environment.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
            blobs = Blobs(bucket)
            kept = blobs.put(b"kept")
            proxy.swallow()
            with pytest.raises(BlobsUnreachable):
                blobs.get(kept)
            with pytest.raises(BlobsUnreachable):
                blobs.put(b"another")
            proxy.resume()
            assert blobs.get(kept) == b"kept"
