"""The worker service as real processes: RQ workers that fork, the session host, the janitor, and their deaths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from harness import PATIENT_SLACK, settings_for
from patience import PATIENCE_S, eventually

from bot import running_bot
from core.settings import Settings, environment_with
from core.steps import CellRan
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from playground import running
from tryout.stack.blocks_text import message_text
from tryout.stack.slack_client import LocalSlack

pytestmark = [pytest.mark.integration, pytest.mark.early]

ROOT = Path(__file__).parents[2]

COUNT = "runs = globals().get('runs', 0) + 1\nprint('ran', runs)"
SLOW = "import time\nruns = globals().get('runs', 0) + 1\nprint('begun', flush=True)\ntime.sleep(6)\nprint('ran', runs)"
"""Still runs when a test has seen it begin and kills a process."""
BRIEF = "import time\ntime.sleep(1)"
"""Ends within the time that a service has to stop in."""


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


@dataclass
class Service:
    """A running worker service, its Store, and the people in Slack."""

    settings: Settings
    slack: LocalSlack
    store: Store
    process: subprocess.Popen[bytes]
    log: Path

    def ask(self, text: str) -> ThreadKey:
        return self.slack.say("#sales", "ana", f"@threadbook {text}").thread

    def status(self, key: ThreadKey) -> str:
        turns = self.store.turns(key.id)
        return turns[-1].status if turns else ""

    def cells(self, key: ThreadKey) -> list[CellRan]:
        turns = self.store.turns(key.id)
        return [step for turn in turns for step in self.store.steps(turn.id) if isinstance(step, CellRan)]

    def wait_for(self, happened: Callable[[], object], what: str) -> None:
        try:
            eventually(happened, what)
        except AssertionError as error:
            error.add_note(f"The log ends with:\n{self.log.read_text()[-3000:]}")
            raise

    def answered(self, key: ThreadKey) -> None:
        self.wait_for(lambda: self.status(key) == "done", "the answer")

    def texts(self, key: ThreadKey) -> list[str]:
        return [message_text(message) for message in self.slack.thread(key)[1:]]

    def rq_workers(self) -> list[psutil.Process]:
        """The forks of the supervisor, without the session host (which is another program)."""
        return [child for child in children(self.process.pid) if not _is_session_host(child)]

    def horses(self) -> list[psutil.Process]:
        return [horse for worker in self.rq_workers() for horse in children(worker.pid)]

    def session_host(self) -> psutil.Process:
        return next(child for child in children(self.process.pid) if _is_session_host(child))


def children(pid: int) -> list[psutil.Process]:
    """The live child processes; none of a process that has just ended."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children()
    return []


def kill(processes: list[psutil.Process]) -> None:
    """Kill those that have not ended by themselves."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _is_session_host(process: psutil.Process) -> bool:
    try:
        return "executor.host" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def environment(settings: Settings, **more: str) -> dict[str, str]:
    return environment_with(
        SLACK_API_URL=settings.slack_api_url,
        SLACK_BOT_TOKEN="xoxb-playground",
        SLACK_APP_TOKEN="xapp-playground",
        REDIS_URL=settings.redis_url,
        DATABASE_URL=settings.database_url,
        THREADBOOK_HOME=str(settings.home),
        THREADBOOK_FILES=settings.files,
        THREADBOOK_NODE_ID=settings.node_id,
        THREADBOOK_CONFIG=str(settings.home / "threadbook.toml"),
        **more,
    )


@contextmanager
def service(
    home: Path, redis_url: str, turns: list[list[dict[str, Any]]], *, toml: str = "", **more: str
) -> Iterator[Service]:
    """`toml` adds to the team's file; `more` are further variables of the service's environment."""
    (home / "threadbook.toml").write_text(f"[workers]\ncount = 2\n{toml}")
    script = home / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    with ExitStack() as stack:
        slack = stack.enter_context(running(options=PATIENT_SLACK))
        settings = settings_for(home, slack.url, redis_url, THREADBOOK_NODE_ID=f"node-{os.getpid()}-{home.name}")
        store = Store(settings.database_url)
        stack.callback(store.close)
        store.migrate()
        log = home / "worker.log"
        output = stack.enter_context(log.open("wb"))
        process = subprocess.Popen(
            [sys.executable, "-m", "threadbook", "worker"],
            cwd=ROOT,
            env=environment(settings, THREADBOOK_MODEL=f"scripted:{script}", **more),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        stack.callback(_end, process)
        people = LocalSlack(stack.enter_context(httpx.Client(base_url=slack.url, timeout=PATIENCE_S, trust_env=False)))
        running_service = Service(settings, people, store, process, log)
        stack.enter_context(running_bot(settings))
        running_service.wait_for((home / "worker.ready").exists, "readiness")
        yield running_service


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_a_mention_is_answered_through_rq_and_the_service_stops_in_order(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, redis_url, [[call("run_python", code=COUNT), call("finish", report="It ran.")]]) as running:
        running.wait_for(lambda: "worker ready" in running.log.read_text(), "the line that follows the file")
        key = running.ask("run something")
        running.answered(key)
        assert [cell.stdout.strip() for cell in running.cells(key)] == ["ran 1"]
        everybody = psutil.Process(running.process.pid).children(recursive=True)
        running.process.terminate()
        assert running.process.wait(PATIENCE_S) == 0
        assert not (tmp_path / "worker.ready").exists()
        _, alive = psutil.wait_procs(everybody, timeout=PATIENCE_S)
        assert not alive


def test_a_killed_job_is_resumed_and_its_cell_runs_once(tmp_path: Path, redis_url: str) -> None:
    script = [
        [call("run_python", code=SLOW), call("run_python", code="print('after', runs)"), call("finish", report="Over.")]
    ]
    with service(tmp_path, redis_url, script) as running:
        key = running.ask("something slow")
        running.wait_for(lambda: running.store.turns(key.id) and _cell_runs(running, key), "the cell")
        kill(running.horses())
        running.answered(key)
        assert [cell.stdout.split() for cell in running.cells(key)] == [["begun", "ran", "1"], ["after", "1"]]
        assert sum("Over." in text for text in running.texts(key)) == 1


def test_a_service_that_is_told_to_stop_finishes_the_turn_it_works_on(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, redis_url, [[call("run_python", code=BRIEF), call("finish", report="Over.")]]) as running:
        key = running.ask("something slow")
        running.wait_for(lambda: running.store.turns(key.id) and _cell_runs(running, key), "the cell")
        running.process.terminate()
        assert running.process.wait(PATIENCE_S) == 0
        assert running.status(key) == "done"
        assert [cell.status for cell in running.cells(key)] == ["ok"]


def test_a_service_that_is_told_to_stop_begins_nothing_that_waits(tmp_path: Path, redis_url: str) -> None:
    cell = call("run_python", code="import time\ntime.sleep(3)")
    with service(tmp_path, redis_url, [[cell, call("finish", report="Over.")]]) as running:
        at_work = [running.ask("something slow"), running.ask("something slow, too")]
        for key in at_work:
            running.wait_for(lambda key=key: running.store.turns(key.id) and _cell_runs(running, key), "the cell")
        waits = running.ask("the one that waits for both")
        running.process.terminate()
        assert running.process.wait(PATIENCE_S) == 0
        assert [running.status(key) for key in at_work] == ["done", "done"]
        assert (running.store.turns(waits.id), len(running.store.unread(waits.id))) == ([], 1)


def test_killed_workers_are_started_again(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, redis_url, [[call("run_python", code=COUNT), call("finish", report="It ran.")]]) as running:
        first = running.rq_workers()
        kill(first)
        running.answered(running.ask("still there?"))
        assert not {worker.pid for worker in first} & {worker.pid for worker in running.rq_workers()}


def test_a_killed_session_host_is_started_again_and_the_thread_goes_on(tmp_path: Path, redis_url: str) -> None:
    script = [
        [call("run_python", code=COUNT), call("finish", report="First.")],
        [call("run_python", code=COUNT), call("finish", report="Second.")],
    ]
    with service(tmp_path, redis_url, script) as running:
        key = running.ask("first")
        running.answered(key)
        running.session_host().kill()
        running.slack.say("#sales", "ben", "second", thread_ts=key.root_ts)
        running.wait_for(lambda: len(running.store.turns(key.id)) == 2 and running.status(key) == "done", "the answer")
        assert [cell.stdout.strip() for cell in running.cells(key)] == ["ran 1", "ran 2"]


def test_mail_without_a_wake_is_found(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, redis_url, [[call("run_python", code=COUNT), call("finish", report="It ran.")]]) as running:
        key = running.slack.say("#sales", "ana", "nobody is mentioned here").thread
        running.store.record_message(
            IncomingMessage(
                team=key.team,
                channel=key.channel,
                channel_type="channel",
                ts=key.root_ts,
                root_ts=key.root_ts,
                user="U0ANA00001",
                text="found by the janitor",
            )
        )
        running.answered(key)


def test_nothing_outlives_a_killed_service(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, redis_url, [[call("run_python", code=COUNT), call("finish", report="It ran.")]]) as running:
        running.answered(running.ask("run something"))
        everybody = psutil.Process(running.process.pid).children(recursive=True)
        running.process.kill()
        running.process.wait()
        _, alive = psutil.wait_procs(everybody, timeout=PATIENCE_S)
        assert not alive


def _cell_runs(running: Service, key: ThreadKey) -> bool:
    with suppress(IndexError):
        return running.store.steps(running.store.turns(key.id)[-1].id)[-1].kind == "replied" and bool(running.horses())
    return False
