"""Whom a kill may reach: one process and what it started, never a group, never everybody."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from patience import eventually

from executor import processes
from executor.linux import pid_of


def test_a_process_that_was_reaped_has_no_number_to_be_killed_by() -> None:
    """The kernel calls it -1, which to `kill` is every process on the machine."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    handle = os.pidfd_open(child.pid)
    try:
        assert pid_of(handle) == child.pid
        child.kill()
        child.communicate()
        assert pid_of(handle) == 0
    finally:
        os.close(handle)


@pytest.mark.parametrize("number", [1, 0, -1, -4711])
def test_a_number_that_means_more_than_one_process_is_never_signalled(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    signalled: list[int] = []
    monkeypatch.setattr(processes.os, "kill", lambda pid, _: signalled.append(pid))
    with pytest.raises(ValueError, match="not a process that may be ended"):
        processes.end_tree(number)
    assert signalled == []


def test_a_process_ends_with_all_that_it_started() -> None:
    code = "import subprocess, sys; subprocess.Popen(['sleep', '600']); print('up', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        _, child = processes.tree(parent.pid)
        processes.end_tree(parent.pid)
        assert parent.wait() == -9
    eventually(lambda: "sleep" not in _command(child), "the end of what it started")


def test_a_process_has_one_moment_of_start_and_none_once_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        first = processes.started_at(child.pid)
        assert first is not None
        assert processes.started_at(child.pid) == first
        child.kill()
        eventually(lambda: processes.started_at(child.pid) is None, "its end, before it is reaped")
    assert processes.started_at(child.pid) is None


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
            return line.read()
    except OSError:
        return ""
