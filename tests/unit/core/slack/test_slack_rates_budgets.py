"""Budgets of calls to Slack: shared, in order, and a Retry-After holds for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import fakeredis
import pytest
import time_machine
from redis import ConnectionError as RedisConnectionError
from redis import Redis

from core.slack import rates as slack_rates
from core.slack.rates import BUDGETS, LONGEST_WAIT_S, Budget, Crowded, Rates, channel_of, decorative


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that would have happened, in seconds."""
    found: list[float] = []
    monkeypatch.setattr(slack_rates.time, "sleep", found.append)
    return found


def two_hours_ahead() -> AbstractContextManager[Any]:
    """Inside the block the clock of Redis is ahead; at its end it is set back."""
    return time_machine.travel(datetime.now(UTC) + timedelta(hours=2))


def slow(monkeypatch: pytest.MonkeyPatch, method: str, *, per_channel: bool = False) -> None:
    """One call a minute and three at once: no slot becomes free while a test runs."""
    monkeypatch.setattr(slack_rates, "BUDGETS", {**BUDGETS, method: Budget(1, 3, per_channel)})


def test_calls_after_a_burst_wait_longer_and_longer(redis: Redis, slept: list[float]) -> None:
    rates = Rates(redis, paced=True)
    for _ in range(BUDGETS["chat.postMessage"].burst):
        rates.wait("chat.postMessage", "C1")
    assert slept == []
    for _ in range(3):
        rates.wait("chat.postMessage", "C1")
    assert slept == sorted(slept)
    assert len(slept) == 3


def test_channels_have_their_own_budget_for_posts_and_share_that_for_redraws(
    redis: Redis, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch, "chat.postMessage", per_channel=True)
    rates = Rates(redis, paced=True)
    for channel in ("C1", "C2"):
        for _ in range(3):
            rates.wait("chat.postMessage", channel)
    assert slept == []
    slow(monkeypatch, "chat.update")
    for channel in ("C1", "C2", "C3"):
        rates.wait("chat.update", channel)
    assert rates.delay("chat.update", "C4") > 0


def test_all_processes_take_from_one_bucket(redis: Redis, slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, "chat.update")
    ours, theirs = Rates(redis, paced=True), Rates(redis, paced=True)
    ours.wait("chat.update")
    theirs.wait("chat.update")
    ours.wait("chat.update")
    assert slept == []
    assert theirs.delay("chat.update") > 0


def test_a_decorative_call_gives_up_when_an_answer_would_wait(
    redis: Redis, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_rates, "BUDGETS", {"chat.update": Budget(2, 1)})
    rates = Rates(redis, paced=True)
    rates.wait("chat.update")
    with decorative(), pytest.raises(Crowded):
        rates.wait("chat.update")
    assert slept == []
    rates.wait("chat.update")
    assert len(slept) == 1


def test_decorative_calls_leave_slots_of_a_burst_to_others(
    redis: Redis, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_rates, "BUDGETS", {"chat.update": Budget(1, 4)})
    rates = Rates(redis, paced=True)
    with decorative(spare=2):
        rates.wait("chat.update")
        rates.wait("chat.update")
        with pytest.raises(Crowded):
            rates.wait("chat.update")
    rates.wait("chat.update")
    rates.wait("chat.update")
    assert slept == []


def test_a_decorative_call_does_not_wait_for_a_retry_after(redis: Redis, slept: list[float]) -> None:
    rates = Rates(redis, paced=False)
    rates.pause("chat.update", "", 1)
    with decorative(), pytest.raises(Crowded):
        rates.wait("chat.update")
    assert slept == []


def test_a_call_that_gives_up_takes_no_slot(redis: Redis, slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack_rates, "BUDGETS", {"chat.update": Budget(60 / (2 * LONGEST_WAIT_S), 1)})
    rates = Rates(redis, paced=True)
    rates.wait("chat.update")
    before = redis.get("threadbook:slack:due:chat.update")
    with pytest.raises(Crowded):
        rates.wait("chat.update")
    assert redis.get("threadbook:slack:due:chat.update") == before


@pytest.mark.parametrize("paced", [True, False])
def test_a_retry_after_holds_for_all(redis: Redis, slept: list[float], paced: bool) -> None:
    Rates(redis, paced=paced).pause("chat.update", "C1", 30)
    other = Rates(redis, paced=paced)
    assert other.delay("chat.update", "C2") > 0
    other.wait("chat.update", "C2")
    assert len(slept) == 1
    assert other.delay("chat.postMessage", "C1") == 0


def test_without_budgets_and_without_redis_nobody_waits(
    redis: Redis, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(100):
        Rates(redis, paced=False).wait("chat.postMessage", "C1")

    def away(*given: object, **named: object) -> None:
        raise RedisConnectionError

    for name in ("pttl", "transaction", "get", "set"):
        monkeypatch.setattr(redis, name, away)
    rates = Rates(redis, paced=True)
    rates.pause("chat.update", "C1", 5)
    rates.wait("chat.update", "C1")
    assert rates.delay("chat.update", "C1") == 0
    assert slept == []


def test_the_channel_is_found_wherever_the_sdk_puts_it() -> None:
    assert channel_of({"json": {"channel": "C1"}}) == "C1"
    assert channel_of({"params": {"channel_id": "C2"}, "json": None}) == "C2"
    assert channel_of({"data": "bytes"}) == ""


def test_a_retry_after_from_before_the_clock_of_redis_was_set_back_lasts_no_longer_than_slack_said(
    redis: Redis, slept: list[float]
) -> None:
    rates = Rates(redis, paced=False)
    with two_hours_ahead():
        rates.pause("chat.postMessage", "C1", 8.0)
    assert 0 < rates.delay("chat.postMessage", "C1") <= 8.0
    rates.wait("chat.postMessage", "C1")
    assert len(slept) == 1
    assert slept[0] <= 8.0


def test_a_budget_from_before_the_clock_of_redis_was_set_back_is_a_full_one(redis: Redis, slept: list[float]) -> None:
    rates = Rates(redis, paced=True)
    with two_hours_ahead():
        for _ in range(BUDGETS["chat.update"].burst):
            rates.wait("chat.update")
    assert rates.delay("chat.update") <= 0
    for _ in range(BUDGETS["chat.update"].burst):
        rates.wait("chat.update")
    assert slept == []
