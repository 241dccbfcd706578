"""A part of the session host that is alive and does nothing is found and replaced."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil
import pytest
from hosts import bare_host
from patience import PATIENCE_S

from executor.client import SessionClient
from executor.frames import CLIENT_LIMIT, PROTOCOL_VERSION, encode, read_message
from executor.values import Limits

pytestmark = pytest.mark.process


def stop_zygote(client: SessionClient) -> psutil.Process:
    """Stop the process that forks, and the one that waits for it; the sessions go on."""
    outer = psutil.Process(client.ping().pid).children()[0]
    sessions = {session.pid for session in client.sessions()}
    for process in (outer, *outer.children()):
        if process.pid not in sessions:
            process.suspend()
    return outer


def test_a_zygote_that_is_stopped_is_replaced_and_the_cells_go_on(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(spare_sessions=0)) as client:
        host = client.ping().pid
        client.run("a", "1", "n = 7")
        client.run("a", "2", "'what the first cell made is kept by now'")
        zygote = stop_zygote(client)
        assert client.run("b", "1", "1 + 1").status == "ok"
        assert client.run("a", "3", "n").status == "ok"
        assert not zygote.is_running() or zygote.status() == psutil.STATUS_ZOMBIE
        assert client.ping().pid == host


def test_the_host_answers_while_its_zygote_is_stuck(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(spare_sessions=0)) as client:
        zygote = stop_zygote(client)
        while zygote.is_running() and zygote.status() == psutil.STATUS_STOPPED:
            assert client.sessions() == []


@pytest.mark.parametrize("kind", ["put", "keep"])
def test_a_pipe_in_place_of_a_file_is_refused_and_stops_nobody(tmp_path: Path, kind: str) -> None:
    read, write = os.pipe()
    with bare_host(tmp_path) as client, socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE_S)
        peer.connect(str(client._path))
        request = {"v": PROTOCOL_VERSION, "type": kind, "thread": "t", "name": "sales.csv"}
        socket.send_fds(peer, [encode(request)], [read])
        answer = read_message(peer.recv, CLIENT_LIMIT)
        assert answer is not None
        assert (answer["type"], answer["message"]) == ("error", "this request comes with an open file")
        assert client.sessions() == []
    os.close(read)
    os.close(write)


def test_a_client_that_waits_hears_that_the_host_works_on(tmp_path: Path) -> None:
    with bare_host(tmp_path) as client, socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE_S)
        peer.connect(str(client._path))
        code = "import time\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)"
        request = {"v": PROTOCOL_VERSION, "type": "run", "thread": "t", "cell": "1", "code": code, "alive_s": 0.05}
        peer.sendall(encode(request))
        for _ in range(3):
            assert read_message(peer.recv, CLIENT_LIMIT) == {"type": "alive"}
        (tmp_path / "go").touch()
        client.put("t", "go", tmp_path / "go")
        while (last := read_message(peer.recv, CLIENT_LIMIT)) == {"type": "alive"}:
            pass
        assert last is not None
        assert last["type"] == "result"
