"""The whole product as real processes that a test may kill, on servers that it may restart, and the people at it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from fault_model import Walker, walking
from fault_servers import PostgresServer, RedisServer, end, started
from patience import eventually
from redis import Redis
from sqlalchemy import create_engine

from core.settings import Settings, environment_with, load_settings
from core.store import Store
from executor.client import SessionClient
from playground import Options
from playground import running as running_playground
from tryout.slack_client import LocalSlack

ROOT = Path(__file__).parents[2]
WORKERS = 6
DISK_MB = 512


@dataclass
class World:
    """Everything that runs, and handles to kill it by."""

    folder: Path
    settings: Settings
    environment: dict[str, str]
    redis_server: RedisServer
    postgres: PostgresServer
    slack: LocalSlack
    model: Walker
    has_small_disk: bool
    """Whether home and file store lie on a disk of their own, which may be filled."""
    bot: subprocess.Popen[bytes] | None = None
    service: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.store = Store(self.settings.database_url)
        self.engine = create_engine(self.settings.database_url, pool_pre_ping=True)
        self.redis = Redis.from_url(self.settings.redis_url)
        self.sessions = SessionClient(self.settings.session_socket)

    # --- starting what an init system would start

    def start_bot(self) -> None:
        """Returns when it holds a connection to Slack."""
        self.bot = self._start("bot")
        eventually(self.slack.bot_is_connected, "the bot")

    def start_service(self) -> None:
        """Returns when it takes work."""
        ready = self.settings.home / "worker.ready"
        ready.unlink(missing_ok=True)
        self.service = self._start("worker")
        eventually(ready.exists, "the worker service")

    def _start(self, command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{command}.log").open("ab") as log:
            return started(
                [sys.executable, "-m", "threadbook", command],
                signal.SIGTERM,
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self, command: str) -> str:
        """The end of a process's log."""
        path = self.folder / f"{command}.log"
        return path.read_text(errors="replace")[-6000:] if path.exists() else ""

    # --- who is who

    def parts(self) -> dict[str, psutil.Process]:
        """The direct children of the supervisor: RQ workers and janitor by name, the session host as "host"."""
        assert self.service is not None
        found: dict[str, psutil.Process] = {}
        names = {pid: name for name, pid in json.loads((self.settings.home / "worker.parts.json").read_text()).items()}
        for child in psutil.Process(self.service.pid).children():
            with suppress(psutil.NoSuchProcess):
                is_host = "executor.host" in " ".join(child.cmdline())
                if is_host or child.pid in names:
                    found["host" if is_host else names[child.pid]] = child
        return found

    def rq_workers(self) -> list[psutil.Process]:
        """Each forks a horse for each job."""
        return [part for name, part in self.parts().items() if name.startswith("worker-")]

    def horses(self) -> list[psutil.Process]:
        """The jobs that run now."""
        return [horse for worker in self.rq_workers() for horse in _children(worker)]

    def host(self) -> psutil.Process:
        """The session host."""
        return self.parts()["host"]

    def zygote(self) -> psutil.Process:
        """The child of the session host from which sessions are forked."""
        return _children(self.host())[0]

    def ours(self) -> list[psutil.Process]:
        """Every process of bot and worker service that lives, wherever it was reparented to."""
        home = str(self.settings.home)
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                line = process.cmdline()
                mine = process.pid != os.getpid() and process.environ().get("THREADBOOK_HOME") == home
                if mine or (any("executor" in word for word in line) and any(home in word for word in line)):
                    found.append(process)
        return found

    # --- the outside

    def control(self, verb: str, path: str, **given: object) -> None:
        """A call of the playground's control API."""
        self.slack.http.request(verb, f"/control/{path}", json=given or None).raise_for_status()

    def close(self) -> None:
        """Stop everything that was started."""
        end(self.bot)
        end(self.service)
        for process in self.ours():
            with suppress(psutil.Error):
                process.kill()
        self.store.close()
        self.engine.dispose()
        self.redis.close()


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
def running_world(folder: Path, workers: int = WORKERS) -> Iterator[World]:
    """Everything, ready for a question. `folder` must be one that every user of the machine may enter."""
    with ExitStack() as parts:
        disk = folder / "disk"
        is_small = parts.enter_context(small_disk(disk, DISK_MB))
        home = disk / "home"
        for made in (home, folder / "tmp"):
            made.mkdir()
        redis_server, postgres = RedisServer(folder), PostgresServer(folder)
        redis_server.start()
        parts.callback(redis_server.kill)
        parts.callback(postgres.close)
        postgres.start()
        postgres.create()
        slack = parts.enter_context(running_playground(data_dir=folder / "slack", options=Options(share_delay_s=0.05)))
        model = parts.enter_context(walking())
        config = folder / "threadbook.toml"
        # One person has all the threads of a row: nobody may have to wait for a turn.
        everybody = "[fairness]\nper_person = 0\nper_channel = 0\n"
        config.write_text(f"{everybody}[workers]\ncount = {workers}\n[slack]\nprogress_interval_s = 1.0\n")
        environment = environment_with(
            SLACK_API_URL=slack.api_url,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
            REDIS_URL=redis_server.url,
            DATABASE_URL=postgres.url,
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="sk-of-a-test",
            THREADBOOK_HOME=str(home),
            THREADBOOK_FILES=str(disk / "files"),
            THREADBOOK_HOST_ID="fault-host",
            THREADBOOK_CONFIG=str(config),
            NO_PROXY="127.0.0.1,localhost",
            TMPDIR=str(folder / "tmp"),
        )
        people = LocalSlack(parts.enter_context(httpx.Client(base_url=slack.url, timeout=60, trust_env=False)))
        world = World(
            folder, load_settings(environment, cwd=folder), environment, redis_server, postgres, people, model, is_small
        )
        parts.callback(world.close)
        world.store.migrate()
        world.start_bot()
        world.start_service()
        yield world


def kill(process: psutil.Process | subprocess.Popen[bytes] | None, signum: int = signal.SIGKILL) -> None:
    """Send a signal to one process, by its id."""
    if process is not None:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            process.send_signal(signum)
