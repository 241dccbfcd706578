"""Client and session host of two releases side by side: each version that is answered, and each that is refused."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from executor import client_connection
from executor.client import HostUnavailable, RequestError, SessionClient, WithFile, _answer, _decision
from executor.client_connection import Connection
from executor.client_requests import HANDLERS
from executor.event_loop import Loop
from executor.files.exported import ExportedSession
from executor.frames import ANSWERED_VERSIONS, CLIENT_LIMIT, PROTOCOL_VERSION, Message, encode, read_message
from executor.values import HostInfo, Sandbox

GOLDEN = Path(__file__).parents[2] / "golden" / "protocol" / "requests.json"
DOCUMENT = (Path(client_connection.__file__).with_name("PROTOCOL.md")).read_text()
CONTENT = "a" * 64
DESCRIPTOR = "with a descriptor"


class Sent(Exception):
    """The client has sent its request."""


class Recorder(SessionClient):
    """Notes each request that a client sends, and waits for no answer."""

    def __init__(self) -> None:
        super().__init__(Path("unused"), lambda thread: {"memory_mb": 512})
        self.requests: list[Message] = []

    def _send(self, peer: socket.socket, message: Message, *descriptors: int) -> None:
        self.requests.append(message | ({DESCRIPTOR: True} if descriptors else {}))
        raise Sent

    def _connect(self) -> Any:
        return socket.socket()

    def all(self, file: Path) -> list[Message]:
        session = ExportedSession(None, [], [])
        ask: list[Callable[[], object]] = [
            self.ping,
            lambda: self.put("t", "sales.csv", file),
            lambda: self.put_held("t", "sales.csv", CONTENT),
            lambda: self.held([CONTENT]),
            lambda: self.unused(60.0),
            lambda: self.run("t", "c", "1", timeout_s=1.0, on_output=print, on_request=lambda kind, payload: None),
            lambda: self.bash("t", "c", "ls", timeout_s=1.0, approve=lambda command: True),
            lambda: self.interrupt("t"),
            lambda: self.reset("t"),
            lambda: self.purge("t"),
            lambda: self.undo("t", "c"),
            self.sessions,
            lambda: self.vars("t"),
            lambda: self.where("t"),
            lambda: self.export_session("t"),
            lambda: self.keep(file),
            lambda: self.import_session("t", session),
        ]
        for one in ask:
            with pytest.raises(Sent):
                one()
        asked = {"id": 1, "kind": "query", "payload": {}}
        opened = os.open(file, os.O_RDONLY)
        replies = [
            _answer(asked, lambda kind, payload: 1).message,
            _answer(asked, lambda kind, payload: WithFile(1, opened)).message | {DESCRIPTOR: True},
            _decision({"command": "ls"}, lambda command: True).message,
        ]
        os.close(opened)
        return [*self.requests, *replies]


def fields(message: Message) -> str:
    """A request in a line: its type, and each field with the kind of its value."""
    given = {name: type(value).__name__ for name, value in sorted(message.items()) if name not in ("type", DESCRIPTOR)}
    parts = [DESCRIPTOR] if DESCRIPTOR in message else []
    return " · ".join([message["type"], *parts, *(f"{name}: {kind}" for name, kind in given.items())])


def test_the_version_rises_with_the_requests(tmp_path: Path) -> None:
    """A red test: raise PROTOCOL_VERSION, say in PROTOCOL.md what is new, then write the golden file anew."""
    (tmp_path / "sales.csv").write_text("a\n1\n")
    requests = [fields(message) for message in Recorder().all(tmp_path / "sales.csv")]
    golden: dict[str, list[str]] = json.loads(GOLDEN.read_text())
    if os.environ.get("UPDATE_GOLDEN") and str(PROTOCOL_VERSION) not in golden:
        golden = {version: golden[version] for version in map(str, ANSWERED_VERSIONS) if version in golden}
        golden[str(PROTOCOL_VERSION)] = requests
        GOLDEN.write_text(json.dumps(golden, indent=2, ensure_ascii=False) + "\n")
    assert list(golden) == [str(version) for version in ANSWERED_VERSIONS]
    assert requests == golden[str(PROTOCOL_VERSION)]
    documented = re.findall(r"^\| `(\w+)` \|", DOCUMENT.split("## 2.")[1].split("## 3.")[0], re.MULTILINE)
    assert {one.split(" ")[0] for one in requests} == set(documented)


class OneClient:
    """As much of a session host as a `ping` reaches; it ends with its client."""

    def __init__(self) -> None:
        self.loop = Loop()

    def info(self) -> HostInfo:
        return HostInfo(1, Sandbox("none"), 0)

    def disconnected(self, connection: Connection) -> None:
        self.loop.stop()


def answer_to(message: Message) -> Message | None:
    ours, theirs = socket.socketpair()
    with ours:
        host = OneClient()
        Connection(host, theirs, HANDLERS)  # type: ignore[arg-type]
        ours.sendall(encode(message))
        ours.shutdown(socket.SHUT_WR)
        host.loop.run()
        host.loop.close()
        return read_message(ours.recv, CLIENT_LIMIT)


@pytest.mark.parametrize("version", ANSWERED_VERSIONS)
def test_a_host_answers_its_own_version_and_the_one_before(version: int) -> None:
    answer = answer_to({"v": version, "type": "ping"})
    assert answer is not None
    assert answer["type"] == "pong"


@pytest.mark.parametrize("version", [PROTOCOL_VERSION - 2, PROTOCOL_VERSION + 1, None, "4"])
def test_a_host_sends_any_other_version_away_for_now(version: object) -> None:
    answer = answer_to({"v": version, "type": "ping"})
    assert answer is not None
    assert (answer["type"], answer["again"]) == ("error", True)
    assert str(answer["message"]).endswith(f"speaks version {PROTOCOL_VERSION} of the protocol")


def test_what_is_no_request_is_refused_for_good() -> None:
    answer = answer_to({"v": PROTOCOL_VERSION, "type": "dance"})
    assert answer is not None
    assert (answer["type"], answer["again"]) == ("error", False)


def ping(folder: Path, answer: Message) -> None:
    """A client's `ping` to a host that gives this answer."""
    path = folder / "host.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                read_message(peer.recv, CLIENT_LIMIT)
                peer.sendall(encode(answer))

        host = threading.Thread(target=serve)
        host.start()
        try:
            SessionClient(path).ping()
        finally:
            host.join()


@pytest.mark.parametrize(
    "refusal",
    [
        {"type": "error", "message": "this host speaks version 3 of the protocol", "again": False},
        {"type": "error", "message": "this host speaks version 5 of the protocol", "again": True},
    ],
)
def test_a_host_of_another_version_is_away_to_a_client(tmp_path: Path, refusal: Message) -> None:
    with pytest.raises(HostUnavailable, match="speaks version"):
        ping(tmp_path, refusal)


def test_a_request_that_is_refused_for_good_is_an_error_of_the_client(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="of no known type"):
        ping(tmp_path, {"type": "error", "message": "the request is of no known type", "again": False})
