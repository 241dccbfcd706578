"""The whole product as real processes that a test may kill, on servers that it may restart, with people who ask."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import psutil
from black_hole import BlackHole, black_hole
from fault_model import Walker, walking
from fault_servers import PostgresServer, RedisServer, end, started
from object_store import ObjectStore, object_store
from patience import eventually
from redis import Redis
from sqlalchemy import create_engine

from core.settings import Settings, environment_with, load_settings
from core.store import Store
from executor.client import HostUnavailable, SessionClient
from executor.values import SessionInfo
from playground import Options
from playground import running as running_playground
from tryout.stack.slack_client import LocalSlack

ROOT = Path(__file__).parents[2]
WORKERS = 6
DISK_MB = 512
ASKING_CHANNEL = "#leadership"
"""Where every cell waits for a yes."""
_ASKING = '[channels.C0LEADERS1.approvals]\nask = "every cell"\n'


@dataclass
class Node:
    """One worker service: its settings and folders, and handles to kill its processes."""

    settings: Settings
    environment: dict[str, str]
    log: Path
    code: Path
    """The folder of the product's code that it runs, from its next start on."""
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.sessions = SessionClient(self.settings.session_socket)
        self._ready = self.settings.home / "worker.ready"

    def start(self) -> None:
        """Start it; return when it takes work."""
        self.launch()
        eventually(self.takes_work, "the worker service")

    def launch(self) -> None:
        """Start it; it takes work some seconds later."""
        self._ready.unlink(missing_ok=True)
        self.process = _started("worker", self.environment, self.log, self.code)

    def takes_work(self) -> bool:
        """Whether it runs and was not told to stop."""
        return self.process is not None and self.process.poll() is None and self._ready.exists()

    def processes(self) -> dict[str, psutil.Process]:
        """The direct children of the supervisor: RQ workers and janitor by name, and "session-host"."""
        assert self.process is not None
        found: dict[str, psutil.Process] = {}
        registry = json.loads((self.settings.home / "worker.processes.json").read_text())
        # An older version writes the pid alone; this one adds the moment of the start.
        names = {entry if isinstance(entry, int) else entry[0]: name for name, entry in registry.items()}
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):
                is_host = "executor.host" in " ".join(child.cmdline())
                if is_host or child.pid in names:
                    found["session-host" if is_host else names[child.pid]] = child
        return found

    def rq_workers(self) -> list[psutil.Process]:
        """Each forks a horse for each job."""
        return [process for name, process in self.processes().items() if name.startswith("worker-")]

    def horses(self) -> list[psutil.Process]:
        """The jobs that run now."""
        return [horse for worker in self.rq_workers() for horse in _children(worker)]

    def session_host(self) -> psutil.Process:
        """The process that holds the sessions. While the service starts another one, that is waited for."""
        eventually(lambda: "session-host" in self.processes(), "a session host")
        return self.processes()["session-host"]

    def zygotes(self) -> list[psutil.Process]:
        """The child of the session host from which sessions are forked; none between its end and the next cell."""
        return _children(self.session_host())[:1]

    def _told_sessions(self) -> tuple[list[SessionInfo], ...]:
        """One list, of the sessions that live; none while the service starts another session host."""
        with suppress(HostUnavailable):
            return (self.sessions.sessions(),)
        return ()

    def zygote_itself(self) -> list[psutil.Process]:
        """The process that forks, and the one that waits for it where it is in a namespace of its own; no session."""
        outer = self.zygotes()
        inner = [child for one in outer for child in _children(one)]
        sessions = {session.pid for session in eventually(self._told_sessions, "a session host that answers")[0]}
        # A spare session belongs to no thread: it is below the zygote, as all sessions are.
        alone = len(inner) == 1 and inner[0].pid not in sessions and bool(_children(inner[0]))
        return outer + (inner if alone else [])

    def family(self) -> set[int]:
        """The ids of all its processes, without those of its jobs."""
        if self.process is None or self.process.poll() is not None:
            return set()
        session_host = self.session_host()
        within = {child.pid for child in session_host.children(recursive=True)}
        return {self.process.pid, session_host.pid, *within, *(each.pid for each in self.processes().values())}

    def kill_everybody(self) -> None:
        """SIGKILL to every process of the node at once."""
        assert self.process is not None
        service = psutil.Process(self.process.pid)
        everybody = [service, *service.children(recursive=True)]
        for signum in (signal.SIGSTOP, signal.SIGKILL):
            for process in everybody:
                kill(process, signum)
        self.process.wait(60)
        psutil.wait_procs(everybody, timeout=60)

    def journal(self, thread_id: str) -> list[dict[str, Any]]:
        """What its session host noted of a thread's cells, without lines that a kill or a full disk cut off."""
        path = self.settings.home / "sessions" / "threads" / quote(thread_id, safe="") / "cells.jsonl"
        found = []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            with suppress(ValueError):
                found.append(json.loads(line))
        return [entry for entry in found if "cell" in entry]


@dataclass
class World:
    """Everything that runs, and handles to kill it."""

    folder: Path
    nodes: list[Node]
    redis_server: RedisServer
    postgres: PostgresServer
    slack: LocalSlack
    model: Walker
    has_small_disk: bool
    """Whether home and file store lie on a disk of their own, which may be filled."""
    bot_code: Path
    """The folder of the product's code that the bot runs, from its next start on."""
    silencers: dict[str, BlackHole]
    """What stands before "Redis", "Postgres" and "objects", for all processes but the test's own."""
    objects: ObjectStore | None = None
    """The file store of several nodes."""
    bot: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.settings = self.struck.settings
        self.store = Store(self.postgres.url)
        self.engine = create_engine(self.postgres.url, pool_pre_ping=True)
        self.redis = Redis.from_url(self.redis_server.url)

    @property
    def struck(self) -> Node:
        """The node that faults strike: the only one, or the first of several."""
        return self.nodes[0]

    def node_of(self, thread_id: str) -> Node:
        """The node of a thread; the first node while it has none."""
        name = self.store.thread_node(thread_id)
        return next((node for node in self.nodes if node.settings.node_id == name), self.struck)

    def start_bot(self) -> None:
        """Start it; return when it is connected to Slack."""
        self.bot = _started("bot", self.struck.environment, self.folder / "bot.log", self.bot_code)
        eventually(self.slack.bot_is_connected, "the bot")

    def start_all(self) -> None:
        """Start the services that ran before and have ended."""
        for node in self.nodes:
            if node.process is not None and not node.takes_work():
                node.process.wait(120)
                node.start()

    def log(self) -> str:
        """The ends of the worker services' logs."""
        return "\n".join(node.log.read_text(errors="replace")[-6000:] for node in self.nodes if node.log.exists())

    def horses(self) -> list[psutil.Process]:
        """The jobs that run now, on all nodes."""
        return [horse for node in self.nodes if node.family() for horse in node.horses()]

    def ours(self) -> list[psutil.Process]:
        """Every live process of bot and worker services, also one that was reparented."""
        homes = [str(node.settings.home) for node in self.nodes]
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                line = process.cmdline()
                mine = process.pid != os.getpid() and process.environ().get("THREADBOOK_HOME") in homes
                if mine or (
                    any("executor" in word for word in line) and any(home in word for word in line for home in homes)
                ):
                    found.append(process)
        return found

    def control(self, verb: str, path: str, **given: object) -> None:
        """A call of the playground's control API."""
        self.slack.http.request(verb, f"/control/{path}", json=given or None).raise_for_status()

    def close(self) -> None:
        """Stop everything that was started."""
        end(self.bot)
        for node in self.nodes:
            end(node.process)
        for process in self.ours():
            with suppress(psutil.Error):
                process.kill()
        self.store.close()
        self.engine.dispose()
        self.redis.close()


def _started(command: str, environment: dict[str, str], log: Path, code: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return started(
            [sys.executable, "-m", "threadbook", command],
            signal.SIGTERM,
            cwd=code,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [child for child in process.children() if child.status() != psutil.STATUS_ZOMBIE]
    except psutil.NoSuchProcess:
        return []


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[bool]:
    """A disk of this size at `folder`, where the machine lets us mount one; False where it does not."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
    mounted = shutil.which("mount") is not None
    mounted = mounted and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


@contextmanager
def world_of_its_own(*, nodes: int = 1, code: Path = ROOT) -> Iterator[World]:
    """Everything, in a folder that is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)  # Postgres runs as another user
    try:
        with running_world(folder, nodes=nodes, code=code) as world:
            yield world
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_world(folder: Path, *, nodes: int = 1, workers: int = WORKERS, code: Path = ROOT) -> Iterator[World]:
    """Everything, ready for a question. `folder` must be one that every user of the machine may enter.

    Of several nodes the first runs; they share an object store instead of a folder. `code` is the folder of the code
    that bot and nodes run. They make the schema themselves.
    """
    with ExitStack() as stack:
        disk = folder / "disk"
        is_small = stack.enter_context(small_disk(disk, DISK_MB))
        (folder / "tmp").mkdir()
        redis_server, postgres = RedisServer(folder), PostgresServer(folder)
        redis_server.start()
        stack.callback(redis_server.kill)
        stack.callback(postgres.close)
        postgres.start()
        postgres.create()
        slack = stack.enter_context(running_playground(data_dir=folder / "slack", options=Options(share_delay_s=0.05)))
        model = stack.enter_context(walking())
        config = folder / "threadbook.toml"
        # One person asks in all the threads of a row: no thread may have to wait for another.
        everybody = "[fairness]\nper_person = 0\nper_channel = 0\n"
        config.write_text(f"{everybody}{_ASKING}[workers]\ncount = {workers}\n[slack]\nprogress_interval_s = 1.0\n")
        shared = {"THREADBOOK_FILES": str(disk / "files")}
        silencers = {
            "Redis": stack.enter_context(black_hole(redis_server.port)),
            "Postgres": stack.enter_context(black_hole(postgres.port)),
        }
        objects = stack.enter_context(object_store(folder / "objects.log")) if nodes > 1 else None
        if objects is not None:
            silencers["objects"] = stack.enter_context(black_hole(urlsplit(objects.endpoint).port or 0))
            shared = {
                **objects.environment,
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silencers['objects'].port}",
                "THREADBOOK_FILES": objects.bucket(),
                "THREADBOOK_CHECKPOINT_KEY": "the nodes of this world share this",
            }
        made = []
        for number in range(1, nodes + 1):
            home = disk / f"home-{number}"
            home.mkdir()
            environment = environment_with(
                **shared,
                SLACK_API_URL=slack.api_url,
                SLACK_BOT_TOKEN=slack.bot_token,
                SLACK_APP_TOKEN=slack.app_token,
                REDIS_URL=redis_server.url_at(silencers["Redis"].port),
                DATABASE_URL=postgres.url_at(silencers["Postgres"].port),
                OPENAI_BASE_URL=model.url,
                OPENAI_API_KEY="sk-of-a-test",
                THREADBOOK_HOME=str(home),
                THREADBOOK_NODE_ID=f"fault-node-{number}",
                THREADBOOK_CONFIG=str(config),
                NO_PROXY="127.0.0.1,localhost",
                TMPDIR=str(folder / "tmp"),
            )
            log = folder / f"worker-{number}.log"
            made.append(Node(load_settings(environment, cwd=folder), environment, log, code))
        people = LocalSlack(stack.enter_context(httpx.Client(base_url=slack.url, timeout=60, trust_env=False)))
        world = World(folder, made, redis_server, postgres, people, model, is_small, code, silencers, objects)
        stack.callback(world.close)
        world.start_bot()
        world.struck.start()
        yield world


def kill(process: psutil.Process | subprocess.Popen[bytes] | None, signum: int = signal.SIGKILL) -> None:
    """Send a signal to one process, by its id."""
    if process is not None:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            process.send_signal(signum)
