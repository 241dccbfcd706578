"""Forked processes are started, started again, and stopped."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import eventually

from core.settings import Settings, load_settings
from executor.processes import is_stopped, started_at
from workers.service.processes import forked
from workers.service.processes.forked import ForkedProcesses


def waits(settings: Settings) -> None:
    threading.Event().wait()


def ends(settings: Settings) -> None:
    """Ends at once."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)


@pytest.fixture
def forks(settings: Settings) -> Iterator[ForkedProcesses]:
    processes = ForkedProcesses(settings, {"worker-1": waits, "worker-2": waits, "janitor": waits})
    yield processes
    processes.stop()


def test_each_process_is_started_once(forks: ForkedProcesses) -> None:
    forks.keep()
    first = forks.pids()
    forks.keep()
    assert forks.pids() == first
    assert list(first) == ["worker-1", "worker-2", "janitor"]
    assert (forks.alive("worker-"), forks.alive("")) == (2, 3)


def test_a_process_that_ended_is_started_again(forks: ForkedProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "RESTART_PAUSE_S", 0.0)
    forks.keep()
    first = forks.pids()
    os.kill(forks._processes["janitor"].pid or 0, signal.SIGKILL)
    eventually(lambda: forks.alive("janitor") == 0, "the end of the janitor")
    forks.keep()
    assert forks.pids() != first
    assert forks.alive("") == 3


def test_a_process_that_keeps_ending_is_not_started_at_every_look(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked, "RESTART_PAUSE_S", 3600.0)
    forks = ForkedProcesses(settings, {"janitor": ends})
    forks._started_at["janitor"] = -3600.0
    forks.keep()
    first = forks.pids()
    eventually(lambda: forks.alive("janitor") == 0, "its end")
    forks.keep()
    assert forks.pids() == first


def test_all_of_them_are_stopped(forks: ForkedProcesses) -> None:
    forks.keep()
    forks.stop()
    assert forks.alive("") == 0
    assert [started_at(pid) for pid in forks.pids().values()] == [None] * 3


def deaf(settings: Settings) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (settings.home / "deaf").touch()
    threading.Event().wait()


def test_a_process_that_ignores_the_signal_is_killed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "DRAIN_S", 0.1)
    monkeypatch.setattr(forked, "KILL_AFTER_S", 0.1)
    forks = ForkedProcesses(settings, {"worker-1": deaf})
    forks.keep()
    eventually((settings.home / "deaf").exists, "the process")
    forks.stop()
    eventually(lambda: forks.alive("") == 0, "its end")


def forks_a_job(settings: Settings) -> None:
    if (pid := os.fork()) == 0:
        threading.Event().wait()
    (settings.home / "job").write_text(str(pid))
    os.waitpid(pid, 0)
    threading.Event().wait()


def test_a_process_that_stays_stopped_is_killed_and_started_again(
    forks: ForkedProcesses, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked, "RESTART_PAUSE_S", 0.0)
    forks.keep()
    first = forks._processes["worker-1"].pid or 0
    os.kill(first, signal.SIGSTOP)
    eventually(lambda: is_stopped(first), "its stop")
    forks.keep()
    assert is_stopped(first)
    monkeypatch.setattr(forked, "STOPPED_S", 0.0)
    forks.keep()
    eventually(lambda: forks.alive("worker-1") == 0, "its end")
    forks.keep()
    assert forks._processes["worker-1"].pid != first


def test_a_job_that_stays_stopped_is_killed_and_its_worker_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked, "STOPPED_S", 0.0)
    forks = ForkedProcesses(settings, {"worker-1": forks_a_job})
    try:
        forks.keep()
        job = int(eventually(lambda: (settings.home / "job").exists() and (settings.home / "job").read_text(), "a job"))
        worker = forks._processes["worker-1"].pid
        os.kill(job, signal.SIGSTOP)
        eventually(lambda: is_stopped(job), "its stop")
        forks.keep()
        eventually(lambda: not Path(f"/proc/{job}").exists(), "the end of the job")
        assert (forks.alive("worker-1"), forks._processes["worker-1"].pid) == (1, worker)
    finally:
        forks.stop()


def test_a_job_that_stays_stopped_is_killed_also_when_its_worker_is_killed_before(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked, "RESTART_PAUSE_S", 3600.0)
    forks = ForkedProcesses(settings, {"worker-1": forks_a_job})
    forks._started_at["worker-1"] = -3600.0
    try:
        forks.keep()
        job = int(eventually(lambda: (settings.home / "job").exists() and (settings.home / "job").read_text(), "a job"))
        os.kill(job, signal.SIGSTOP)
        eventually(lambda: is_stopped(job), "its stop")
        forks.keep()
        os.kill(forks.pids()["worker-1"], signal.SIGKILL)
        eventually(lambda: forks.alive("worker-1") == 0, "the end of its worker")
        assert is_stopped(job)
        monkeypatch.setattr(forked, "STOPPED_S", 0.0)
        forks.keep()
        eventually(lambda: started_at(job) is None, "the end of the job")
    finally:
        forks.stop()
