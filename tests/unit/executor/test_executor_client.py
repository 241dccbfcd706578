"""What a client makes of a host that says no: for now, or for good."""

from __future__ import annotations

import os
import queue
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually

from executor.client import HostUnavailable, RequestError, SessionClient
from executor.client_connection import Connection
from executor.client_requests import HANDLERS
from executor.event_loop import Timer
from executor.frames import PROTOCOL_VERSION, Message, encode, read_message
from executor.values import Limits


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


class PatientHost:
    """Answers each request of each connection with what `answer` makes of the connection's number, from 1."""

    def __init__(self, path: Path, answer: Callable[[int], Message], *, hangs_up: bool = False) -> None:
        self.connections = 0
        self.ended: queue.Queue[int] = queue.Queue()
        """The numbers of those that have hung up."""
        self._answer = answer
        self._hangs_up = hangs_up
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._serving = threading.Thread(target=self._accept)
        self._serving.start()

    def _accept(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(peer, self.connections), daemon=True).start()

    def _serve(self, peer: socket.socket, number: int) -> None:
        with peer, suppress(OSError):  # a client may hang up before it has read all
            while read_message(peer.recv, 1 << 16) is not None:
                peer.sendall(encode(self._answer(number)))
                if self._hangs_up:
                    break
        self.ended.put(number)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._serving.join()


@contextmanager
def patient_host(path: Path, answer: Callable[[int], Message], *, hangs_up: bool = False) -> Iterator[PatientHost]:
    host = PatientHost(path, answer, hangs_up=hangs_up)
    try:
        yield host
    finally:
        host.close()


def nothing_lives(number: int) -> Message:
    return {"type": "done", "value": []}


def test_calls_that_follow_each_other_share_a_connection(tmp_path: Path) -> None:
    with patient_host(tmp_path / "s", nothing_lives) as host:
        client = SessionClient(tmp_path / "s")
        assert [client.sessions() for _ in range(3)] == [[], [], []]
        assert host.connections == 1
        del client
        assert host.ended.get(timeout=PATIENCE_S) == 1


def test_a_connection_that_the_host_has_closed_takes_no_call(tmp_path: Path) -> None:
    with patient_host(tmp_path / "s", nothing_lives, hangs_up=True) as host:
        client = SessionClient(tmp_path / "s")
        for number in range(1, 4):
            assert client.sessions() == []
            assert host.ended.get(timeout=PATIENCE_S) == number


def test_what_comes_between_two_calls_is_no_answer_to_the_next_one(tmp_path: Path) -> None:
    def answer(number: int) -> Message:
        return {"type": "done", "value": [{"thread_id": "t", "pid": number, "cell_id": None}]}

    with patient_host(tmp_path / "s", answer) as host:
        client = SessionClient(tmp_path / "s")
        assert [one.pid for one in client.sessions()] == [1]
        _, kept = client._kept[0]
        kept.sendall(encode({"type": "ping"}))
        eventually(lambda: select.select([kept], [], [], 0)[0], "the answer that no call waits for")
        assert [one.pid for one in client.sessions()] == [2]
        assert host.connections == 2


def test_after_a_refused_call_the_next_one_has_another_connection(tmp_path: Path) -> None:
    def answer(number: int) -> Message:
        refusal: Message = {"type": "error", "message": "no", "again": False}
        return refusal if number == 1 else nothing_lives(number)

    with patient_host(tmp_path / "s", answer) as host:
        client = SessionClient(tmp_path / "s")
        with pytest.raises(RequestError):
            client.sessions()
        assert client.sessions() == []
        assert host.connections == 2


def test_a_call_that_was_broken_off_leaves_no_connection_behind(tmp_path: Path) -> None:
    def breaks(stream: str, text: str) -> None:
        raise RuntimeError("the reader broke")

    output = {"type": "output", "stream": "stdout", "text": "1\n"}
    with patient_host(tmp_path / "s", lambda _: output) as host:
        client = SessionClient(tmp_path / "s")
        with pytest.raises(RuntimeError, match="the reader broke"):
            client.run("t", "c", "1", on_output=breaks)
        assert host.ended.get(timeout=PATIENCE_S) == 1


def test_a_process_that_was_forked_calls_through_connections_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with patient_host(tmp_path / "s", nothing_lives) as host:
        client = SessionClient(tmp_path / "s")
        client.sessions()
        monkeypatch.setattr(os, "getpid", lambda: -1)
        client.sessions()
        client.sessions()
        assert host.connections == 2


@contextmanager
def forked() -> Iterator[None]:
    """A process that has a copy of all that is open now, and uses none of it."""
    child = os.fork()
    if not child:
        signal.pause()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_host_hears_of_a_hang_up_although_a_forked_process_has_a_copy(tmp_path: Path) -> None:
    def refuses(number: int) -> Message:
        return nothing_lives(number) if next(calls) else {"type": "error", "message": "no", "again": False}

    calls = iter([1, 0, 1])
    with patient_host(tmp_path / "s", refuses) as host:
        client = SessionClient(tmp_path / "s")
        client.sessions()
        with forked():
            with pytest.raises(RequestError):
                client.sessions()
            assert host.ended.get(timeout=PATIENCE_S) == 1
        client.sessions()
        with forked():
            del client
            assert host.ended.get(timeout=PATIENCE_S) == 2


def test_a_forked_process_that_ends_hangs_up_no_connection_of_the_other_one(tmp_path: Path) -> None:
    with patient_host(tmp_path / "s", nothing_lives) as host:
        client = SessionClient(tmp_path / "s")
        client.sessions()
        child = os.fork()
        if not child:
            try:
                del client
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        client.sessions()
        assert host.connections == 1


def test_calls_at_the_same_time_have_a_connection_each(tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def answer(number: int) -> Message:
        both.wait(PATIENCE_S)
        return {"type": "done", "value": [{"thread_id": "t", "pid": number, "cell_id": None}]}

    with patient_host(tmp_path / "s", answer), ThreadPoolExecutor(2) as pool:
        client = SessionClient(tmp_path / "s")
        for _ in range(2):
            calls = [pool.submit(client.sessions) for _ in range(2)]
            assert sorted(call.result(PATIENCE_S)[0].pid for call in calls) == [1, 2]


class IdleLoop:
    """Keeps what is due later; the test says when that is."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def watch_read(self, fd: int, callback: Callable[[], None]) -> None:
        """The test reads by itself."""

    def forget(self, fd: int) -> None:
        """Nothing is watched."""

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.due.append(callback)
        return Timer(callback)


class OneThread:
    """As much of a session host as `where` and a cell that runs on reach; it answers when the test says so."""

    def __init__(self) -> None:
        self.loop = IdleLoop()
        self.answers: list[Callable[[object], None]] = []
        self.left: list[set[str]] = []
        """The threads that hear of each hang-up."""

    def notebook(self, thread_id: str) -> OneThread:
        return self

    def where(self, answer: Callable[[object], None]) -> None:
        self.answers.append(answer)

    def limits_of(self, message: Message) -> Limits:
        return Limits()

    def use_limits(self, limits: Limits) -> None:
        """It has no subprocess."""

    def submit(self, cell: object, attached: object) -> None:
        """The cell runs on."""

    def disconnected(self, connection: Connection) -> None:
        self.left.append(set(connection.threads))


def test_a_running_cell_hears_of_the_hang_up_of_a_client_whose_reply_was_refused() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        host = OneThread()
        connection = Connection(host, theirs, HANDLERS)  # type: ignore[arg-type]
        run: Message = {"v": PROTOCOL_VERSION, "type": "run", "thread": "t", "cell": "c", "code": "1", "answers": True}
        for message in (run, {"type": "reply", "id": 1, "value": None, "error": ["no text"]}):
            ours.sendall(encode(message))
            connection.read()
        answer = read_message(ours.recv, 1 << 16)
        assert answer is not None
        assert answer["type"] == "error"
        ours.close()
        connection.read()
        assert host.left == [{"t"}]


def test_a_host_says_that_it_works_on_while_a_call_waits_and_not_between_two() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        host = OneThread()
        connection = Connection(host, theirs, HANDLERS)  # type: ignore[arg-type]

        def said() -> list[str]:
            found = []
            with suppress(BlockingIOError):
                while (message := read_message(ours.recv, 1 << 16)) is not None:
                    found.append(message["type"])
            return found

        def calls() -> None:
            ours.sendall(encode({"v": PROTOCOL_VERSION, "type": "where", "thread": "t", "alive_s": 5.0}))
            connection.read()

        def time_passes() -> None:
            due, host.loop.due = host.loop.due, []
            for callback in due:
                callback()

        calls()
        time_passes()
        assert said() == ["alive"]
        host.answers.pop()(None)
        time_passes()
        time_passes()
        assert said() == ["done"]
        assert host.loop.due == []
        calls()
        time_passes()
        assert said() == ["alive"]
