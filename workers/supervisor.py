"""`threadbook worker`: the worker service of one host. Starts its parts, watches them, and stops them in order.

    supervisor (this process: one thread, no database, one Redis connection)
      ├── session host       exec'ed with a clean environment; knows no secret
      ├── RQ worker × N      forked from here with the imports done; each forks a horse for a job and what follows soon
      ├── janitor            forked; wakes threads that were left behind
      └── health             forked, if it has a port; answers /healthz and /metrics

What dies is started again. Nothing here holds state: threads go on from the Store.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from multiprocessing.context import ForkProcess
from pathlib import Path
from subprocess import Popen
from types import FrameType

from redis import Redis, RedisError
from rq import Queue, Worker
from rq.worker import DequeueStrategy

from core.blobs import load_driver
from core.errors import OursToFix
from core.leases import Leases
from core.queue import SERIALIZER, Wakes, connect_redis, hosts, queues_of
from core.settings import Settings
from core.slack import SlackWriter, web_client
from core.store import Store
from core.telemetry import configure_logging, get_logger
from executor.client import HostUnavailable, SessionClient
from executor.launch import start_host, stop_host
from executor.wire import limits_from
from workers import health, jobs  # imported before the forks, with all it needs, so that no job pays for it
from workers.janitor import keep_sweeping, ring, waiting
from workers.parts import parts_file, sweep_file, write_parts
from workers.patience import Patience
from workers.queue_signs import QueueSigns
from workers.rehearsal import rehearse, rehearse_store
from workers.scratch import sweep_scratch
from workers.turnstile import Turnstile
from workers.wiring import LEASE_TTL_S, socket_path

log = get_logger(__name__)

READY_LINE = "worker ready"
TICK_S = 0.5
ANNOUNCE_EVERY_S = 2.5
START_PATIENCE_S = 30.0
RESTART_PAUSE_S = 1.0
DRAIN_S = 8.0
"""Time for running jobs to come to their end at a stop; what is cut off then goes on elsewhere from the Store."""

LEVELS = ("none", "reduced", "strong")


class CannotStart(OursToFix):
    """The worker service cannot start; the message says why and what to do."""


def main(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Exits with 1 and one line when it cannot start."""
    configure_logging(settings)
    try:
        Supervisor(settings).run()
    except OursToFix as error:
        print(f"threadbook worker: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def refuse_weak_sandbox(level: str, settings: Settings) -> None:
    """On real Slack, raise CannotStart when the sandbox is weaker than the team wants. Elsewhere any level will do."""
    minimum = settings.sandbox.minimum
    if settings.is_real_slack and LEVELS.index(level) < LEVELS.index(minimum):
        raise CannotStart(
            f"the sandbox on this host is {level!r}, [sandbox] minimum in threadbook.toml is {minimum!r}. "
            "`threadbook doctor` says which layer is missing; a lower minimum is a decision for the whole team."
        )


def ready_file(settings: Settings) -> Path:
    """Exists, with the supervisor's pid, while the service takes work."""
    return settings.home / "worker.ready"


class Supervisor:
    """The processes of one host."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sessions = SessionClient(socket_path(settings))
        self._stopping = threading.Event()
        self._children: dict[str, ForkProcess] = {}
        self._started: dict[str, float] = {}
        self._host: Popen[bytes] | None = None
        self._sandbox = ""
        self._began = time.monotonic()

    def run(self) -> None:
        """Start everything, watch it until told to stop, stop it in order."""
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._request_stop)
        settings = self._settings
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        load_driver(settings.files)
        rehearse(settings)
        with closing(connect_redis(settings.redis_url)) as redis:
            _wait_for(redis)
            store = Store(settings.database_url)
            store.migrate(START_PATIENCE_S)
            rehearse_store(store)  # it leaves the Store closed: no connection is open when the parts are forked
            jobs.prepare(settings, store)
            wakes = Wakes(redis, store)
            try:
                self._refuse_a_second_host(redis)
                self._start_host()
                self._watch(wakes)
            finally:
                self._stop(wakes)

    def _refuse_a_second_host(self, redis: Redis) -> None:
        """Raise CannotStart when another host works with this Redis and threads could not move between the two."""
        known: dict[str, float] = {}
        while others := [host for host in hosts(redis) if host.id != self._settings.host_id]:
            clash = next((each for each in others if not each.about.get("hands_over")), None)
            here = self._settings.missing_for_several_hosts
            if not here and clash is None:
                return
            each = clash or others[0]
            # A host that was killed is still announced for a moment: only one that announces itself again is alive.
            if each.seen_s_ago < known.get(each.id, each.seen_s_ago):
                raise CannotStart(_why_alone(each.id, here))
            known[each.id] = each.seen_s_ago
            time.sleep(TICK_S / 5)

    def _watch(self, wakes: Wakes) -> None:
        announced = 0.0
        ready = False
        while not self._stopping.is_set():
            self._keep_children()
            if self._host is None or self._host.poll() is not None:
                log.error("the session host ended, it is started again")
                self._start_host_again()
            if time.monotonic() - announced > ANNOUNCE_EVERY_S:
                announced = time.monotonic()
                with suppress(RedisError):
                    wakes.announce_host(self._settings.host_id, about=self._about())
            if not ready:
                ready = True
                ready_file(self._settings).write_text(str(os.getpid()))
                print(READY_LINE, flush=True)
            self._stopping.wait(TICK_S)

    def _about(self) -> dict[str, str | int | float]:
        """What `threadbook status` shows of this host."""
        workers = sum(child.is_alive() for name, child in self._children.items() if name.startswith("worker-"))
        return {
            "pid": os.getpid(),
            "workers": workers,
            "sandbox": self._sandbox,
            "hands_over": self._settings.hands_threads_over,
            "up_s": round(time.monotonic() - self._began),
        }

    def _request_stop(self, signum: int, frame: FrameType | None) -> None:
        self._stopping.set()

    # --- the session host

    def _start_host(self) -> None:
        self._wait_for_an_older_host()
        try:
            self._host = start_host(
                socket_path(self._settings),
                self._settings.home / "sessions",
                limits_from(self._settings.session_limits()),
                maximum=limits_from(self._settings.largest_session_limits()),
                bash=self._settings.sandbox.bash,
                die_with_parent=True,
                key=_key(self._settings),
            )
        except RuntimeError as error:
            raise CannotStart(str(error)) from error
        sandbox = self._sessions.ping().sandbox
        self._sandbox = sandbox.level
        log.info("session host ready", pid=self._host.pid, sandbox=sandbox.level)
        refuse_weak_sandbox(sandbox.level, self._settings)

    def _start_host_again(self) -> None:
        """One that does not come up this time is tried again at the next look: the service stays."""
        try:
            self._start_host()
        except (CannotStart, HostUnavailable) as error:
            log.error("the session host did not start", why=str(error))  # noqa: TRY400  the sentence says it all
            if self._host is not None:
                stop_host(self._host)

    def _wait_for_an_older_host(self) -> None:
        """After a kill -9 of a service its session host ends with its last worker: give it that moment."""
        deadline = time.monotonic() + START_PATIENCE_S
        with suppress(HostUnavailable):
            while True:
                pid = self._sessions.ping().pid
                if time.monotonic() > deadline:
                    raise CannotStart(
                        f"another worker service uses {self._settings.home} (its session host is process {pid}). "
                        "One host runs one worker service; set THREADBOOK_HOME for a second one."
                    )
                time.sleep(TICK_S)

    # --- the forked parts

    def _keep_children(self) -> None:
        """Start each part that does not run; one that keeps dying is started at most every second."""
        parts: dict[str, Callable[[Settings], None]] = {
            f"worker-{number}": _run_worker for number in range(1, self._settings.workers.count + 1)
        }
        parts["janitor"] = _run_janitor
        if self._settings.worker_health_port:
            parts["health"] = health.run
        started = False
        for name, target in parts.items():
            child = self._children.get(name)
            if child is not None and child.is_alive():
                continue
            if time.monotonic() - self._started.get(name, 0.0) < RESTART_PAUSE_S:
                continue
            if child is not None:
                log.error("a part of the service ended, it is started again", part=name, exitcode=child.exitcode)
            self._started[name] = time.monotonic()
            self._children[name] = _fork(name, target, self._settings)
            started = True
        if started:
            pids = {name: child.pid for name, child in self._children.items() if child.pid}
            with suppress(OSError):  # a full disk must not end the service: only `threadbook status` reads it
                write_parts(self._settings, pids)

    # --- the stop

    def _stop(self, wakes: Wakes) -> None:
        """No new work, then time for the running jobs, then the session host."""
        for file in (ready_file, parts_file, sweep_file):
            file(self._settings).unlink(missing_ok=True)
        with suppress(RedisError):
            wakes.retire_host(self._settings.host_id)
        deadline = time.monotonic() + DRAIN_S
        for signum in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            # RQ's workers finish their job at the first SIGTERM and kill it at the second.
            for child in self._children.values():
                if child.is_alive() and child.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(child.pid, signum)
            for child in self._children.values():
                child.join(max(0.0, deadline - time.monotonic()))
            deadline = time.monotonic() + 2.0
        if self._host is not None:
            stop_host(self._host)
        log.info("worker service stopped")


def _why_alone(other: str, here: tuple[str, ...]) -> str:
    if not here:
        return f"host {other} works with this Redis already and cannot share its threads; its own log says why."
    return (
        f"host {other} works with this Redis already, and threads cannot move between the two: {'; '.join(here)}. "
        "For several hosts set all of it, the same on each; else stop the other one, or give this one a Redis database "
        "of its own (REDIS_URL)."
    )


def _wait_for(redis: Redis) -> None:
    deadline = time.monotonic() + START_PATIENCE_S
    while True:
        try:
            redis.ping()
        except RedisError as error:
            if time.monotonic() > deadline:
                raise CannotStart(f"Redis does not answer ({error}). Check REDIS_URL.") from error
            time.sleep(TICK_S)
        else:
            return


def _key(settings: Settings) -> bytes:
    return b"" if settings.checkpoint_key is None else settings.checkpoint_key.get_secret_value().encode()


def _fork(name: str, target: Callable[[Settings], None], settings: Settings) -> ForkProcess:
    child = multiprocessing.get_context("fork").Process(
        target=_as_child, args=(os.getpid(), target, settings), name=f"threadbook {name}"
    )
    child.start()
    return child


def _as_child(parent: int, target: Callable[[Settings], None], settings: Settings) -> None:
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_DFL)
    _end_with_parent(parent)
    random.seed()
    target(settings)


def _end_with_parent(parent: int) -> None:
    """Get SIGTERM when the supervisor dies, however it dies (Linux; elsewhere the orphan works on until stopped)."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(0)


class _Worker(Worker):
    """An RQ worker that ends soon after it was told to, also without a supervisor to tell it twice."""

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Finish the thread at work; what still runs after the time to drain is cut off and goes on from the Store."""
        if self.horse_pid:
            with suppress(ProcessLookupError):
                os.kill(self.horse_pid, jobs.LAST_THREAD)
        again = threading.Timer(DRAIN_S, os.kill, (os.getpid(), signal.SIGTERM))
        again.daemon = True
        again.start()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]  # RQ has no types


def _run_worker(settings: Settings) -> None:
    """One RQ worker: takes turns between this host's queue and the shared one, so that neither starves the other."""
    with closing(connect_redis(settings.redis_url)) as redis:
        queues = [Queue(name, connection=redis, serializer=SERIALIZER) for name in queues_of(settings.host_id)]
        name = f"{settings.host_id}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        worker = _Worker(queues, name=name, connection=redis, serializer=SERIALIZER)
        jobs.heed_last_thread()
        # A collection in a horse would look at, and so copy, every object that its parent had: they are left out of it.
        gc.collect()
        gc.freeze()
        worker.work(logging_level="WARNING", dequeue_strategy=DequeueStrategy.ROUND_ROBIN)


def _run_janitor(settings: Settings) -> None:
    with closing(Store(settings.database_url)) as store, closing(connect_redis(settings.redis_url)) as redis:
        leases, wakes = Leases(redis, store, LEASE_TTL_S), Wakes(redis, store)

        def swept() -> None:
            sweep_file(settings).touch()
            sweep_scratch(settings)

        patience, turnstile = Patience(redis), Turnstile(redis, leases, settings.fairness)
        signs = QueueSigns(redis, SlackWriter(web_client(settings, redis), store))

        def sweep() -> list[str]:
            line = waiting(store, leases, patience)
            rung = ring(line, wakes, turnstile, anew=True)
            signs.show(line)
            return rung

        keep_sweeping(sweep, threading.Event(), swept=swept)
