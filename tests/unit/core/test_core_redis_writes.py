"""An admin reads why Redis cannot be worked with, and a Redis that only answers a ping is not called well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis, RedisError

from core.health import Missing
from core.redis_writes import check_writes, redis_answers, refusal
from core.settings import load_settings
from tryout.commands import doctor
from tryout.stack.redis_server import embedded_redis
from workers.service import start_checks

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with embedded_redis(tmp_path_factory.mktemp("redis") / "redis.log") as found:
        yield found


CASES = [
    ("maxmemory", "1", "0", "Redis is full and takes no writes", "raise its maxmemory"),
    ("replicaof", "127.0.0.1 1", "no one", "Redis is a replica and takes no writes", "REDIS_URL must lead to"),
    ("requirepass", "hush", "", "Redis asks for another password, or for a first one", "write redis://:PASSWORD@"),
]


@pytest.mark.parametrize(("name", "bad", "good", "what", "fix"), CASES, ids=[case[0] for case in CASES])
def test_a_redis_that_refuses_is_down_and_says_what_to_do(
    url: str, tmp_path: Path, name: str, bad: str, good: str, what: str, fix: str
) -> None:
    def change(value: str) -> None:
        if name == "replicaof":
            admin.execute_command("REPLICAOF", *value.split())
        else:
            admin.config_set(name, value)

    with closing(Redis.from_url(url)) as admin, closing(Redis.from_url(url)) as redis:
        admin.ping()
        change(bad)
        try:
            with pytest.raises(Missing, match=what):
                redis_answers(redis)
            found = doctor.redis_server(load_settings({"REDIS_URL": url, "THREADBOOK_HOME": str(tmp_path)}, tmp_path))
        finally:
            change(good)
        assert redis_answers(redis) == "answers"
    assert (found.state, found.what) == ("missing", what)
    assert found.fix.startswith(fix)


def test_a_redis_that_does_not_answer_is_not_said_to_refuse() -> None:
    with closing(Redis.from_url("redis://127.0.0.1:1/0")) as nobody, pytest.raises(RedisError) as error:
        check_writes(nobody)
    assert refusal(error.value) is None


def test_a_worker_service_that_gives_up_names_the_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_checks, "START_TIMEOUT_S", 0.0)
    with closing(Redis.from_url(url)) as admin, closing(Redis.from_url(url)) as redis:
        admin.config_set("requirepass", "hush")
        try:
            with pytest.raises(start_checks.CannotStart, match="write redis://:PASSWORD@HOST:PORT/0 as REDIS_URL"):
                start_checks.wait_for_redis(redis)
        finally:
            admin.config_set("requirepass", "")
