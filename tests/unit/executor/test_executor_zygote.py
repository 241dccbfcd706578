"""The zygote answers its host, whatever numbers its descriptors have."""

from __future__ import annotations

import fcntl
import resource
import socket
import threading
from collections.abc import Iterator

import pytest
from patience import PATIENCE_S

from executor.frames import CLIENT_LIMIT, FrameReader, encode
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
