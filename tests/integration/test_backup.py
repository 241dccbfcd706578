"""The lines of docs/backup.md, run as they stand: kill everything, delete it, restore it, and the thread goes on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest
from harness import PATIENT_SLACK, settings_for
from patience import PATIENCE_S, eventually

from core.steps import CellRan
from core.store import Store
from core.values import ThreadKey
from playground import running
from tryout.stack.blocks_text import message_text
from tryout.stack.processes import Processes
from tryout.stack.redis_server import embedded_redis
from tryout.stack.slack_client import LocalSlack

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "backup.md"
SCRIPT = """{"turns": [
 [{"calls": [{"name": "run_python", "arguments": {"title": "One", "code": "kept = [41]"}}]},
  {"calls": [{"name": "finish", "arguments": {"report": "It is set."}}]}],
 [{"calls": [{"name": "run_python", "arguments": {"title": "Two", "code": "print(kept[0] + 1)"}}]},
  {"calls": [{"name": "finish", "arguments": {"report": "It is 42."}}]}]]}"""


IN_MID_CELL = """{"turns": [
 [{"calls": [{"name": "run_python", "arguments": {"title": "One", "code": "kept = [41]"}}]},
  {"calls": [{"name": "finish", "arguments": {"report": "It is set."}}]}],
 [{"calls": [{"name": "run_python", "arguments": {"title": "Two",
   "code": "kept.append(1)\\nimport time\\ntime.sleep(600)"}}]},
  {"calls": [{"name": "run_python", "arguments": {"title": "Three", "code": "print(kept)"}}]},
  {"calls": [{"name": "finish", "arguments": {"report": "It is done."}}]}]]}"""


def commands(name: str) -> str:
    found = re.search(rf"^```sh {name}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def carry_out(name: str, home: Path, backup: Path) -> None:
    places = {"THREADBOOK_HOME": str(home), "BACKUP": str(backup), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run(["sh", "-euc", commands(name)], env=places, check=True, timeout=PATIENCE_S)


@contextmanager
def services(home: Path, people: LocalSlack, redis_url: str, script: Path) -> Iterator[Processes]:
    """Bot and worker service with this home; they may be killed before the block ends."""
    settings = settings_for(home, str(people.http.base_url).rstrip("/"), redis_url)
    variables = {
        "SLACK_API_URL": settings.slack_api_url,
        "SLACK_BOT_TOKEN": "xoxb-playground",
        "SLACK_APP_TOKEN": "xapp-playground",
        "REDIS_URL": redis_url,
        "THREADBOOK_HOME": str(home),
        "THREADBOOK_MODEL": f"scripted:{script}",
        "THREADBOOK_NODE_ID": "node-1",
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(PAGE.parents[1]),
    }
    with Processes(home.parent / f"logs-{home.name}", variables) as processes:
        processes.start("bot", "bot")
        processes.start("worker", "worker")
        eventually((home / "worker.ready").exists, "a worker that is ready")
        yield processes


def kill_all(processes: Processes) -> None:
    family = [psutil.Process(each.pid) for each in processes.running.values() if each.poll() is None]
    for process in [*family, *(child for each in family for child in each.children(recursive=True))]:
        with suppress(psutil.NoSuchProcess):  # the end of its parent may have ended it
            process.kill()


def done(home: Path, key: ThreadKey, turns: int) -> bool:
    with closing(Store(f"sqlite:///{home / 'threadbook.db'}")) as store:
        return [turn.status for turn in store.turns(key.id)] == ["done"] * turns


def last_cell(home: Path, key: ThreadKey) -> CellRan:
    with closing(Store(f"sqlite:///{home / 'threadbook.db'}")) as store:
        return [step for step in store.steps(store.turns(key.id)[-1].id) if isinstance(step, CellRan)][-1]


@contextmanager
def local_slack() -> Iterator[LocalSlack]:
    """The people of a Slack of the playground."""
    with (
        running(options=PATIENT_SLACK) as slack,
        httpx.Client(base_url=slack.url, timeout=PATIENCE_S, trust_env=False) as http,
    ):
        yield LocalSlack(http)


@contextmanager
def first_answer(people: LocalSlack, home: Path, redis_url: str, script: Path) -> Iterator[tuple[Processes, ThreadKey]]:
    """A bot and a worker that have answered one question, and its thread."""
    home.mkdir()
    with services(home, people, redis_url, script) as processes:
        eventually(people.bot_is_connected, "a bot that listens")
        key = people.say("#sales", "ana", "@threadbook set it").thread
        eventually(lambda: done(home, key, 1), "the first answer")
        yield processes, key


@contextmanager
def restored(people: LocalSlack, home: Path, backup: Path, script: Path) -> Iterator[None]:
    """A bot and a worker on a restored backup, with an empty Redis."""
    carry_out("restore", home, backup)
    with (
        embedded_redis(home.parent / "other-redis.log") as empty,
        services(home, people, empty, script),
    ):
        yield


def test_everything_is_killed_and_restored_and_the_thread_goes_on_with_its_variables(
    tmp_path: Path, redis_url: str
) -> None:
    first, second, backup, script = (tmp_path / name for name in ("first", "second", "backup", "script.json"))
    script.write_text(SCRIPT, encoding="utf-8")
    with local_slack() as people:
        with first_answer(people, first, redis_url, script) as (processes, key):
            processes.running["worker"].terminate()
            processes.running["worker"].wait(PATIENCE_S)
            carry_out("backup", first, backup)
            kill_all(processes)
        shutil.rmtree(first)
        with restored(people, second, backup, script):
            assert (second.stat().st_mode & 0o777, (second / "threadbook.db").stat().st_size > 0) == (0o700, True)
            eventually(people.bot_is_connected, "a bot that listens")
            people.say("#sales", "ana", "and one more?", thread_ts=key.root_ts)
            eventually(lambda: done(second, key, 2), "the second answer")
            cell = last_cell(second, key)
            said = "\n".join(message_text(message) for message in people.thread(key))
    assert (cell.status, cell.stdout, cell.error) == ("ok", "42\n", "")
    assert "It is set." in said
    assert "It is 42." in said


def test_a_copy_from_the_middle_of_a_cell_serves_the_thread_and_says_what_is_not_known(
    tmp_path: Path, redis_url: str
) -> None:
    first, second, backup, script = (tmp_path / name for name in ("first", "second", "backup", "script.json"))
    script.write_text(IN_MID_CELL, encoding="utf-8")

    def runs(cell: str) -> bool:
        journals = (first / "sessions" / "threads").glob("*/cells.jsonl")
        return any(cell in journal.read_text(encoding="utf-8") for journal in journals)

    with local_slack() as people:
        with first_answer(people, first, redis_url, script) as (processes, key):
            people.say("#sales", "ana", "and one more?", thread_ts=key.root_ts)
            eventually(lambda: runs("/t2/c1"), "the second cell")
            kill_all(processes)  # at rest, so that no file changes while it is copied
            carry_out("backup", first, backup)
        shutil.rmtree(first)
        with restored(people, second, backup, script):
            eventually(lambda: done(second, key, 2), "the second answer")
            cell = last_cell(second, key)
            said = "\n".join(message_text(message) for message in people.thread(key))
    assert (cell.title, cell.stdout) == ("Three", "[41]\n")
    assert "the session host stopped while this cell ran: what it did is unknown." in said
    assert "1 of 2 code cells did not finish" in said
