"""Processes that hold many turns, as real forks with a real Redis: what ends them, and what becomes of their turns."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from patience import eventually
from redis import Redis
from structlog.testing import capture_logs
from test_workers_service import SLOW, Service, call, kill, service

from core.leases import Leases
from core.queue import connect_redis
from core.settings import load_settings
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from executor.watchdog import Watchdog
from workers.service import jobs
from workers.service.context import WorkerContext
from workers.service.turn_pool import TurnPool

pytestmark = pytest.mark.integration

WAITS = "T1:C1:1.0"
ENDLESS_MATCH = re.compile(r"(a+)+$"), "a" * 40 + "b"
"""A match that takes centuries and keeps the interpreter for itself."""


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with closing(connect_redis(redis_url)) as opened:
        opened.flushdb()
        yield opened


@pytest.fixture
def pool(tmp_path: Path, redis: Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TurnPool]:
    """Its processes know the settings and the Store, and do what `jobs.run` is set to by then."""
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path), "REDIS_URL": redis_url}, tmp_path)
    store = Store(settings.database_url)
    store.migrate()
    store.record_message(
        IncomingMessage(team="T1", channel="C1", channel_type="im", ts="1.0", root_ts="1.0", user="U1", text="hi")
    )
    store.close()
    monkeypatch.setattr(jobs, "_prepared", [(settings, store)])
    redis.ping()
    made = TurnPool(redis, 10)
    yield made
    made.kill()
    eventually(lambda: made.look() or not made.pids, "the end of all processes")


def turns_do(monkeypatch: pytest.MonkeyPatch, work: Callable[[WorkerContext, str], None]) -> None:
    monkeypatch.setattr(jobs, "run", work)


def holds_its_lease(worker: WorkerContext, thread_id: str) -> None:
    """A turn that never rests."""
    with worker.leases.hold(thread_id):
        time.sleep(10_000)


def leases_of(redis: Redis) -> Leases:
    _, store = jobs.prepared()
    assert store is not None
    return Leases(redis, store)


def test_a_turn_that_kills_its_process_takes_the_others_along_and_it_is_told(
    pool: TurnPool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(worker: WorkerContext, thread_id: str) -> None:
        if thread_id == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        holds_its_lease(worker, thread_id)

    turns_do(monkeypatch, work)
    leases = leases_of(redis)
    pool.start(WAITS)
    eventually(lambda: leases.is_held(WAITS), "the lease")
    with capture_logs() as logs:
        pool.start("deadly")
        eventually(lambda: pool.look() or not pool.pids, "the death")
    (died,) = [line for line in logs if line["event"] == "turn_process_died"]
    assert (died["code"], died["threads"]) == (-signal.SIGKILL, sorted([WAITS, "deadly"]))
    assert not leases.is_held(WAITS), "nobody has to wait until it runs out"
    pool.start(WAITS)
    eventually(lambda: leases.is_held(WAITS), "the next process")


def test_a_turn_that_keeps_the_interpreter_is_ended_with_its_process(
    pool: TurnPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns_do(monkeypatch, lambda worker, thread_id: ENDLESS_MATCH[0].match(ENDLESS_MATCH[1]) and None)
    pool.start("endless")
    (process,) = pool._processes
    eventually(lambda: process.signs.beats > 0, "a beat")
    process.watchdog = Watchdog(2.0, 3.0)
    with capture_logs() as logs:
        eventually(lambda: pool.look() or not pool.pids, "the end")
    assert [line["event"] for line in logs] == ["turn_process_stuck", "turn_process_died"]


def test_a_process_that_gets_sigterm_ends_with_its_last_turn_and_gets_no_more(
    pool: TurnPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"

    def work(worker: WorkerContext, thread_id: str) -> None:
        (tmp_path / thread_id).touch()
        eventually(go.exists)

    turns_do(monkeypatch, work)
    pool.start("first")
    eventually((tmp_path / "first").exists, "the first turn")
    (first,) = pool.pids
    os.kill(first, signal.SIGTERM)
    eventually(lambda: pool.look() or pool._processes[0].is_last, "its word")
    pool.start("second")
    eventually((tmp_path / "second").exists, "the second turn")
    assert len(pool.pids) == 2
    assert pool.in_flight == 2
    go.touch()
    eventually(lambda: pool.look() or not pool.in_flight, "the end of both turns")
    eventually(lambda: pool.look() or first not in pool.pids, "the end of the first process")


def test_a_drain_cuts_off_what_is_left_and_gives_its_leases_back(
    pool: TurnPool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns_do(monkeypatch, holds_its_lease)
    leases = leases_of(redis)
    pool.start(WAITS)
    eventually(lambda: leases.is_held(WAITS), "the lease")
    with capture_logs() as logs:
        pool.drain(0.2, cut_off=True)
        eventually(lambda: pool.look() or not pool.pids, "the end")
    assert not leases.is_held(WAITS)
    assert [line["event"] for line in logs] == []


def test_a_process_of_turns_keeps_no_connection_of_its_worker(
    pool: TurnPool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns_do(monkeypatch, lambda worker, thread_id: time.sleep(10_000))
    redis.ping()
    before = sockets_of(os.getpid())
    pool.start("waits")
    (process,) = pool._processes
    eventually(lambda: process.signs.beats > 0, "a beat")
    kept = before & sockets_of(process.pid)
    redis.ping()  # opens a connection again
    assert before - sockets_of(os.getpid()), "the one that was open is closed"
    assert not kept - sockets_of(os.getpid()), "a job that Redis gives to a dead worker would be lost"


def sockets_of(pid: int) -> set[str]:
    """The sockets that a process has open, by number."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return {each for each in found if each.startswith("socket:")}


def test_turns_of_processes_that_are_killed_go_on_and_their_cells_run_once(tmp_path: Path, redis_url: str) -> None:
    script = [
        [call("run_python", code=SLOW), call("run_python", code="print('after', runs)"), call("finish", report="Over.")]
    ]
    without_limits = "[fairness]\nper_channel = 0\nper_person = 0\n"
    with service(tmp_path, redis_url, script, toml=without_limits) as running:
        keys = [running.ask(f"question {number}") for number in range(6)]
        running.wait_for(lambda: all(cell_was_asked_for(running, key) for key in keys), "six turns at work")
        assert 1 <= len(running.horses()) <= 2
        kill(running.horses())
        for key in keys:
            running.answered(key)
            assert [cell.stdout.split() for cell in running.cells(key)] == [["begun", "ran", "1"], ["after", "1"]]
            assert sum("Over." in text for text in running.texts(key)) == 1


def cell_was_asked_for(running: Service, key: ThreadKey) -> bool:
    turns = running.store.turns(key.id)
    return bool(turns) and any(step.kind == "replied" for step in running.store.steps(turns[-1].id))
