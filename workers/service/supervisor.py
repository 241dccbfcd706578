"""`threadbook worker`: the worker service of one node. Starts its processes, watches them, and stops them in order.

    supervisor (this process: one thread, no database, one Redis connection)
      ├── session host       exec'ed with a clean environment; knows no secret
      ├── broker             exec'ed, if there are data sources; alone knows their URLs
      ├── tools              exec'ed, if there are MCP servers; alone knows what they are given
      ├── RQ worker × N      forked from here with the imports done; each forks a process that holds many turns
      ├── janitor            forked; wakes threads that were left behind
      ├── clean room         forked; runs the code behind posted reports once more
      ├── vectors            forked, if there is an embedding model; finds threads by their meaning
      └── health             forked, if it has a port; answers /healthz and /metrics

What dies is started again. Nothing here holds state: threads go on from the Store.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import uuid
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType

from redis import RedisError

from core.blobs import load_driver
from core.errors import OursToFix, SettingsError
from core.home_writes import check_home, home_refusal, is_full
from core.installations.tokens import check_settings
from core.node_file import write_node_file
from core.queue import Wakes, connect_redis
from core.release import version
from core.settings import Settings
from core.store import Store
from core.telemetry import configure_logging, get_logger, log_uncaught
from executor.client import SessionClient

# The modules of the forked processes are imported here, before the forks, with all they need: no job pays for it.
from workers.service import clean_rooms, health, janitor, jobs, rq_worker, vectors
from workers.service.last_exports import LAST_EXPORTS_S, export_the_rest
from workers.service.processes.broker import BrokerProcess
from workers.service.processes.forked import ForkedProcesses, Target
from workers.service.processes.held_secrets import Held, hold_secrets
from workers.service.processes.registry import (
    SUPERVISOR,
    end_stopped_processes,
    registry_file,
    sweep_file,
    write_registry,
)
from workers.service.processes.session_host import SessionHost
from workers.service.processes.tools import ToolsProcess
from workers.service.schedules import runner as schedule_runner
from workers.service.start_checks import (
    START_TIMEOUT_S,
    CannotStart,
    name_taken,
    refuse_second_node,
    refuse_second_of_a_name,
    refuse_wrong_token,
    tell_other_versions,
    wait_for_redis,
)
from workers.service.sweeping.purges import carry_out_orders
from workers.service.warmup import warm_up, warm_up_store

log = get_logger(__name__)

READY_LINE = "worker ready"
WATCH_EVERY_S = 0.5
ANNOUNCE_EVERY_S = 2.5
STOP_S = 90
"""How long a service takes to stop, at most: first its jobs end, then the last sessions are exported."""


def main(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Exits with 1 and one line when it cannot start, or not store its last sessions.

    Raises SettingsError without a token, or with one that Slack refuses: it could take questions and tell nobody the
    answers.
    """
    if settings.many_workspaces:
        check_settings(settings)
    elif settings.slack_bot_token is None:
        raise SettingsError("SLACK_BOT_TOKEN (xoxb-…) must be set: README.md says where Slack shows it.")
    configure_logging(settings)
    log_uncaught()
    refuse_wrong_token(settings)
    try:
        service = Supervisor(settings, hold_secrets(settings))
        service.run()
    except OursToFix as error:
        print(f"threadbook worker: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    if service.left:
        print(f"threadbook worker: {_left_behind(service.left)}", file=sys.stderr)
        raise SystemExit(1)


def ready_file(settings: Settings) -> Path:
    """Exists, with the supervisor's pid, while the service takes work."""
    return settings.home / "worker.ready"


def forked_targets(settings: Settings) -> dict[str, Target]:
    """The processes to fork, by name, in the order of their start."""
    targets: dict[str, Target] = {f"worker-{number}": rq_worker.run for number in range(1, settings.workers.count + 1)}
    targets["janitor"] = janitor.run
    if settings.report.clean_room == "after":
        targets["clean room"] = clean_rooms.run
    targets["schedules"] = schedule_runner.run
    if settings.memory.embedding_model:
        targets["vectors"] = vectors.run
    if settings.worker_health_port:
        targets["health"] = health.run
    return targets


def make_home(settings: Settings) -> None:
    """Make the home folder. Raises CannotStart when no session host could work there; it can wait for room on a disk
    that is full."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_home(settings.home)
    except OSError as error:
        if settings.home.is_dir() and is_full(error):
            return
        if (why := home_refusal(settings.home, error)) is not None:
            raise CannotStart(f"{why}.") from error
        raise CannotStart(
            f"the home folder {settings.home} cannot be used: {error.strerror}. Set THREADBOOK_HOME to a folder "
            "where this user may write."
        ) from error


def _left_behind(threads: list[str]) -> str:
    """The sentence for an admin about sessions that could not be stored."""
    return (
        f"the file store or the database was away for {LAST_EXPORTS_S:.0f} s, so the last session of {len(threads)} "
        f"{'thread' if len(threads) == 1 else 'threads'} is not in it ({', '.join(threads[:5])}"
        f"{' …' if len(threads) > 5 else ''}). Start this node again, and nothing is lost; "
        "where another node goes on meanwhile, its threads are told which steps are missing."
    )


class Supervisor:
    """Starts, watches and stops the processes of one node."""

    def __init__(self, settings: Settings, held: Held | None = None) -> None:
        """`held` is what `hold_secrets` gave."""
        held = held or Held()
        self._settings = settings
        self._session_host = SessionHost(settings)
        self._broker = BrokerProcess(settings, held.urls)
        self._tools = ToolsProcess(settings, held.tools)
        self._forks = ForkedProcesses(settings, forked_targets(settings))
        self._stopping = threading.Event()
        self._began = time.monotonic()
        self._instance = uuid.uuid4().hex
        """Tells this service from any other one that has the node's name."""
        self._starting = False
        self.left: list[str] = []
        """The threads whose last sessions could not be stored at the stop."""
        self._has_home = False
        """Whether no other service works in this home: its session host would have answered in place of ours."""
        self._registered: dict[str, int] = {}
        """The pids that are in the registry."""

    def run(self) -> None:
        """Start everything, watch it until told to stop, stop it in order. Raises OursToFix when it cannot start."""
        self._starting = True
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._request_stop)
        settings = self._settings
        make_home(settings)
        load_driver(settings.files)
        warm_up(settings)
        with closing(connect_redis(settings.redis_url)) as redis:
            wait_for_redis(redis)
            store = Store(settings.database_url)
            store.migrate(START_TIMEOUT_S)
            warm_up_store(store)  # it leaves the Store closed: no connection is open when the processes are forked
            jobs.prepare(settings, store)
            wakes = Wakes(redis, store)
            try:
                end_stopped_processes(settings)
                refuse_second_node(redis, settings)
                refuse_second_of_a_name(redis, wakes, settings)
                tell_other_versions(redis, settings)
                self._session_host.start()
                self._has_home = True
                self._broker.keep()
                self._tools.keep()
                # What was purged while this node was down leaves its disk before any thread comes to it.
                sessions = SessionClient(settings.session_socket)
                carry_out_orders(settings, store, sessions, None)  # the file store is not opened before a fork
                store.close()
                self._keep_name()
                self._watch(wakes)
            finally:
                self._stop(wakes)

    def _watch(self, wakes: Wakes) -> None:
        """Keep every process running and the node announced, until told to stop."""
        self._starting = False
        announced_at = 0.0
        is_ready = False
        while not self._stopping.is_set():
            for processes in (self._forks, self._session_host, self._broker, self._tools):
                try:
                    processes.keep()
                except OSError as error:  # no room for a process now: the others, and all sessions, go on
                    log.error("process_not_started", error=error)  # noqa: TRY400  the error has no more to say
            self._register()
            # A node whose session host does not answer is not announced: its threads may go on at another one.
            if self._session_host.answers and time.monotonic() - announced_at > ANNOUNCE_EVERY_S:
                announced_at = time.monotonic()
                self._announce(wakes)
            is_ready = is_ready or self._say_ready()
            self._stopping.wait(WATCH_EVERY_S)

    def _say_ready(self) -> bool:
        """Say that the service takes work; False when a full disk has no room for the file. It is tried again then."""
        try:
            ready_file(self._settings).write_text(str(os.getpid()))
        except OSError:
            return False
        print(READY_LINE, flush=True)
        return True

    def _register(self) -> None:
        """Write down which processes there are, when that has changed."""
        others = {"session host": self._session_host.pid, "broker": self._broker.pid, "tools": self._tools.pid}
        pids = {SUPERVISOR: os.getpid(), **{name: pid for name, pid in others.items() if pid}, **self._forks.pids()}
        if pids != self._registered:
            with suppress(OSError):  # a full disk must not end the service: it is tried again at the next look
                write_registry(self._settings, pids)
                self._registered = pids

    def _keep_name(self) -> None:
        """Let the home folder remember the node's name. A full disk stops nothing: the service works without it."""
        try:
            write_node_file(self._settings.home, self._settings.node_id, self._instance)
        except OSError as error:
            log.warning("node_file_not_written", error=error)

    def _announce(self, wakes: Wakes) -> None:
        """Say that the node is alive. Raises CannotStart when another service has its name by now."""
        with suppress(RedisError):
            if not wakes.announce_node(self._settings.node_id, about=self._about(), instance=self._instance):
                raise CannotStart(name_taken(None, self._settings))

    def _stop(self, wakes: Wakes) -> None:
        """Take no new work, give the running jobs time, store what they left, then end the session host.

        Where threads move, the node stays announced until its sessions are stored: no other node takes a thread whose
        last session is still here.
        """
        self._starting = False
        # One that was refused leaves the files of the one that works, which in another container it cannot see.
        if self._has_home:
            for file in (ready_file, registry_file, sweep_file):
                with suppress(OSError):  # a disk that takes no writes must not keep the processes below from ending
                    file(self._settings).unlink(missing_ok=True)
        settings = self._settings
        with suppress(RedisError):
            if settings.hands_threads_over:
                about = {**self._about(), "stopping": True}
                wakes.announce_node(settings.node_id, STOP_S, about, instance=self._instance)
            else:
                wakes.retire_node(settings.node_id, instance=self._instance)
        self._forks.stop()
        self.left = export_the_rest(settings)
        if self.left:
            log.error("sessions_not_exported", threads=self.left)
        with suppress(RedisError):
            wakes.retire_node(settings.node_id, instance=self._instance)
        self._broker.stop()
        self._tools.stop()
        self._session_host.stop()
        log.info("worker_service_stopped")

    def _about(self) -> dict[str, str | int | float]:
        """What `threadbook status` shows of this node."""
        return {
            "pid": os.getpid(),
            "machine": socket.gethostname(),
            "workers": self._forks.alive("worker-"),
            "sandbox": self._session_host.sandbox,
            "hands_over": self._settings.hands_threads_over,
            "version": version(),
            "up_s": round(time.monotonic() - self._began),
        }

    def _request_stop(self, signum: int, frame: FrameType | None) -> None:
        self._stopping.set()
        if self._starting:  # it waits for Redis, the database or the session host: nothing has to be brought to an end
            raise SystemExit(0)
