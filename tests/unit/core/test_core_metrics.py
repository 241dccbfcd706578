"""Every count is on the page once: those of jobs come through Redis, the others from the Store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import fakeredis
import pytest
from patience import reserved_port
from prometheus_client import CollectorRegistry
from redis import ConnectionError as RedisConnectionError
from slack_sdk.errors import SlackApiError
from turn_kit import ASKED, CELL, CORRECTED, FINISHED, GAVE_UP, REPLIED, RESUMED, changed, message, write_turn

from core.metrics import FIRST_SIGN, RETRIES, SLACK_CALLS, HandedOver, handing_over, plain
from core.settings import load_settings
from core.slack.client import repeating, web_client
from core.steps import Usage
from core.store import Store
from core.store.history import History
from core.turn_metrics import CountedUntil, TurnMetrics
from core.values import Lease
from playground import Options, running


@pytest.fixture
def redis() -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as connection:
        yield connection


@pytest.fixture
def shown(redis: fakeredis.FakeRedis) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(HandedOver(redis, "here"))
    return registry


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def turns(tmp_path: Path, store: Store, redis: fakeredis.FakeRedis) -> Iterator[tuple[TurnMetrics, CollectorRegistry]]:
    with closing(History(f"sqlite:///{tmp_path}/store.db")) as history:
        registry = CollectorRegistry()
        yield TurnMetrics(history, registry, CountedUntil(redis, "here")), registry


# --- from jobs


def test_the_counts_of_jobs_are_added_up(redis: fakeredis.FakeRedis, shown: CollectorRegistry) -> None:
    labels = {"method": "chat.postMessage", "result": "ok"}
    for calls in (2, 3):
        with handing_over(redis, "here"):
            SLACK_CALLS.labels(**labels).inc(calls)
            FIRST_SIGN.observe(0.3)
    assert shown.get_sample_value("threadbook_slack_calls_total", labels) == 5
    assert shown.get_sample_value("threadbook_first_sign_seconds_count") == 2
    assert shown.get_sample_value("threadbook_first_sign_seconds_bucket", {"le": "0.25"}) is None
    assert shown.get_sample_value("threadbook_first_sign_seconds_bucket", {"le": "0.5"}) == 2


def test_counts_inherited_from_the_parent_are_not_counted_again(
    redis: fakeredis.FakeRedis, shown: CollectorRegistry
) -> None:
    RETRIES.labels("turn", "inherited").inc(7)
    with handing_over(redis, "here"):
        pass
    assert shown.get_sample_value("threadbook_retries_total", {"part": "turn", "cause": "inherited"}) is None


def test_a_failed_job_hands_over_too_and_nodes_are_kept_apart(
    redis: fakeredis.FakeRedis, shown: CollectorRegistry
) -> None:
    labels = {"part": "turn", "cause": "test"}

    def job() -> None:
        with handing_over(redis, "here"):
            RETRIES.labels(**labels).inc()
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        job()
    with handing_over(redis, "there"):
        RETRIES.labels(**labels).inc(10)
    assert shown.get_sample_value("threadbook_retries_total", labels) == 1


def test_without_redis_the_counts_are_lost_and_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    server = fakeredis.FakeServer()
    server.connected = False
    with fakeredis.FakeRedis(server=server) as away:
        with pytest.raises(RedisConnectionError):
            away.ping()
        with handing_over(away, "here"):
            RETRIES.labels("turn", "away").inc()
        registry = CollectorRegistry()
        registry.register(HandedOver(away, "here"))
        assert registry.get_sample_value("threadbook_retries_total", {"part": "turn", "cause": "away"}) is None


@pytest.mark.parametrize(
    ("name", "label"), [("not_in_channel", "not_in_channel"), ("Unsinn!", "other"), ("a" * 61, "other")]
)
def test_unusual_error_names_make_no_series(name: str, label: str) -> None:
    assert plain(name) == label


def test_calls_of_slack_are_counted_by_their_result(
    tmp_path: Path, redis: fakeredis.FakeRedis, shown: CollectorRegistry
) -> None:
    with running(options=Options()) as slack:
        env = {"SLACK_API_URL": f"{slack.url}/api/", "SLACK_BOT_TOKEN": "xoxb-playground"}
        client = web_client(load_settings(env, tmp_path))
        with handing_over(redis, "here"):
            client.auth_test()
            repeating(client).auth_test()
            with pytest.raises(SlackApiError):
                client.chat_postMessage(channel="C404", text="hello")
    with reserved_port() as port:
        gone = web_client(load_settings(env | {"SLACK_API_URL": f"http://127.0.0.1:{port}/api/"}, tmp_path))
        with handing_over(redis, "here"), pytest.raises(OSError, match="refused"):
            gone.auth_test()

    def calls(method: str, result: str) -> float | None:
        return shown.get_sample_value("threadbook_slack_calls_total", {"method": method, "result": result})

    assert calls("auth.test", "ok") == 2
    assert calls("auth.test", "no_reply") == 1
    assert calls("chat.postMessage", "channel_not_found") == 1


# --- from the Store


def test_a_turn_is_counted_once_when_it_has_ended(store: Store, turns: tuple[TurnMetrics, CollectorRegistry]) -> None:
    metrics, registry = turns
    write_turn(store, [ASKED, REPLIED, changed(CELL, status="error"), CORRECTED, REPLIED, CELL, FINISHED])
    for _ in range(3):
        metrics.refresh()
    value = registry.get_sample_value
    assert value("threadbook_turns_total", {"outcome": "done"}) == 1
    assert value("threadbook_turn_seconds_count", {"outcome": "done"}) == 1
    assert value("threadbook_queue_wait_seconds_count") == 1
    assert value("threadbook_first_word_seconds_count") == 1
    assert value("threadbook_cell_seconds_count", {"status": "ok"}) == 1
    assert value("threadbook_cell_seconds_count", {"status": "error"}) == 1
    assert value("threadbook_cell_seconds_sum", {"status": "ok"}) == 0.25
    assert value("threadbook_model_call_seconds_count", {"model": "gpt-x", "purpose": "act"}) == 2
    assert value("threadbook_model_tokens_total", {"model": "gpt-x", "direction": "prompt"}) == 240
    assert value("threadbook_model_tokens_total", {"model": "gpt-x", "direction": "completion"}) == 60
    assert value("threadbook_model_corrections_total", {"cause": "no_call"}) == 1


def test_a_turn_that_is_taken_up_again_is_counted_at_each_end_with_what_came_since(
    store: Store, turns: tuple[TurnMetrics, CollectorRegistry]
) -> None:
    metrics, registry = turns
    usage = Usage(prompt_tokens=120, completion_tokens=30, cached_tokens=100)
    priced = changed(REPLIED, usage=usage, cost_micros=1_500_000)
    turn = write_turn(store, [ASKED, priced, GAVE_UP], "stopped")
    metrics.refresh()
    store.record_message(message(ts="102.000001"))
    (mail,) = store.unread(turn.thread_id)
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    store.reopen_turn(lease, turn.id, mail.id, RESUMED, model="gpt-x")
    store.append_step(lease, turn.id, priced)
    store.set_turn_status(lease, turn.id, "done")
    for _ in range(2):
        metrics.refresh()
    value = registry.get_sample_value
    assert [value("threadbook_turns_total", {"outcome": name}) for name in ("stopped", "done")] == [1, 1]
    assert value("threadbook_model_tokens_total", {"model": "gpt-x", "direction": "prompt"}) == 240
    assert value("threadbook_model_tokens_total", {"model": "gpt-x", "direction": "cached"}) == 200
    assert value("threadbook_model_cost_total", {"model": "gpt-x"}) == 3.0


def test_turns_that_end_later_are_added(store: Store, turns: tuple[TurnMetrics, CollectorRegistry]) -> None:
    metrics, registry = turns
    for number, status in enumerate(("done", "failed", "done", "stopped")):
        write_turn(store, [ASKED], status, channel=f"C{number}")
        metrics.refresh()
    counts = [
        registry.get_sample_value("threadbook_turns_total", {"outcome": name}) for name in ("done", "failed", "stopped")
    ]
    assert counts == [2, 1, 1]


def test_what_is_open_now_is_a_gauge(store: Store, turns: tuple[TurnMetrics, CollectorRegistry]) -> None:
    metrics, registry = turns
    write_turn(store, [ASKED], "running")
    write_turn(store, [ASKED], "waiting", channel="C2")
    store.record_message(message("C3"))
    metrics.refresh()
    assert registry.get_sample_value("threadbook_open_turns", {"status": "running"}) == 1
    assert registry.get_sample_value("threadbook_open_turns", {"status": "waiting"}) == 1
    assert registry.get_sample_value("threadbook_unread_messages") == 1
    assert (registry.get_sample_value("threadbook_oldest_running_turn_seconds") or -1) >= 0
    assert registry.get_sample_value("threadbook_turns_total", {"outcome": "running"}) is None


def counted(tmp_path: Path, redis: fakeredis.FakeRedis, meanwhile: Callable[[], object] = lambda: None) -> float:
    """How many turns a new process of the node has counted after two scrapes, with something in between."""
    registry = CollectorRegistry()
    with closing(History(f"sqlite:///{tmp_path}/store.db")) as history:
        metrics = TurnMetrics(history, registry, CountedUntil(redis, "here"))
        metrics.refresh()
        meanwhile()
        metrics.refresh()
    return registry.get_sample_value("threadbook_turns_total", {"outcome": "done"}) or 0


def test_the_first_scrape_reads_no_history(tmp_path: Path, store: Store, redis: fakeredis.FakeRedis) -> None:
    write_turn(store, [ASKED])
    assert counted(tmp_path, redis, lambda: write_turn(store, [ASKED], channel="C2")) == 1


def test_what_ended_between_two_processes_of_a_node_is_counted_by_the_second(
    tmp_path: Path, store: Store, redis: fakeredis.FakeRedis
) -> None:
    assert counted(tmp_path, redis, lambda: write_turn(store, [ASKED])) == 1
    write_turn(store, [ASKED], channel="C2")
    assert counted(tmp_path, redis) == 1


def test_without_redis_counting_begins_with_the_process(tmp_path: Path, store: Store) -> None:
    server = fakeredis.FakeServer()
    server.connected = False
    write_turn(store, [ASKED])
    with fakeredis.FakeRedis(server=server) as away:
        assert counted(tmp_path, away, lambda: write_turn(store, [ASKED], channel="C2")) == 1


def test_a_process_that_lives_long_hands_over_what_was_counted_since(
    redis: fakeredis.FakeRedis, shown: CollectorRegistry
) -> None:
    labels = {"part": "turn", "cause": "long"}
    with handing_over(redis, "here") as hand_over:
        for _ in range(3):
            RETRIES.labels(**labels).inc()
            hand_over()
            hand_over()
        assert shown.get_sample_value("threadbook_retries_total", labels) == 3
    assert shown.get_sample_value("threadbook_retries_total", labels) == 3
