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
