"""A process beside the jobs that holds secrets, as the supervisor sees it: started, started again, stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path

from core.settings import Settings, environment_without_own
from core.telemetry import get_logger
from executor.watchdog import Watchdog
from workers.service.processes.held_secrets import memory_file

log = get_logger(__name__)

PING_S = 1.0
"""How long the supervisor waits for an answer; it asks again at its next look."""
START_S = 60.0
"""One that does not answer within this time after its start is killed, and another one is started."""
RESTART_PAUSE_S = 1.0
STOP_S = 3.0
ARROW = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own pool takes a gigabyte at once, which counts against the broker's limit although nobody uses it."""


class SidecarProcess(ABC):
    """One such process; none where there is nothing for it to do."""

    away: type[Exception]
    """What `ping` raises when it does not answer."""

    def __init__(
        self, settings: Settings, socket: Path, secrets: int | None = None, watchdog: Watchdog | None = None
    ) -> None:
        """`secrets` is the file that `hold_secrets` gave."""
        self.socket = socket
        self._settings = settings
        self._watchdog = watchdog or Watchdog()
        self._has_answered = False
        """The process that runs now."""
        self._secrets = secrets
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = -RESTART_PAUSE_S

    @property
    def pid(self) -> int | None:
        """The id of the running process; None if none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def keep(self) -> None:
        """Start it if it ended, at most once a second, or is stuck: alive, and silent for too long."""
        if not self.is_wanted:
            return
        if (process := self._process) is not None and (pid := self.pid) is not None:
            if not self._answers() and self._is_stuck(pid):
                log.error("sidecar_stuck", process=self.module, pid=pid, started=self._has_answered)
                process.kill()  # what it was asked is asked again; the next look starts another one
                process.wait()
            return
        if time.monotonic() - self._started_at < RESTART_PAUSE_S:
            return
        if self._process is not None:
            log.error("sidecar_ended", process=self.module, exitcode=self._process.returncode)
        self._started_at = time.monotonic()
        self._process = self._spawn()
        self._has_answered = False
        self._watchdog.answered()

    def stop(self) -> None:
        """End it; statements that run end with it."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        self._watchdog.asked()
        try:
            self.ping()
        except self.away:
            return False
        self._watchdog.answered()
        self._has_answered = True
        return True

    def _is_stuck(self, pid: int) -> bool:
        if not self._has_answered:
            return time.monotonic() - self._started_at > START_S
        return self._watchdog.is_stuck(pid)

    @property
    @abstractmethod
    def module(self) -> str:
        """What is executed."""

    @property
    @abstractmethod
    def is_wanted(self) -> bool:
        """Whether there is something for it to do."""

    @abstractmethod
    def ping(self) -> None:
        """Return when it answers. Raises `away`."""

    @abstractmethod
    def tables(self) -> dict[str, object]:
        """The tables of `threadbook.toml` that it needs."""

    def _spawn(self) -> subprocess.Popen[bytes]:
        given = memory_file(
            {
                **self.tables(),
                "THREADBOOK_HOME": str(self._settings.home),
                "THREADBOOK_CONFIG": str(self._settings.config.absolute()),
            }
        )
        passed, command = [given], [sys.executable, "-m", self.module, "--socket", str(self.socket)]
        command += ["--settings", str(given)]
        if self._secrets is not None:
            passed.append(self._secrets)
            command += ["--secrets", str(self._secrets)]
        root = str(Path(__file__).resolve().parents[2])
        try:
            return subprocess.Popen(
                command,
                # Drivers look for certificates and proxies there; Slack's tokens and the model's key are not theirs.
                env={**environment_without_own(), "PYTHONPATH": root, **ARROW},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=passed,
            )
        finally:
            os.close(given)
