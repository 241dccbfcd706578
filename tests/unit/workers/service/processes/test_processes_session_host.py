"""The supervisor's session host: started, kept, and refused where another one answers."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.settings import Settings, load_settings
from executor.client import HostUnavailable, SessionClient
from executor.counters import Counters
from executor.frames import encode, read_message
from executor.sandbox.probe import Level
from executor.values import HostInfo, Sandbox
from workers.service.processes import session_host as module
from workers.service.processes.session_host import SessionHost
from workers.service.start_checks import CannotStart

pytestmark = pytest.mark.process


class FakeHosts:
    """Stands for the session hosts of a node: a process that waits for its stdin, and what a ping would say."""

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.older_pid: int | None = None
        self.starts = True
        self.level: Level = "strong"
        self.silent = False

    def spawn(self, *_: object, **options: Any) -> subprocess.Popen[bytes]:
        self.started.append(options)
        code = "input()" if self.starts else "pass"
        self.processes.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE))
        return self.processes[-1]

    def wait(self, process: subprocess.Popen[bytes], socket: Path) -> None:
        if not self.starts:
            process.communicate()
            raise RuntimeError("the session host did not start (exit code 1)")

    def ping(self) -> SimpleNamespace:
        live = [process.pid for process in self.processes if process.poll() is None]
        pid = self.older_pid or (live[-1] if live else None)
        if pid is None or self.silent:
            raise HostUnavailable("nobody listens")
        return SimpleNamespace(pid=pid, sandbox=Sandbox(self.level))

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdin:
                process.stdin.close()


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHosts]:
    fake = FakeHosts()
    monkeypatch.setattr(module, "spawn_host", fake.spawn)
    monkeypatch.setattr(module, "wait_for_host", fake.wait)
    monkeypatch.setattr(module, "SessionClient", lambda _, **__: fake)
    monkeypatch.setattr(module, "START_TIMEOUT_S", 0.0)
    monkeypatch.setattr(module, "RESTART_PAUSE_S", 0.0)
    yield fake
    fake.kill()


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    return lambda **env: load_settings({"THREADBOOK_HOME": str(tmp_path), **env}, tmp_path)


def test_it_is_started_without_a_shell_and_its_level_is_known(
    hosts: FakeHosts, settings: Callable[..., Settings]
) -> None:
    host = SessionHost(settings())
    host.start()
    assert host.sandbox == "strong"
    (options,) = hosts.started
    assert not options.get("bash")
    assert options["syscalls"] == "deny"
    assert options["die_with_parent"] is True
    host.stop()
    assert hosts.processes[0].poll() is not None


def test_a_live_one_is_left_alone_and_a_dead_one_is_started_again(
    hosts: FakeHosts, settings: Callable[..., Settings]
) -> None:
    host = SessionHost(settings())
    host.start()
    host.keep()
    assert len(hosts.started) == 1
    hosts.kill()
    host.keep()
    assert len(hosts.started) == 2


def test_one_that_does_not_come_up_is_tried_again_at_the_next_look(
    hosts: FakeHosts, settings: Callable[..., Settings]
) -> None:
    host = SessionHost(settings())
    hosts.starts = False
    host.keep()
    hosts.processes[0].wait()
    hosts.starts = True
    host.keep()
    assert [process.poll() for process in hosts.processes] == [0, None]
    host.keep()
    assert host.answers
    assert len(hosts.started) == 2


class GivesUp:
    """A watchdog that says what a test wants."""

    stuck = False

    def asked(self) -> None:
        """Nothing is counted."""

    def answered(self) -> None:
        """Nothing is counted."""

    def is_stuck(self, pid: int) -> bool:
        return self.stuck


def test_one_that_is_silent_is_announced_no_more_and_killed_once_it_counts_as_stuck(
    hosts: FakeHosts, settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    dog = GivesUp()
    monkeypatch.setattr(module, "Watchdog", lambda: dog)
    host = SessionHost(settings())
    host.start()
    assert host.answers
    hosts.silent = True
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    host.keep()
    assert not host.answers
    assert hosts.processes[0].poll() is None
    dog.stuck = True
    host.keep()
    assert hosts.processes[0].poll() is not None
    monkeypatch.undo()
    hosts.silent = False
    monkeypatch.setattr(module, "spawn_host", hosts.spawn)
    host._started_at = -1.0
    host.keep()
    host.keep()
    assert host.answers
    assert len(hosts.started) == 2


class Listener:
    """Answers every ping on a socket, on as many connections as come, until it is closed."""

    def __init__(self, path: Path, pid: Callable[[], int]) -> None:
        self._pid = pid
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            while read_message(peer.recv, 1 << 16) is not None:
                info = HostInfo(self._pid(), Sandbox("strong"), 0, Counters())
                peer.sendall(encode({"type": "pong", "host": asdict(info)}))

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_one_whose_socket_is_gone_does_not_count_as_answering(
    hosts: FakeHosts, settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SessionClient", SessionClient)
    dog = GivesUp()
    monkeypatch.setattr(module, "Watchdog", lambda: dog)
    host = SessionHost(settings())
    host._spawn()
    with closing(Listener(settings().session_socket, lambda: hosts.processes[0].pid)):
        host.keep()
        assert host.answers
        settings().session_socket.unlink()
        dog.stuck = True
        host.keep()
        assert hosts.processes[0].poll() is not None


def test_one_that_starts_for_ever_is_killed_and_started_again(
    hosts: FakeHosts, settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.silent = True
    host = SessionHost(settings())
    host.keep()
    host.keep()
    assert hosts.processes[0].poll() is None
    monkeypatch.setattr(module, "HOST_START_S", 0.0)
    host.keep()
    assert hosts.processes[0].poll() is not None
    host.keep()
    assert len(hosts.started) == 2


def test_it_keeps_to_the_list_of_system_calls_that_the_team_wants(
    hosts: FakeHosts, settings: Callable[..., Settings]
) -> None:
    chosen = settings()
    wanted = chosen.model_copy(update={"sandbox": chosen.sandbox.model_copy(update={"syscalls": "allow"})})
    SessionHost(wanted).start()
    assert hosts.started[0]["syscalls"] == "allow"


def test_one_whose_sandbox_became_too_weak_is_not_used(hosts: FakeHosts, settings: Callable[..., Settings]) -> None:
    host = SessionHost(settings(SLACK_API_URL="https://slack.com/api/"))
    host.start()
    hosts.kill()
    hosts.level = "none"
    host.keep()
    host.keep()
    assert not host.answers
    assert hosts.processes[1].poll() is not None


def test_a_first_start_that_fails_is_told(hosts: FakeHosts, settings: Callable[..., Settings]) -> None:
    hosts.starts = False
    with pytest.raises(CannotStart, match="did not start"):
        SessionHost(settings()).start()


def test_the_session_host_of_another_service_is_named(hosts: FakeHosts, settings: Callable[..., Settings]) -> None:
    hosts.older_pid = 4711
    with pytest.raises(CannotStart, match=r"another worker service uses .*process 4711.*THREADBOOK_HOME"):
        SessionHost(settings()).start()


def test_a_sandbox_that_is_too_weak_for_real_slack_is_refused(
    hosts: FakeHosts, settings: Callable[..., Settings]
) -> None:
    hosts.level = "none"
    host = SessionHost(settings(SLACK_API_URL="https://slack.com/api/"))
    with pytest.raises(CannotStart, match="none"):
        host.start()
    host.stop()
