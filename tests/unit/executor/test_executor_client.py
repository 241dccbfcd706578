"""What a client makes of a host that says no: for now, or for good."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from executor.client import HostUnavailable, RequestError, SessionClient
from executor.frames import Message, encode, read_message


@contextmanager
def host(path: Path, answer: Message) -> Iterator[SessionClient]:
    """A host that answers one request, whatever it is."""

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            read_message(peer.recv, 1 << 16)
            peer.sendall(encode(answer))

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        server = threading.Thread(target=serve)
        server.start()
        yield SessionClient(path)
        server.join()


@pytest.mark.parametrize(
    "call", [lambda client: client.sessions(), lambda client: client.run("t", "c", "1")], ids=["question", "cell"]
)
def test_a_host_without_disk_or_memory_may_be_asked_again(
    tmp_path: Path, call: Callable[[SessionClient], object]
) -> None:
    answer = {"type": "error", "message": "No space left on device", "again": True}
    with host(tmp_path / "s", answer) as client, pytest.raises(HostUnavailable, match="No space left"):
        call(client)


def test_a_request_that_is_refused_is_refused_for_good(tmp_path: Path) -> None:
    answer = {"type": "error", "message": "thread is empty", "again": False}
    with host(tmp_path / "s", answer) as client, pytest.raises(RequestError, match="thread is empty"):
        client.sessions()


CALLS: dict[str, Callable[[SessionClient, Path], object]] = {
    "ping": lambda client, _: client.ping(),
    "put": lambda client, file: client.put("t", "name", file),
    "run": lambda client, _: client.run("t", "c", "1"),
    "bash": lambda client, _: client.bash("t", "c", "1"),
    "interrupt": lambda client, _: client.interrupt("t"),
    "reset": lambda client, _: client.reset("t"),
    "undo": lambda client, _: client.undo("t", "c"),
    "sessions": lambda client, _: client.sessions(),
    "vars": lambda client, _: client.vars("t"),
    "export": lambda client, _: client.export_session("t"),
    "keep": lambda client, file: client.keep(file),
    "where": lambda client, _: client.where("t"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_call_to_a_host_that_is_stuck_comes_to_an_end(
    tmp_path: Path, call: Callable[[SessionClient, Path], object]
) -> None:
    (tmp_path / "file").write_bytes(b"1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()  # the kernel accepts for it, as for a process that is stopped
        client = SessionClient(tmp_path / "s", answer_s=0.2)
        with pytest.raises(HostUnavailable, match="stuck"):
            call(client, tmp_path / "file")


def test_a_host_that_says_that_it_works_on_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "s"

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            read_message(peer.recv, 1 << 16)
            for message in ({"type": "alive"}, {"type": "alive"}, {"type": "done", "value": []}):
                peer.sendall(encode(message))

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        server = threading.Thread(target=serve)
        server.start()
        assert SessionClient(path).sessions() == []
        server.join()
