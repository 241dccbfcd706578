"""The whole product on one machine: embedded Redis, the playground, the bot, a worker service, as real processes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from core.blobs import Blobs
from core.retry import wait_until
from core.settings import Settings, environment_with, load_settings
from core.store import Store
from tryout.stack.processes import Processes
from tryout.stack.redis_server import embedded_redis, reachable
from tryout.stack.slack_client import LocalSlack

START_TIMEOUT_S = 180.0
"""A busy machine takes a minute; a process that ends is noticed at once."""
BOT_TOKEN = "xoxb-playground"  # noqa: S105  the playground's public default, worth nothing elsewhere
APP_TOKEN = "xapp-playground"  # noqa: S105  as above

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stack:
    """A running stack: its page, its Slack, its Store. `check()` raises ProcessDied when a process has ended."""

    url: str
    home: Path
    settings: Settings
    slack: LocalSlack
    store: Store
    check: Callable[[], None]

    @property
    def blobs(self) -> Blobs:
        """The file store."""
        return Blobs(self.settings.files)


@contextmanager
def running(
    home: Path,
    say: Say,
    port: int = 0,
    *,
    environment: Mapping[str, str] | None = None,
    samples: Sequence[str] = (),
    database_url: str = "",
) -> Iterator[Stack]:
    """Start everything under `home`, yield it when the worker is ready, stop it in reverse order.

    The Redis server that REDIS_URL names is used when it answers, else an embedded one. The model of the environment is
    used when its key is set, else the offline analyst. `environment` holds further variables. Empty channels offer
    `samples`, as `threadbook playground --sample` reads them. The Store is an SQLite file under `home`, or the database
    at `database_url`. Raises TimeoutError, and ProcessDied or
    RedisNotStarted with the end of the log that explains it.
    """
    home.mkdir(parents=True, exist_ok=True)
    logs = home / "logs"
    logs.mkdir(exist_ok=True)
    with ExitStack() as stack:
        redis_url = _redis(stack, logs, say)
        if port and not _is_free(port):
            say(f"port {port} is taken by another program; another one is used")
            port = 0
        port = port or _free_port()
        url = f"http://127.0.0.1:{port}"
        variables = environment_with(
            **(environment or {}),
            SLACK_API_URL=f"{url}/api/",
            SLACK_BOT_TOKEN=BOT_TOKEN,
            SLACK_APP_TOKEN=APP_TOKEN,
            REDIS_URL=redis_url,
            DATABASE_URL=database_url or f"sqlite:///{home / 'threadbook.db'}",
            THREADBOOK_HOME=str(home),
            THREADBOOK_FILES=str(home / "files"),
            NO_PROXY="127.0.0.1,localhost",  # a proxy may lead to the model, never to the playground
        )
        settings = load_settings(variables)
        store = Store(settings.database_url)
        stack.callback(store.close)
        store.migrate()
        http = stack.enter_context(httpx.Client(base_url=url, timeout=30, trust_env=False))
        slack = LocalSlack(http)
        processes = stack.enter_context(Processes(logs, variables))
        say("starting the playground (a local Slack)")
        offered = [f"--sample={each}" for each in samples]
        processes.start("playground", "playground", "--port", str(port), "--inside", "--labels", *offered)
        wait_until_ready("the playground", slack.is_up, processes.check, processes.log("playground"))
        say("starting the bot and the worker service")
        processes.start("bot", "bot")
        ready_file = home / "worker.ready"
        ready_file.unlink(missing_ok=True)
        processes.start("worker", "worker")
        wait_until_ready("the bot", slack.bot_is_connected, processes.check, processes.log("bot"))
        wait_until_ready("the worker service", ready_file.exists, processes.check, processes.log("worker"))
        say(f"ready: {url}")
        yield Stack(url, home, settings, slack, store, processes.check)
        say("stopping")


def _redis(stack: ExitStack, logs: Path, say: Say) -> str:
    configured = environment_with().get("REDIS_URL", "")
    if configured and reachable(configured):
        say("using the Redis server that REDIS_URL names")
        return configured
    say("starting an embedded Redis-compatible server")
    return stack.enter_context(embedded_redis(logs / "redis.log"))


def wait_until_ready(
    name: str, ready: Callable[[], bool], check: Callable[[], None], log: Path, *, for_s: float = START_TIMEOUT_S
) -> None:
    """Wait until a process is ready. Raises TimeoutError with the place of its log, and what `check` raises."""

    def is_ready() -> bool:
        check()
        return ready()

    if not wait_until(is_ready, for_s=for_s, every_s=0.05):
        raise TimeoutError(
            f"{name[:1].upper()}{name[1:]} was not ready within {for_s:.0f} s. It was stopped, and nothing was asked "
            f"yet. The machine may be busy: start again. What it said is in {log}"
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
