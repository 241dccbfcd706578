"""The registry of a service's processes: who lives, and what a dead service left stopped."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from patience import eventually

from core.settings import Settings, load_settings
from executor.processes import is_stopped
from workers.service.processes.registry import (
    SUPERVISOR,
    WATCHED_S,
    Restarts,
    end_stopped_processes,
    live_processes,
    registry_file,
    write_registry,
)

pytestmark = pytest.mark.process

Started = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)


@pytest.fixture
def started() -> Iterator[Started]:
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    eventually(lambda: is_stopped(process.pid), "its stop")


def dies(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_a_process_lives_until_it_ends(settings: Settings, started: Started) -> None:
    worker, janitor = started(), started()
    write_registry(settings, {"worker-1": worker.pid, "janitor": janitor.pid})
    assert live_processes(settings) == {"worker-1": True, "janitor": True}
    dies(worker)
    assert live_processes(settings) == {"worker-1": False, "janitor": True}


def test_a_process_that_was_given_the_number_of_a_dead_one_is_another_one(settings: Settings, started: Started) -> None:
    worker = started()
    write_registry(settings, {"worker-1": worker.pid})
    (entry,) = json.loads(registry_file(settings).read_text()).values()
    registry_file(settings).write_text(json.dumps({"worker-1": [worker.pid, entry[1] - 1]}))
    assert live_processes(settings) == {"worker-1": False}


@pytest.mark.parametrize("fails", ["write_bytes", "replace"])
def test_a_process_that_was_started_on_a_full_disk_is_registered(
    settings: Settings, started: Started, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def full(path: Path, *_: object) -> NoReturn:
        path.touch()  # it has a name, and no room for what is in it
        raise OSError(errno.ENOSPC, "No space left on device")

    first, second = started(), started()
    write_registry(settings, {"worker-1": first.pid, "janitor": second.pid})
    dies(first)
    monkeypatch.setattr(Path, fails, full)
    write_registry(settings, {"janitor": second.pid})  # it is shorter than the one before
    assert live_processes(settings) == {"janitor": True}
    assert os.listdir(settings.home) == [registry_file(settings).name]


def test_restarts_are_forgotten_after_a_while(settings: Settings, started: Started) -> None:
    now = [0.0]
    restarts = Restarts(settings, clock=lambda: now[0])
    for times in range(3):
        write_registry(settings, {"janitor": started().pid})
        assert restarts.look() == {"janitor": times}
        now[0] += WATCHED_S / 3
    now[0] += WATCHED_S
    assert restarts.look() == {"janitor": 0}


def test_what_a_dead_service_left_stopped_is_killed_and_the_rest_ends_by_itself(
    settings: Settings, started: Started
) -> None:
    service, worker, janitor = started(), started(), started()
    write_registry(settings, {SUPERVISOR: service.pid, "worker-1": worker.pid, "janitor": janitor.pid})
    stop(worker)
    dies(service)
    end_stopped_processes(settings)
    assert worker.wait() == -signal.SIGKILL
    assert janitor.poll() is None


def test_a_stopped_job_of_a_worker_that_runs_is_killed(settings: Settings, started: Started) -> None:
    service = started()
    code = "import subprocess as s; c = s.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait(); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        job = int(worker.stdout.readline())
        write_registry(settings, {SUPERVISOR: service.pid, "worker-1": worker.pid})
        os.kill(job, signal.SIGSTOP)
        eventually(lambda: is_stopped(job), "its stop")
        dies(service)
        end_stopped_processes(settings)
        eventually(lambda: not Path(f"/proc/{job}").exists(), "the end of the job")
        assert worker.poll() is None
        worker.communicate(b"\n")


def test_nothing_is_killed_while_the_service_lives(settings: Settings, started: Started) -> None:
    service, worker = started(), started()
    write_registry(settings, {SUPERVISOR: service.pid, "worker-1": worker.pid})
    stop(worker)
    end_stopped_processes(settings)
    assert is_stopped(worker.pid)


NO_REGISTRY = ['{"worker-1": 4711}', '{"worker-1": [1]}', "[]", "{", '{"worker-1": ["a", "b"]}']
DAMAGED = ['{"worker-1": [1e999, 1]}', '{"worker-1": ' + "[" * 100_000, "\0" * 100]


def test_a_stopped_process_of_another_user_keeps_no_service_from_starting(
    settings: Settings, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(pid: int, signum: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    service, worker, janitor = started(), started(), started()
    write_registry(settings, {SUPERVISOR: service.pid, "worker-1": worker.pid, "janitor": janitor.pid})
    stop(worker)
    stop(janitor)
    dies(service)
    with monkeypatch.context() as kernel:
        kernel.setattr(os, "kill", refuses)
        end_stopped_processes(settings)
    assert is_stopped(worker.pid)


@pytest.mark.parametrize("text", NO_REGISTRY + DAMAGED)
def test_a_registry_that_an_older_version_or_nobody_wrote_says_nothing(settings: Settings, text: str) -> None:
    registry_file(settings).write_text(text)
    end_stopped_processes(settings)
    assert live_processes(settings) == {}
