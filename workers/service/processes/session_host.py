"""The session host of this node, as the supervisor sees it: started, watched, started again, stopped.

The supervisor has one thread, and a stuck session host must not stop it. So only the first start waits for long.
"""

from __future__ import annotations

import time
from contextlib import suppress
from subprocess import Popen

from core.retry import wait_until
from core.settings import Settings
from core.telemetry import get_logger
from executor.client import HostUnavailable, SessionClient
from executor.launch import spawn_host, stop_host, wait_for_host
from executor.values import HostInfo
from executor.watchdog import Watchdog
from executor.wire import limits_from
from workers.service.start_checks import POLL_S, START_TIMEOUT_S, CannotStart, refuse_weak_sandbox

log = get_logger(__name__)

PING_S = 1.0
"""How long the supervisor waits for an answer; it asks again at its next look."""
HOST_START_S = 60.0
"""A session host that does not answer within this time after its start is killed, and another one is started."""
RESTART_PAUSE_S = 1.0
FRESH_S = 5.0
"""The node is announced only while its session host answered within this time."""


class SessionHost:
    """One session host process. It is exec'ed with a clean environment, knows no secret, and ends with its parent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # A kept connection would hide that no worker reaches the host any more: its socket was removed or replaced.
        self._client = SessionClient(settings.session_socket, answer_s=PING_S, keeps=0)
        self._process: Popen[bytes] | None = None
        self._started_at = -RESTART_PAUSE_S
        self._answered_at: float | None = None
        """When the process that runs now answered last."""
        self._watchdog = Watchdog()
        self.sandbox = ""
        """The level of its sandbox, once it has answered."""

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises CannotStart when it does not start, another service has its socket, or its sandbox is too weak.
        """
        self._wait_for_older_host()
        try:
            wait_for_host(self._spawn(), self._settings.session_socket)
        except RuntimeError as error:
            raise CannotStart(str(error)) from error
        if self._ping() is None:
            raise CannotStart("the session host started and then did not answer; its own words are above")

    def keep(self) -> None:
        """Start it again if it ended, or is stuck: alive, and silent for too long. Returns within about a second."""
        process = self._process
        if process is None or process.poll() is not None:
            self._answered_at = None
            if time.monotonic() - self._started_at >= RESTART_PAUSE_S:
                log.error("session_host_ended", exitcode=None if process is None else process.returncode)
                self._spawn()
            return
        try:
            if self._ping() is not None or not self._is_stuck(process.pid):
                return
            log.error("session_host_stuck", pid=process.pid, started=self._answered_at is not None)
        except CannotStart as error:
            log.error("session_host_not_started", error=error)  # noqa: TRY400  the sentence says it all
        process.kill()  # its sessions end with it; the next look starts another one
        process.wait()

    @property
    def pid(self) -> int | None:
        """The id of the running process; None if none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def answers(self) -> bool:
        """Whether it answered a moment ago, in a sandbox that is strong enough."""
        return self._answered_at is not None and time.monotonic() - self._answered_at < FRESH_S

    def stop(self) -> None:
        """End it and every session of it."""
        if self._process is not None:
            stop_host(self._process)

    def _spawn(self) -> Popen[bytes]:
        self._close_stdin()
        self._process = spawn_host(
            self._settings.session_socket,
            self._settings.home / "sessions",
            limits_from(self._settings.session_limits()),
            maximum=limits_from(self._settings.largest_session_limits()),
            die_with_parent=True,
            bash=self._settings.sandbox.bash,
            syscalls=self._settings.sandbox.syscalls,
            toolchains=self._settings.toolchains,
            key=_checkpoint_key(self._settings),
        )
        self._started_at, self._answered_at = time.monotonic(), None
        self._watchdog.answered()
        return self._process

    def _close_stdin(self) -> None:
        """Close the stdin of the previous process."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _ping(self) -> HostInfo | None:
        """What our process says of itself; None when it does not answer.

        Raises CannotStart at its first answer when its sandbox is too weak.
        """
        self._watchdog.asked()
        info = self._answering()
        if info is None or self._process is None or info.pid != self._process.pid:
            return None
        self._watchdog.answered()
        if self._answered_at is None:
            self.sandbox = info.sandbox.level
            refuse_weak_sandbox(self.sandbox, self._settings)
            log.info("session_host_started", pid=info.pid, sandbox=self.sandbox, syscalls=info.sandbox.syscalls)
        self._answered_at = time.monotonic()
        return info

    def _is_stuck(self, pid: int) -> bool:
        if self._answered_at is None:  # while it starts it waits for its zygote, and so looks idle
            return time.monotonic() - self._started_at > HOST_START_S
        return self._watchdog.is_stuck(pid)

    def _wait_for_older_host(self) -> None:
        """Return once no other session host answers: after a kill -9 of a service, its host ends with the last worker.

        Raises CannotStart when one still answers after `START_TIMEOUT_S`.
        """
        if not wait_until(lambda: self._answering() is None, for_s=START_TIMEOUT_S, every_s=POLL_S):
            info = self._answering()
            raise CannotStart(
                f"another worker service uses {self._settings.home} "
                f"(its session host is process {info.pid if info else 'gone by now'}). "
                "One node runs one worker service; set THREADBOOK_HOME for a second one."
            )

    def _answering(self) -> HostInfo | None:
        """What the session host on this node's socket says of itself; None when none answers."""
        with suppress(HostUnavailable):
            return self._client.ping()
        return None


def _checkpoint_key(settings: Settings) -> bytes:
    return b"" if settings.checkpoint_key is None else settings.checkpoint_key.get_secret_value().encode()
