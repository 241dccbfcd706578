"""A request to a sidecar and its reply, over a real socket."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually

from executor.frames import Message, ProtocolError, encode
from workers.sidecar import serving
from workers.sidecar.asking import Late, NotThere, Stopped, connected, receive
from workers.sidecar.serving import NotOurUser, private_listener, read_request

LIMIT = 1 << 16
Answer = Callable[[socket.socket], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sidecar.sock"


@pytest.fixture
def answering(path: Path) -> Iterator[Callable[[Answer], list[Message | Exception | None]]]:
    """`answering(answer)`: one request is read, and `answer` is called with its connection. Gives what was read."""
    listener = private_listener(path)
    threads = []

    def start(answer: Answer) -> list[Message | Exception | None]:
        read: list[Message | Exception | None] = []

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                try:
                    read.append(read_request(peer, LIMIT))
                    answer(peer)
                except Exception as error:
                    read.append(error)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return read

    yield start
    for thread in threads:
        thread.join(PATIENCE_S)
    listener.close()


def ask(
    path: Path, *, seconds: float = PATIENCE_S, stop: bool = False, files: bool = False
) -> tuple[Message, int | None]:
    stopping = threading.Event()
    with connected(path, stopping, 0.1) as peer:
        peer.sendall(encode({"ask": "this"}))
        if stop:
            stopping.set()
        return receive(peer, stopping, time.monotonic() + seconds, LIMIT, files=files)


def with_file(peer: socket.socket) -> None:
    descriptor = os.memfd_create("rows")
    socket.send_fds(peer, [encode({"answered": 1})], [descriptor])
    os.close(descriptor)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_request_is_read_and_its_reply_comes(path: Path, answering: Callable[..., list[object]]) -> None:
    read = answering(lambda peer: peer.sendall(encode({"answered": 1})))
    assert ask(path) == ({"answered": 1}, None)
    assert read == [{"ask": "this"}]


def test_a_file_comes_where_it_may_come(path: Path, answering: Callable[..., list[object]]) -> None:
    answering(with_file)
    reply, descriptor = ask(path, files=True)
    assert reply == {"answered": 1}
    assert descriptor is not None
    os.close(descriptor)


def test_a_file_that_nobody_takes_is_not_left_open(path: Path, answering: Callable[..., list[object]]) -> None:
    before = open_files()
    answering(with_file)
    assert ask(path) == ({"answered": 1}, None)
    eventually(lambda: open_files() == before, "the end of the one who answers, and no file left")


def test_a_reply_that_does_not_come_in_time_is_late(path: Path, answering: Callable[..., list[object]]) -> None:
    over = threading.Event()
    answering(lambda _: over.wait(PATIENCE_S) and None)
    with pytest.raises(Late):
        ask(path, seconds=0.1)
    over.set()


def test_an_asker_that_stops_waits_no_longer(path: Path, answering: Callable[..., list[object]]) -> None:
    over = threading.Event()
    answering(lambda _: over.wait(PATIENCE_S) and None)
    with pytest.raises(Stopped):
        ask(path, stop=True)
    over.set()


@pytest.mark.parametrize(
    "answer", [lambda _: None, lambda peer: peer.sendall(b"\x7f\xff\xff\xff{}")], ids=["none", "huge"]
)
def test_a_reply_that_is_none_is_told_apart(
    path: Path, answering: Callable[..., list[object]], answer: Callable[[socket.socket], None]
) -> None:
    answering(answer)
    with pytest.raises(ProtocolError):
        ask(path)


def test_one_that_has_ended_is_not_there(path: Path) -> None:
    with pytest.raises(NotThere):
        ask(path)


def test_one_that_is_started_again_meanwhile_is_reached(path: Path, answering: Callable[..., list[object]]) -> None:
    moved = path.with_name("later.sock")
    path.rename(moved)
    answering(lambda peer: peer.sendall(encode({"answered": 2})))
    threading.Timer(0.3, moved.rename, [path]).start()
    with connected(path, threading.Event(), PATIENCE_S) as peer:
        peer.sendall(encode({"ask": "this"}))
        assert receive(peer, threading.Event(), time.monotonic() + PATIENCE_S, LIMIT) == ({"answered": 2}, None)


def test_only_this_user_can_open_the_socket(path: Path) -> None:
    with private_listener(path):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_process_of_another_user_gets_no_answer(
    path: Path, answering: Callable[..., list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "uid_of", lambda _: os.getuid() + 1)
    read = answering(lambda peer: peer.sendall(encode({"answered": 1})))
    with pytest.raises((ProtocolError, OSError)):
        ask(path)
    assert [type(each) for each in read] == [NotOurUser]
