"""The zygote answers its host, whatever numbers its descriptors have, and gives way when it is old."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually

from executor.client import SessionClient
from executor.frames import CLIENT_LIMIT, FrameReader, encode
from executor.launch import stop_host, wait_for_host
from executor.sandbox.namespaces import Users
from executor.sandbox.steps import Plan
from executor.zygote import Zygote

PLAN = Plan(False, False, False, False, Users(0, 0, 1))
MANY = 2_000


@pytest.fixture
def _many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard <= MANY:
        pytest.skip(f"this machine allows {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY + 100), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def moved_up(end: socket.socket) -> socket.socket:
    """The same end under a number that a host with hundreds of sessions would give it."""
    with end:
        return socket.socket(fileno=fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, MANY))


@pytest.mark.usefixtures("_many_descriptors")
def test_a_zygote_of_a_host_with_many_sessions_answers() -> None:
    host, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    woken, wake = socket.socketpair()
    woken.setblocking(False)
    with host, moved_up(control) as control, moved_up(woken) as woken, wake:
        served = threading.Thread(target=Zygote(control, PLAN, None)._serve, args=(woken,), daemon=True)
        served.start()
        wake.send(b"x")
        host.settimeout(PATIENCE_S)
        host.send(encode({"type": "ping"}))
        assert list(FrameReader(CLIENT_LIMIT).feed(host.recv(4_096))) == [{"type": "pong"}]
        host.shutdown(socket.SHUT_RDWR)
        served.join(PATIENCE_S)
        assert not served.is_alive()


HASTY = """
from executor import zygote_client
from executor.host import main
from executor.watchdog import BUSY_S, Watchdog
busy = iter([4.0])  # for the first one, which watches until the zygote is warm
zygote_client.Watchdog = lambda idle_s=3.0, **more: Watchdog(idle_s, **{"busy_s": next(busy, BUSY_S)} | more)
main()
"""
SLOW_FONTS = """#!/bin/sh
end=$(($(date +%s) + 7))
while [ $(date +%s) -lt $end ]; do :; done
exit 1
"""


@pytest.mark.process
def test_a_zygote_that_is_slow_or_waits_for_a_program_of_a_library_is_not_given_up(tmp_path: Path) -> None:
    """matplotlib asks fc-list for the fonts, which can take long the first time. Nothing is refused by this host, so it
    must not get a weaker sandbox."""
    programs, socket_path, words = tmp_path / "programs", tmp_path / "s", tmp_path / "words"
    programs.mkdir()
    (programs / "fc-list").write_text(SLOW_FONTS)
    (programs / "fc-list").chmod(0o755)
    command = [sys.executable, "-c", HASTY, "--socket", str(socket_path), "--home", str(tmp_path / "h")]
    command += ["--limits", json.dumps({"spare_sessions": 0}), "--show", str(programs)]
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    with words.open("wb") as stderr:
        process = subprocess.Popen(command, env=environment, stderr=stderr)
    try:
        wait_for_host(process, socket_path)
    except RuntimeError as error:
        pytest.fail(f"{error}: {words.read_text()}")
    finally:
        stop_host(process)
    assert "does not answer" not in words.read_text()


CLOCKED = """
import sys, time
from types import SimpleNamespace
from executor import zygote_client
from executor.host import main
clock = sys.argv.pop(1)
zygote_client.time = SimpleNamespace(monotonic=lambda: time.monotonic() + float(open(clock).read()))
main()
"""
HOUR = 3600


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """By how many seconds zygotes are older than they are."""
    (tmp_path / "clock").write_text("0")
    return tmp_path / "clock"


@pytest.fixture
def aged(tmp_path: Path, clock: Path) -> Iterator[SessionClient]:
    """A host whose zygotes age by that clock."""
    command = [
        sys.executable,
        "-c",
        CLOCKED,
        str(clock),
        "--socket",
        str(tmp_path / "s"),
        "--home",
        str(tmp_path / "h"),
    ]
    command += ["--limits", json.dumps({"spare_sessions": 0}), "--without", "libraries"]
    command += ["--renew-after", "1000000"]  # never by their number
    process = subprocess.Popen(command, env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        wait_for_host(process, tmp_path / "s")
        yield SessionClient(tmp_path / "s")
    finally:
        stop_host(process)


def zygotes(host: int) -> set[int]:
    """Those of a host that live."""
    children = Path(f"/proc/{host}/task/{host}/children").read_text().split()
    return {int(pid) for pid in children if b"executor.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()}


@pytest.mark.process
def test_a_zygote_of_six_hours_gives_way_to_a_new_one(aged: SessionClient, clock: Path) -> None:
    """What a cell learns of its hash seed and the layout of its memory holds no longer, however few sessions begin."""
    host, numbers = aged.ping().pid, itertools.count()

    def fork() -> None:
        thread = f"t{next(numbers)}"
        aged.run(thread, "1", "1")
        aged.reset(thread)

    first = zygotes(host)
    assert len(first) == 1
    clock.write_text(str(5 * HOUR))
    for _ in range(5):
        fork()
    assert zygotes(host) == first
    clock.write_text(str(6 * HOUR))
    eventually(lambda: fork() or not zygotes(host) & first, "a new zygote in place of the old one")
    assert aged.run("last", "1", "print(1 + 1)").stdout == "2\n"
