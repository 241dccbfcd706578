"""Two nodes on one Redis, one Postgres and one S3-compatible store: threads stay, move, and lose nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
from harness import PATIENT_SLACK, settings_for
from object_store import object_store
from patience import PATIENCE_S, eventually
from test_workers_service import call

from bot import running_bot
from core.phrases import say
from core.settings import Settings, environment_with
from core.steps import CellRan
from core.store import Store
from core.values import ThreadKey
from executor.client import SessionClient
from playground import running
from tryout.stack.blocks_text import message_text
from tryout.stack.slack_client import LocalSlack

pytestmark = [pytest.mark.integration, pytest.mark.early]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "two-nodes.md"
KEY = "the nodes of this team share this"

FIRST = "x = 1\nbig = list(range(200_000))\nopen('made.txt', 'w').write('made by the first cell')\nprint('x is', x)"
SECOND = "y = x + 41\nprint('y is', y)"
SLOW = "import time\nx = 'half done'\nprint('begun', flush=True)\ntime.sleep(60)"
LOOK = "print(x, y, len(big), open('made.txt').read())"
AGAIN = "y = y + 1\nprint('y is now', y)"

SCRIPT = [
    [call("run_python", code=FIRST, title="First"), call("finish", report="The first turn is over.")],
    [
        call("run_python", code=SECOND, title="Second"),
        call("run_python", code=SLOW, title="A long one"),
        call("run_python", code=LOOK, title="What is left?"),
        call("finish", report="The second turn is over."),
    ],
    [call("run_python", code=AGAIN, title="Once more"), call("finish", report="The third turn is over.")],
    [call("run_python", code=AGAIN, title="And again"), call("finish", report="The fourth turn is over.")],
]


@dataclass
class Team:
    """The services of a team and what they share."""

    slack: LocalSlack
    store: Store
    folder: Path
    settings: dict[str, Settings]
    environment: dict[str, str]
    services: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, node: str, **changes: str) -> subprocess.Popen[bytes]:
        """Start the worker service of a node; its output goes to its log."""
        settings = self.settings[node]
        variables = {"THREADBOOK_HOME": str(settings.home), "THREADBOOK_NODE_ID": node, **self.environment, **changes}
        with self.log(node).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "threadbook", "worker"],
                cwd=ROOT,
                env=environment_with(**variables),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.services[node] = process
        return process

    def ready(self, node: str) -> None:
        file = self.settings[node].home / "worker.ready"
        pid = self.services[node].pid
        self.wait_for(lambda: file.exists() and file.read_text() == str(pid), f"readiness of {node}")

    def kill(self, node: str) -> None:
        """SIGKILL to every process of the node at once, as when its power is cut."""
        everybody = psutil.Process(self.services[node].pid)
        family = [everybody, *everybody.children(recursive=True)]
        for signal in (psutil.Process.suspend, psutil.Process.kill):
            for process in family:
                with suppress(psutil.NoSuchProcess):  # some end with their parent, or just ended by themselves
                    signal(process)
        self.services.pop(node).wait()
        psutil.wait_procs(family, timeout=PATIENCE_S)

    def log(self, node: str) -> Path:
        return self.folder / f"{node}.log"

    def say(self, words: str, thread: ThreadKey | None = None) -> ThreadKey:
        if thread is None:
            return self.slack.say("#sales", "ana", f"@threadbook {words}").thread
        self.slack.say("#sales", "ana", words, thread_ts=thread.root_ts)
        return thread

    def answered(self, key: ThreadKey, turns: int) -> None:
        def rests() -> bool:
            found = self.store.turns(key.id)
            return len(found) == turns and found[-1].status == "done"

        self.wait_for(rests, f"answer {turns}")

    def cells(self, key: ThreadKey) -> list[CellRan]:
        return [
            step for turn in self.store.turns(key.id) for step in self.store.steps(turn.id) if isinstance(step, CellRan)
        ]

    def wait_for(self, happened: Callable[[], object], what: str) -> None:
        try:
            eventually(happened, what)
        except AssertionError as error:
            for node in self.services:
                error.add_note(f"--- {node}\n{self.log(node).read_text()[-3000:]}")
            raise

    def transcript(self, key: ThreadKey) -> str:
        names = self.slack.names()
        lines = []
        for message in self.slack.thread(key):
            author = names.get(str(message.get("user")), "threadbook")
            lines.append(f"**{author}**\n\n{message_text(message).strip()}\n")
            lines += [f"_(file: {file['name']})_\n" for file in message.get("files") or ()]
        return "\n".join(lines)


@pytest.fixture
def team(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Team]:
    (tmp_path / "threadbook.toml").write_text("[workers]\ncount = 1\n")
    (tmp_path / "script.json").write_text(json.dumps({"turns": SCRIPT}))
    with ExitStack() as stack:
        objects = stack.enter_context(object_store(tmp_path / "objects.log"))
        slack = stack.enter_context(running(options=PATIENT_SLACK))
        shared = {
            "DATABASE_URL": postgres_url,
            "THREADBOOK_FILES": objects.bucket(),
            "THREADBOOK_CHECKPOINT_KEY": KEY,
            "THREADBOOK_CONFIG": str(tmp_path / "threadbook.toml"),
            "THREADBOOK_MODEL": f"scripted:{tmp_path / 'script.json'}",
        }
        settings = {}
        for node in ("node-a", "node-b"):
            (tmp_path / node).mkdir()
            settings[node] = settings_for(
                tmp_path / node, slack.url, redis_url, **{**shared, "THREADBOOK_NODE_ID": node}
            )
        store = Store(postgres_url)
        stack.callback(store.close)
        store.migrate()
        people = LocalSlack(stack.enter_context(httpx.Client(base_url=slack.url, timeout=PATIENCE_S, trust_env=False)))
        environment = {
            **shared,
            **objects.environment,
            "SLACK_API_URL": f"{slack.url}/api/",
            "SLACK_BOT_TOKEN": "xoxb-playground",
            "SLACK_APP_TOKEN": "xapp-playground",
            "REDIS_URL": redis_url,
        }
        team = Team(people, store, tmp_path, settings, environment)
        stack.callback(_stop_all, team)
        stack.enter_context(running_bot(settings["node-a"]))
        yield team


def _stop_all(team: Team) -> None:
    for process in team.services.values():
        process.terminate()
    for process in team.services.values():
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def other(node: str) -> str:
    return {"node-a": "node-b", "node-b": "node-a"}[node]


def test_a_thread_moves_when_its_node_is_killed_in_mid_turn_and_moves_back_when_the_other_is_drained(
    team: Team,
) -> None:
    for node in team.settings:
        team.start(node)
    for node in team.settings:
        team.ready(node)
    key = team.say("what is x?")
    team.answered(key, 1)
    first = team.store.thread_node(key.id)
    assert first in team.settings

    team.say("and y?", key)
    team.wait_for(lambda: len(team.cells(key)) == 2, "the second cell")
    team.wait_for(lambda: _sleeps(team, first, key), "the long cell")
    assert team.store.thread_node(key.id) == first, "a thread stays where its session is"
    killed_at = time.monotonic()
    team.kill(first)
    team.answered(key, 2)
    took = time.monotonic() - killed_at
    second = team.store.thread_node(key.id)
    assert second == other(first)
    cells = team.cells(key)
    assert [cell.title for cell in cells] == ["First", "Second", "A long one", "What is left?"]
    assert [cell.status for cell in cells] == ["ok", "ok", "died", "ok"]
    assert cells[-1].stdout == "1 42 200000 made by the first cell\n"
    said = [message_text(message) for message in team.slack.thread(key)]
    assert sum("The first turn is over." in words for words in said) == 1
    assert sum("The second turn is over." in words for words in said) == 1
    assert sum(say("session_moved", "en") in words for words in said) == 1

    team.start(first)
    team.ready(first)
    team.say("once more", key)
    team.answered(key, 3)
    assert team.store.thread_node(key.id) == second, (
        "a node that is back does not answer threads that went on elsewhere"
    )

    team.services[second].terminate()
    assert team.services.pop(second).wait(PATIENCE_S) == 0
    team.say("and again", key)
    team.answered(key, 4)
    assert team.store.thread_node(key.id) == first
    assert [cell.stdout for cell in team.cells(key)[-2:]] == ["y is now 43\n", "y is now 44\n"]
    transcript = team.transcript(key)
    print(f"\nanswered {took:.1f} s after the kill\n\n{transcript}")
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(f"{HEAD}\n\nThis run: answered {took:.0f} s after the kill.\n\n---\n\n{transcript}")


HEAD = """# Two nodes, one of them killed during a turn

This is a thread of the test `tests/integration/test_two_nodes.py`, as people see it. Two worker services (`node-a`,
`node-b`) use one Redis, one Postgres and one S3-compatible store. While the cell “A long one” runs, every process of
its node gets SIGKILL at once. The other node takes over the thread. Finished cells do not run again: their variables
and files are still there. The interrupted cell is reported, and it is not repeated automatically. Then the first node
comes back. The thread stays on the second node until that node is drained with SIGTERM.

`UPDATE_GOLDEN=1 pytest tests/integration/test_two_nodes.py` writes this page again."""


def _sleeps(team: Team, node: str, key: ThreadKey) -> bool:
    where = SessionClient(team.settings[node].session_socket).where(key.id)
    return where is not None and where.source.startswith("time.sleep")


def test_without_a_shared_store_a_second_node_does_not_start_and_says_what_is_missing(team: Team) -> None:
    team.start("node-a")
    team.ready("node-a")
    alone = {"DATABASE_URL": f"sqlite:///{team.folder / 'own.db'}", "THREADBOOK_FILES": str(team.folder / "own")}
    assert team.start("node-b", **alone).wait(PATIENCE_S) == 1
    team.services.pop("node-b")
    said = team.log("node-b").read_text()
    assert "node node-a works with this Redis already" in said
    assert "SQLite" in said
    assert "local folder" in said
    assert "Traceback" not in said


def test_a_second_service_of_one_name_does_not_start_and_a_killed_one_starts_again_at_once(team: Team) -> None:
    team.start("node-a")
    team.ready("node-a")
    assert team.start("node-b", THREADBOOK_NODE_ID="node-a").wait(PATIENCE_S) == 1
    team.services.pop("node-b")
    said = team.log("node-b").read_text()
    assert "works under this node's name, 'node-a'" in said
    assert "THREADBOOK_NODE_ID" in said
    assert "Traceback" not in said
    team.kill("node-a")
    team.start("node-a")
    team.ready("node-a")
