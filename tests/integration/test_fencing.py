"""A lease holder that was paused past its lease writes nothing: real processes, real SIGSTOP and SIGCONT."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest
from harness import PATIENT_SLACK, settings_for
from patience import PATIENCE_S, eventually
from test_workers_service import SLOW, call, service

from core.leases import Leases
from core.queue import connect_redis
from core.settings import Settings, environment_with
from core.slack.client import web_client
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from playground import running
from tryout.stack.slack_client import LocalSlack

pytestmark = pytest.mark.integration

HOLDER = """
import json, sys
from core.errors import LeaseLost
from core.leases import Leases
from core.queue import connect_redis
from core.settings import load_settings
from core.slack.client import web_client
from core.slack.writing.uploads import Upload
from core.slack.writing.writer import SlackWriter
from core.steps import GaveUp
from core.store import Store
from core.values import ThreadKey

settings = load_settings()
store = Store(settings.database_url)
slack = SlackWriter(web_client(settings), store)
key = ThreadKey.parse(sys.argv[1])
lease = Leases(connect_redis(settings.redis_url), store, ttl_s=1).take(key.id)
turn = store.open_turn(lease, "en", "scripted")
ts = slack.post(lease, key, f"{turn.id}:card", "working")
print("holding", flush=True)
sys.stdin.readline()
attempts = {
    "a step": lambda: store.append_step(lease, turn.id, GaveUp(reason="late", text="too late")),
    "the end of its turn": lambda: store.set_turn_status(lease, turn.id, "failed"),
    "a post": lambda: slack.post(lease, key, f"{turn.id}:late", "too late"),
    "a redraw": lambda: slack.update(lease, key, ts, "too late"),
    "a file": lambda: slack.upload(lease, key, f"{turn.id}:file", [Upload("late.txt", b"too late")]),
    "a reaction": lambda: slack.react(key, key.root_ts, "warning", lease=lease),
    "a status": lambda: slack.set_status(key, "is too late", lease=lease),
    "a session": lambda: slack.set_session(key, "active", lease=lease),
}
outcome = {}
for name, attempt in attempts.items():
    try:
        attempt()
        outcome[name] = "written"
    except LeaseLost:
        outcome[name] = "refused"
print(json.dumps(outcome), flush=True)
"""


@pytest.fixture
def people() -> Iterator[LocalSlack]:
    with (
        running(options=PATIENT_SLACK) as address,
        httpx.Client(base_url=address.url, timeout=PATIENCE_S, trust_env=False) as http,
    ):
        yield LocalSlack(http)


@contextmanager
def holder(settings: Settings, key: ThreadKey) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the thread's lease for a second and never renews it."""
    environment = environment_with(
        SLACK_API_URL=settings.slack_api_url,
        SLACK_BOT_TOKEN="xoxb-playground",
        REDIS_URL=settings.redis_url,
        THREADBOOK_HOME=str(settings.home),
    )
    command = [sys.executable, "-c", HOLDER, key.id]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, env=environment, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_holder_that_was_paused_past_its_lease_writes_to_neither_store_nor_slack(
    tmp_path: Path, redis_url: str, people: LocalSlack
) -> None:
    settings = settings_for(tmp_path, str(people.http.base_url), redis_url)
    with closing(Store(settings.database_url)) as store, closing(connect_redis(redis_url)) as redis:
        store.migrate()
        slack = SlackWriter(web_client(settings), store)
        key = people.say("#sales", "ana", "hello").thread
        store.record_message(
            IncomingMessage(
                team=key.team,
                channel=key.channel,
                channel_type="channel",
                ts=key.root_ts,
                root_ts=key.root_ts,
                user="U0ANA00001",
                text="hello",
            )
        )
        with holder(settings, key) as old:
            assert old.stdout is not None
            assert old.stdin is not None
            assert old.stdout.readline() == "holding\n"
            os.kill(old.pid, signal.SIGSTOP)
            eventually(lambda: state_of(old.pid) == "T", "the pause")
            leases = Leases(redis, store, ttl_s=30)
            eventually(lambda: not leases.is_held(key.id), "the end of the lease")
            lease = leases.take(key.id)
            assert lease is not None
            turn = store.current_turn(key.id)
            assert turn is not None
            slack.post(lease, key, f"{turn.id}:report:0", "the answer of the new holder")
            before = people.thread(key)
            os.kill(old.pid, signal.SIGCONT)
            old.stdin.write("go on\n")
            old.stdin.flush()
            outcome = json.loads(old.stdout.readline())
        assert set(outcome.values()) == {"refused"}, outcome
        assert people.thread(key) == before
        assert store.steps(turn.id) == []
        current = store.current_turn(key.id)
        assert current is not None
        assert current.status == "running"


def test_a_paused_job_of_a_service_is_killed_and_another_ends_the_turn(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, redis_url, [[call("run_python", code=SLOW), call("finish", report="Over.")]]) as running_one:
        key = running_one.ask("something slow")
        running_one.wait_for(lambda: "running" in running_one.status(key) and running_one.horses(), "the job")
        running_one.wait_for(lambda: replies(running_one.store, key), "the cell")
        paused = running_one.horses()  # the turn's, and perhaps one that is about to end
        for process in paused:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        assert psutil.wait_procs(paused, timeout=PATIENCE_S)[1] == []
        running_one.answered(key)
        assert [cell.stdout.split() for cell in running_one.cells(key)] == [["begun", "ran", "1"]]
        assert sum("Over." in text for text in running_one.texts(key)) == 1


def replies(store: Store, key: ThreadKey) -> list[object]:
    return [step for step in store.steps(store.turns(key.id)[-1].id) if step.kind == "replied"]
