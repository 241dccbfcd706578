"""Scripts that run inside Redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import fakeredis
import pytest
from redis import Redis

from core import scripts


@pytest.fixture
def redis() -> Iterator[Redis]:
    with closing(fakeredis.FakeRedis()) as fake:
        yield fake


def test_a_server_that_has_forgotten_a_script_gets_its_text_again(redis: Redis) -> None:
    redis.set("key", "mine")
    assert scripts.run(redis, scripts.RENEW, ["key"], 60_000, "mine") == [1]
    redis.script_flush()
    assert scripts.run(redis, scripts.RENEW, ["key"], 60_000, "mine") == [1]


def test_a_key_is_renewed_set_again_or_left_to_another(redis: Redis) -> None:
    assert scripts.run(redis, scripts.RENEW, ["key"], 60_000, "mine") == [1]
    assert (redis.get("key"), redis.pttl("key") > 0) == (b"mine", True)
    assert scripts.run(redis, scripts.RENEW, ["key"], 60_000, "theirs") == [0]
    assert redis.get("key") == b"mine"


def test_only_the_owner_drops_a_key(redis: Redis) -> None:
    redis.set("key", "mine")
    assert scripts.run(redis, scripts.DROP, ["key"], "theirs") == 0
    assert scripts.run(redis, scripts.DROP, ["key"], "mine") == 1
    assert scripts.run(redis, scripts.DROP, ["key"], "mine") == 0


def test_a_try_is_counted_and_forgotten_after_a_while(redis: Redis) -> None:
    redis.set("delays", 7)
    assert scripts.run(redis, scripts.COUNT_TRY, ["tries", "delays"], 60) == [1, 7]
    assert scripts.run(redis, scripts.COUNT_TRY, ["tries", "none"], 60) == [2, 0]
    assert redis.ttl("tries") > 0


def test_a_slot_that_comes_too_late_is_not_taken(redis: Redis) -> None:
    def take(longest_s: float) -> float:
        return float(scripts.run(redis, scripts.TAKE_SLOT, ["pause", "bucket"], 1_000, 0, longest_s, 9_000))

    assert take(0) == 0
    before = redis.get("bucket")
    assert take(10) > 10
    assert redis.get("bucket") == before
    assert 990 < take(2_000) <= 1_000
    assert redis.get("bucket") != before


def test_a_pause_holds_for_a_call_that_would_have_a_free_slot(redis: Redis) -> None:
    redis.set("pause", "1", px=60_000)
    assert float(scripts.run(redis, scripts.TAKE_SLOT, ["pause", "bucket"], 1, 0, 5, 9_000)) > 5
    assert redis.get("bucket") is None
