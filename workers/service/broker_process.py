"""The broker of data sources of this node, as the supervisor sees it: started, started again, stopped.

Only the broker may have the URLs from environment variables, and only the tools process may have the secrets of tool
servers. So the service moves them into files in memory and executes itself again without them. Then neither its memory
nor its environment, which every job inherits, contains them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.settings import Settings, environment_with, environment_without_own, take_environment
from core.telemetry import get_logger
from executor.watchdog import Watchdog
from workers.sources.broker.client import BrokerClient
from workers.sources.errors import SourceAway
from workers.tools.errors import ToolAway

log = get_logger(__name__)

HELD, HELD_FOR_TOOLS = "_THREADBOOK_SOURCE_URLS", "_THREADBOOK_TOOL_SECRETS"
"""In the environment of the service that was executed again: the number of the open file with the values."""
PING_S = 1.0
"""How long the supervisor waits for an answer; it asks again at its next look."""
START_S = 60.0
"""A broker that does not answer within this time after its start is killed, and another one is started."""
RESTART_PAUSE_S = 1.0
STOP_S = 3.0
ARROW = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own pool takes a gigabyte at once, which counts against the broker's limit although nobody uses it."""


@dataclass(frozen=True, slots=True)
class Held:
    """The open files with what stood in environment variables; None when nothing did."""

    urls: int | None = None
    tools: int | None = None


def hold_secrets(settings: Settings) -> Held:
    """The open files with the URLs of sources and with what servers of tools are given.

    When some are in the environment this does not return: the program begins again without them.
    """
    if held := take_environment([HELD, HELD_FOR_TOOLS]):
        found = {name: int(value) for name, value in held.items()}
        for descriptor in found.values():
            os.set_inheritable(descriptor, False)
            # A job is a fork of this process: it must not have the file either.
            os.register_at_fork(after_in_child=partial(_close, descriptor))
        return Held(found.get(HELD), found.get(HELD_FOR_TOOLS))
    names = {
        HELD: [source.url_env for source in settings.sources.values() if source.url_env],
        HELD_FOR_TOOLS: [name for server in settings.mcp.values() for name in server.secrets],
    }
    environment = environment_with()
    values = {
        name: {each: environment[each] for each in wanted if environment.get(each)} for name, wanted in names.items()
    }
    take_environment([each for wanted in names.values() for each in wanted])
    if any(values.values()):
        passed = {name: memory_file(content) for name, content in values.items() if content}
        for descriptor in passed.values():
            os.set_inheritable(descriptor, True)
        environment = environment_with(**{name: str(descriptor) for name, descriptor in passed.items()})
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606  ourselves
    return Held()


class BrokerProcess:
    """One broker process; none where there are no sources. What holds secrets for other things is one like it."""

    NAME = "broker"

    def __init__(self, settings: Settings, urls: int | None = None, watchdog: Watchdog | None = None) -> None:
        """`urls` is the file that `hold_secrets` gave."""
        self._settings = settings
        self._watchdog = watchdog or Watchdog()
        self._has_answered = False
        """The process that runs now."""
        self._urls = urls
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = -RESTART_PAUSE_S

    @property
    def pid(self) -> int | None:
        """The id of the running process; None if none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def keep(self) -> None:
        """Start it if it ended, at most once a second, or is stuck: alive, and silent for too long."""
        if not self._is_wanted:
            return
        if (process := self._process) is not None and (pid := self.pid) is not None:
            if not self._answers() and self._is_stuck(pid):
                log.error("broker_stuck", process=self.NAME, pid=pid, started=self._has_answered)
                process.kill()  # what it was asked is asked again; the next look starts another one
                process.wait()
            return
        if time.monotonic() - self._started_at < RESTART_PAUSE_S:
            return
        if self._process is not None:
            log.error("broker_ended", process=self.NAME, exitcode=self._process.returncode)
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
            self._ping()
        except (SourceAway, ToolAway):
            return False
        self._watchdog.answered()
        self._has_answered = True
        return True

    def _is_stuck(self, pid: int) -> bool:
        if not self._has_answered:
            return time.monotonic() - self._started_at > START_S
        return self._watchdog.is_stuck(pid)

    @property
    def _is_wanted(self) -> bool:
        return bool(self._settings.sources)

    def _ping(self) -> None:
        """Return when it answers. Raises SourceAway."""
        BrokerClient(self._settings.broker_socket, back_s=0.0).kinds(PING_S)

    def _tables(self) -> dict[str, object]:
        """The settings that it needs."""
        return {
            "sources": {name: each.model_dump(mode="json") for name, each in self._settings.sources.items()},
            "workers": self._settings.workers.model_dump(mode="json"),
        }

    def _command(self) -> list[str]:
        command = ["workers.sources.broker", "--socket", str(self._settings.broker_socket)]
        return command if self._urls is None else [*command, "--urls", str(self._urls)]

    def _spawn(self) -> subprocess.Popen[bytes]:
        given = memory_file(
            {
                **self._tables(),
                "THREADBOOK_HOME": str(self._settings.home),
                "THREADBOOK_CONFIG": str(self._settings.config.absolute()),
            }
        )
        passed = [given] if self._urls is None else [given, self._urls]
        command = [sys.executable, "-m", *self._command(), "--settings", str(given)]
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


def memory_file(content: object) -> int:
    """A new open file in memory that holds this as JSON."""
    descriptor = os.memfd_create("sources", os.MFD_CLOEXEC)
    os.write(descriptor, json.dumps(content).encode())
    return descriptor


def _close(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)
