"""The broker's process: started again when it ends, and alone with the URLs of environment variables."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually
from redis import Redis

from core.health import Missing
from core.settings import Settings, load_settings
from core.store.history import History
from executor.watchdog import Watchdog
from workers.service import health
from workers.service.processes.broker import BrokerProcess
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request
from workers.sources.errors import LimitReached, SourceError

pytestmark = pytest.mark.process

FIRST, SECOND = "planted-pla", "nted-4711"  # never side by side in a process, unless somebody put them there

SERVICE = """
import json, os, sys
from core.settings import load_settings
from workers.service.processes.broker import BrokerProcess
from workers.service.processes.held_secrets import hold_secrets
from workers.sources.broker.client import BrokerClient

settings = load_settings()
descriptor = hold_secrets(settings).urls
broker = BrokerProcess(settings, descriptor)
broker.keep()
kinds = BrokerClient(settings.broker_socket, back_s=60).kinds()
pids = {"service": os.getpid(), "broker": broker.pid}
if pid := os.fork():
    os.waitpid(pid, 0)
    broker.stop()
    sys.exit()
try:
    os.fstat(descriptor)
except OSError:
    descriptor = None
print(json.dumps({"kinds": kinds, "pids": pids | {"job": os.getpid()}, "file": descriptor}), flush=True)
sys.stdin.read()
os._exit(0)
"""


def holds(pid: int) -> bool:
    """Whether the secret is in the environment or the memory of a process."""
    secret = re.compile(re.escape(f"{FIRST}{SECOND}".encode()))
    if secret.search(Path(f"/proc/{pid}/environ").read_bytes()):
        return True
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            try:
                memory.seek(start)
                if secret.search(memory.read(end - start) or b""):
                    return True
            except (OSError, OverflowError):
                continue  # a region that cannot be read
    return False


def settings_in(folder: Path, toml: str) -> Settings:
    with closing(sqlite3.connect(folder / "shop.db")) as file:
        file.execute("CREATE TABLE IF NOT EXISTS t AS SELECT 7 AS n")
    (folder / "threadbook.toml").write_text(toml)
    return load_settings({"THREADBOOK_HOME": str(folder)}, folder)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[BrokerProcess]:
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path}/shop.db")
    made = BrokerProcess(settings_in(tmp_path, '[sources.shop]\nurl_file = "url"\n'))
    yield made
    made.stop()


def rows(folder: Path) -> int | None:
    request = Request(ask=Ask(ask="rows", source="shop", sql="select n from t"), seconds=PATIENCE_S, bytes=1 << 20)
    answer, descriptor = BrokerClient(folder / "broker.sock", back_s=PATIENCE_S).ask(request, threading.Event())
    os.close(descriptor or 0)
    return answer.rows


def test_a_url_in_the_environment_is_in_the_broker_alone(tmp_path: Path) -> None:
    """Not in the memory, the environment or the open files of a job, which is a fork of the service."""
    settings_in(tmp_path, '[sources.shop]\nurl_env = "SHOP_URL"\n')
    url = f"sqlite:///{tmp_path}/shop.db?{FIRST}{SECOND}"
    environment = {**os.environ, "SHOP_URL": url, "THREADBOOK_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = str(Path(__file__).parents[5])
    command = [sys.executable, "-c", SERVICE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, cwd=tmp_path, text=True, **pipes) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        found = json.loads(service.stdout.readline())
        holders = {name: holds(pid) for name, pid in found["pids"].items()}
        service.stdin.close()
    assert holders == {"service": False, "job": False, "broker": True}
    assert (found["kinds"], found["file"]) == ({"shop": "sqlite"}, None)


def test_a_broker_that_ends_is_started_again(process: BrokerProcess, tmp_path: Path) -> None:
    process.keep()
    assert rows(tmp_path) == 1
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    def again() -> bool:
        process.keep()
        return process.pid not in (None, first)

    eventually(again, "another broker")
    assert rows(tmp_path) == 1


def test_a_broker_that_hangs_is_killed_and_started_again(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path}/shop.db")
    settings = settings_in(tmp_path, '[sources.shop]\nurl_file = "url"\n')
    process = BrokerProcess(settings, watchdog=Watchdog(idle_s=0.2))
    process.keep()
    try:
        assert rows(tmp_path) == 1
        process.keep()  # it has answered once
        hanging = process.pid
        assert hanging is not None
        os.kill(hanging, signal.SIGSTOP)

        def again() -> bool:
            process.keep()
            return process.pid not in (None, hanging)

        eventually(again, "another broker")
        assert rows(tmp_path) == 1
    finally:
        process.stop()


def test_health_tells_whether_the_broker_answers(process: BrokerProcess, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, '[sources.shop]\nurl_file = "url"\n')
    check = health.checks(settings, Redis(), History("sqlite://"))["broker"]
    process.keep()
    assert rows(tmp_path) == 1
    assert re.fullmatch(r"answers, data sources: 1, memory: \d+ of 4,096 MB", check())
    (tmp_path / "broker.sock").unlink()
    with pytest.raises(Missing, match="does not answer"):
        check()


def test_it_ends_when_it_is_told_to(process: BrokerProcess, tmp_path: Path) -> None:
    process.keep()
    assert rows(tmp_path) == 1
    process.stop()
    assert process.pid is None
    with pytest.raises(SourceError, match="does not answer"):
        BrokerClient(tmp_path / "broker.sock", back_s=0.1).kinds()


def test_without_sources_there_is_none(tmp_path: Path) -> None:
    process = BrokerProcess(settings_in(tmp_path, ""))
    process.keep()
    assert process.pid is None


@pytest.mark.parametrize(
    "sql",
    ["select w from wide, thousand", "select substr(w, 1, 10000) as w from wide, thousand a, thousand b"],
    ids=["what the driver takes", "a result that grows"],
)
def test_a_result_above_the_memory_of_the_broker_is_a_sentence_and_the_broker_goes_on(tmp_path: Path, sql: str) -> None:
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path}/shop.db")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute("CREATE TABLE wide AS SELECT hex(zeroblob(500000)) AS w")
        endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 1000)"
        file.execute(f"CREATE TABLE thousand AS {endless} SELECT i FROM c")
    toml = '[sources.shop]\nurl_file = "url"\nmax_mb = 9000\n[workers]\nbroker_mb = 512\n'
    settings = settings_in(tmp_path, toml)
    process = BrokerProcess(settings)
    process.keep()
    try:
        assert rows(tmp_path) == 1
        before = process.pid
        client = BrokerClient(tmp_path / "broker.sock", back_s=PATIENCE_S)
        request = Request(ask=Ask(ask="rows", source="shop", sql=sql), seconds=PATIENCE_S, bytes=1 << 33)
        with pytest.raises(LimitReached, match="has no memory for this result"):
            client.ask(request, threading.Event())
        assert rows(tmp_path) == 1
        assert process.pid == before
        check = health.checks(settings, Redis(), History("sqlite://"))["broker"]
        assert check().endswith("of 512 MB, results refused for memory: 1")
    finally:
        process.stop()
