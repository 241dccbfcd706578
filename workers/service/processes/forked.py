"""The processes that the supervisor forks: started, started again when they end, and stopped together.

A process that was stopped (SIGSTOP) does not end by itself, and holds what it has: a database's lock, an RQ worker.
When it stays stopped, it and the processes below it are killed. Nothing is lost: a thread goes on from the Store.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.context import ForkProcess

from core.settings import Settings
from core.telemetry import get_logger
from executor.processes import is_stopped, started_at, tree

log = get_logger(__name__)

Target = Callable[[Settings], None]
"""What a process does; it returns or raises only when it cannot go on."""

RESTART_PAUSE_S = 1.0
DRAIN_S = 8.0
"""Time for running jobs to come to their end at a stop. A job that is cut off then goes on later from the Store."""
KILL_AFTER_S = 2.0
STOPPED_S = 8.0
"""How long a process may be stopped before it is killed. Its lease is about to end, so its thread goes on elsewhere."""


class ForkedProcesses:
    """Forks of this process, by name. They share what it has imported and parsed; each opens its own connections."""

    def __init__(self, settings: Settings, targets: Mapping[str, Target]) -> None:
        self._settings = settings
        self._targets = targets
        self._processes: dict[str, ForkProcess] = {}
        self._started_at: dict[str, float] = {}
        self._stopped_since: dict[tuple[int, int | None], float] = {}
        """When each process was first seen stopped, by its pid and the moment of its start."""

    def keep(self) -> None:
        """Start each process that does not run, but a process that keeps dying at most once a second. Kill stopped
        processes and their jobs.
        """
        self._kill_stopped()
        due = [name for name in self._targets if self._is_due(name)]
        for name in due:
            if ended := self._processes.get(name):
                log.error("process_ended", process=name, exitcode=ended.exitcode)
            self._started_at[name] = time.monotonic()
            self._processes[name] = _fork(name, self._targets[name], self._settings)

    def pids(self) -> dict[str, int]:
        """The process id of each, by name; also of one that has just ended."""
        return {name: process.pid for name, process in self._processes.items() if process.pid}

    def _kill_stopped(self) -> None:
        alive = [process.pid for process in self._processes.values() if process.pid and process.is_alive()]
        family = {(pid, started_at(pid)) for one in alive for pid in tree(one)}
        # A stopped process whose parent has ended is below no process of ours any more.
        family |= {(pid, start) for pid, start in self._stopped_since if started_at(pid) == start}
        now = time.monotonic()
        self._stopped_since = {one: self._stopped_since.get(one, now) for one in family if is_stopped(one[0])}
        for (pid, _), since in self._stopped_since.items():
            if now - since >= STOPPED_S:
                log.error("stopped_process_killed", pid=pid, seconds=round(now - since, 1))
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def alive(self, prefix: str) -> int:
        """How many processes whose name begins with `prefix` are alive."""
        return sum(process.is_alive() for name, process in self._processes.items() if name.startswith(prefix))

    def stop(self) -> None:
        """End all of them: RQ workers finish their job at the first SIGTERM and kill it at the second."""
        for signum, wait_s in (
            (signal.SIGTERM, DRAIN_S),
            (signal.SIGTERM, KILL_AFTER_S),
            (signal.SIGKILL, KILL_AFTER_S),
        ):
            deadline = time.monotonic() + wait_s
            for process in self._processes.values():
                if process.is_alive() and process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signum)
            for process in self._processes.values():
                process.join(max(0.0, deadline - time.monotonic()))

    def _is_due(self, name: str) -> bool:
        process = self._processes.get(name)
        if process is not None and process.is_alive():
            return False
        return time.monotonic() - self._started_at.get(name, 0.0) >= RESTART_PAUSE_S


def _fork(name: str, target: Target, settings: Settings) -> ForkProcess:
    process = multiprocessing.get_context("fork").Process(
        target=_as_child, args=(os.getpid(), target, settings), name=f"threadbook {name}"
    )
    process.start()
    return process


def _as_child(parent: int, target: Target, settings: Settings) -> None:
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_DFL)
    _die_with_parent(parent)
    random.seed()
    try:
        target(settings)
    except Exception:
        log.exception("process_failed", process=multiprocessing.current_process().name)
        raise SystemExit(1) from None  # multiprocessing would print the error with all that its message quotes


def _die_with_parent(parent: int) -> None:
    """Get SIGTERM when the supervisor dies, however it dies. Linux only: elsewhere an orphan works on until stopped."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(0)
