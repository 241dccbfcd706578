"""The public interface: run cells in a thread's subprocess from any process of this machine.

client = SessionClient(Path("/run/threadbook/host.sock"))
client.put("T1:C1:171.1", "sales.csv", Path("sales.csv"))
result = client.run("T1:C1:171.1", "cell-1", "import pandas as pd\\npd.read_csv('sales.csv').shape")
"""

from __future__ import annotations

import os
import select
import socket
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from executor.files.exported import ExportedSession, exported_session_from
from executor.frames import CLIENT_LIMIT, PROTOCOL_VERSION, Message, ProtocolError, encode, read_message
from executor.socket_address import socket_address
from executor.values import CellResult, HostInfo, SessionInfo, Variable, Where
from executor.wire import host_info_from, mapping, result_from, session_info_from, text, variable_from, where_from

OnOutput = Callable[[str, str], None]
OnRequest = Callable[[str, dict[str, Any]], Any]
"""The answer to a request of a cell: a value for JSON, or `WithFile`."""
OnApproval = Callable[[str], bool]
"""Whether a command may run. What it raises is the reason why not."""
LimitsOf = Callable[[str], Mapping[str, float]]
"""A thread's own limits, by the names of `executor.values.Limits`; what is left out is as the host was started."""


ANSWER_S = 20.0
"""A session host that is silent for so long during a call is stuck. One that works says so several times meanwhile."""
_SLOWEST_COPY = 10_000_000
"""Bytes per second. While the host copies a file it says nothing."""
_ALIVES = 4
_KEPT = 4
"""Connections that a client keeps open between calls. More are opened while more of its threads call."""
_OLDER_HOST = "this host speaks version 3 of the protocol"
"""How a host of version 3 refuses a newer client. Later ones say with `again` that the call may be made again."""


@dataclass(frozen=True, slots=True)
class WithFile:
    """An answer to a cell that comes with an open file: a sealed one in memory. It is closed here once it is sent."""

    value: Any
    descriptor: int


@dataclass(frozen=True, slots=True)
class _Reply:
    message: Message
    descriptor: int | None = None


class HostUnavailable(Exception):
    """The session host does not answer, ended during the call, lacks disk or memory, or is of another version.

    The call may be made again.
    """


class RequestError(Exception):
    """The session host refused the call; the message says why."""


class SessionClient:
    """Calls to one session host.

    It may be shared by threads and survives a fork. A few connections stay open between calls.
    """

    def __init__(
        self, socket_path: Path, limits_of: LimitsOf | None = None, *, answer_s: float = ANSWER_S, keeps: int = _KEPT
    ) -> None:
        """`limits_of` says what a thread may use; none of it may be above what the host was started with.

        A host that says nothing for `answer_s` seconds during a call is unavailable. With `keeps` 0 each call opens a
        connection: it fails when no new client reaches the host any more.
        """
        self._path = Path(socket_path)
        self._limits_of = limits_of
        self._answer_s = answer_s
        self._keeps = keeps
        self._kept: list[tuple[int, socket.socket]] = []
        """Connections that wait for the next call, each with the process that opened it."""
        weakref.finalize(self, _close_all, self._kept)

    def ping(self) -> HostInfo:
        """The host's pid, the sandbox around its sessions, and how many live."""
        return host_info_from(mapping(self._call({"type": "ping"}), "host"))

    def put(self, thread_id: str, name: str, source: Path, *, restore: bool = False) -> str:
        """Give the thread a copy of a file.

        Returns the name it has in the working folder: cleaned, and unique there. With `restore`, a file that the thread
        had, and that a cell has changed or removed, is left alone: "".
        """
        with open(source, "rb") as file:
            answer = self._call({"type": "put", "thread": thread_id, "name": name} | _restoring(restore), file.fileno())
        return text(answer, "value")

    def held(self, contents: Sequence[str]) -> set[str]:
        """Those of the contents, by sha256, that the host has already: they need not be sent."""
        value = self._call({"type": "held", "contents": list(contents)})["value"] if contents else []
        return {str(sha256) for sha256 in value}

    def unused(self, for_s: float, limit: int = 100) -> list[str]:
        """Threads that this host keeps, without a subprocess, and in which no cell began or ended for `for_s` seconds.

        The longest unused come first; at most `limit`, and at most 1,000.
        """
        value = self._call({"type": "unused", "for_s": for_s, "limit": limit})["value"]
        return [str(thread_id) for thread_id in value]

    def put_held(self, thread_id: str, name: str, sha256: str, *, restore: bool = False) -> str:
        """Like `put`, of a content that the host has already. Raises RequestError when it has not."""
        message = {"type": "put", "thread": thread_id, "name": name, "sha256": sha256} | _restoring(restore)
        return text(self._call(message), "value")

    def run(
        self,
        thread_id: str,
        cell_id: str,
        code: str,
        *,
        timeout_s: float | None = None,
        on_output: OnOutput | None = None,
        on_request: OnRequest | None = None,
    ) -> CellResult:
        """Run a cell and wait for its end; a session is started when the thread has none.

        A cell id runs once: asked again, a finished cell gives its stored result, a running one is waited for.
        `on_output(stream, text)` gets whole lines as they are printed. With `on_request(kind, payload)` the cell has
        `query` and its like, and this answers them; what it raises is the cell's answer. Raises HostUnavailable,
        RequestError.
        """
        request: Message = {"type": "run", "thread": thread_id, "cell": cell_id, "code": code, "timeout_s": timeout_s}
        request |= {"answers": on_request is not None}
        answers = {"request": partial(_answer, on_request=on_request)} if on_request is not None else {}
        return self._run(request, on_output, answers)

    def bash(
        self,
        thread_id: str,
        cell_id: str,
        command: str,
        *,
        approve: OnApproval | None = None,
        timeout_s: float | None = None,
        on_output: OnOutput | None = None,
    ) -> CellResult:
        """Run a command in the thread's shell and wait for its end, after `approve(command)` said yes.

        A shell is started when the thread has none; its variables, functions and folder stay for the next command.
        Without an approver the answer is no: the result is "killed" with the reason as its notice, and nothing has
        run. As with `run`, an id runs once. Raises HostUnavailable, and RequestError when bash is off on this host.
        """
        request: Message = {"type": "bash", "thread": thread_id, "cell": cell_id, "command": command}
        request |= {"timeout_s": timeout_s, "approves": approve is not None}
        answers = {"approve": partial(_decision, approve=approve)} if approve is not None else {}
        return self._run(request, on_output, answers)

    def _run(
        self, request: Message, on_output: OnOutput | None, answers: Mapping[str, Callable[[Message], _Reply]]
    ) -> CellResult:
        """Send a cell off and serve what it asks until its result comes."""
        request["output"] = on_output is not None
        if self._limits_of is not None:
            request["limits"] = dict(self._limits_of(str(request["thread"])))
        with self._connection(self._answer_s) as peer:
            self._send(peer, request)
            while True:
                message = self._receive(peer)
                if message["type"] == "result":
                    return result_from(mapping(message, "result"))
                if message["type"] == "output" and on_output is not None:
                    on_output(str(message["stream"]), str(message["text"]))
                elif message["type"] in answers:
                    self._reply(peer, answers[message["type"]](message))

    def _reply(self, peer: socket.socket, reply: _Reply) -> None:
        if reply.descriptor is None:
            self._send(peer, reply.message)
            return
        try:
            self._send(peer, reply.message, reply.descriptor)
        finally:
            os.close(reply.descriptor)

    def interrupt(self, thread_id: str) -> bool:
        """Stop the thread's running cell; its variables are kept. False when none runs."""
        return self._call({"type": "interrupt", "thread": thread_id})["value"] is True

    def reset(self, thread_id: str) -> None:
        """End the thread's session and forget its variables and the files that cells made.

        Files that people gave stay.
        """
        self._call({"type": "reset", "thread": thread_id})

    def purge(self, thread_id: str) -> None:
        """Delete for good all that this host has of the thread, also what people gave. A running cell is killed.

        Asked again nothing changes. Raises HostUnavailable when a part of it could not be removed yet.
        """
        self._call({"type": "purge", "thread": thread_id})

    def undo(self, thread_id: str, cell_id: str) -> bool:
        """Go back to before a cell, the last one that left anything: variables and files are as they were.

        False when that is not kept: only the last cell can be undone. Asked again nothing changes. Files that people
        gave stay. Raises RequestError while a cell waits or runs, HostUnavailable.
        """
        return self._call({"type": "undo", "thread": thread_id, "cell": cell_id})["value"] is True

    def sessions(self) -> list[SessionInfo]:
        """The sessions that are alive."""
        return [session_info_from(item) for item in self._call({"type": "sessions"})["value"]]

    def vars(self, thread_id: str) -> list[Variable]:
        """The variables of the thread after its last cell, also while its session is at rest. Modules are left out."""
        return [variable_from(item) for item in self._call({"type": "vars", "thread": thread_id})["value"]]

    def export_session(self, thread_id: str) -> ExportedSession:
        """What another host needs to go on with the thread, as of its last cell. Waits until that cell's variables are
        kept."""
        return exported_session_from(mapping(self._call({"type": "export", "thread": thread_id}), "value"))

    def keep(self, source: Path) -> str:
        """Give the host a content that an `import_session` will name; returns its sha256."""
        with open(source, "rb") as file:
            return text(self._call({"type": "keep"}, file.fileno()), "value")

    def import_session(self, thread_id: str, session: ExportedSession) -> None:
        """Let the thread go on from what another host exported. A session that it has here is older, and ends.

        Raises HostUnavailable when the host does not have one of the contents (any more), and has changed nothing then.
        """
        self._call({"type": "import", "thread": thread_id, "session": session.to_message()})

    def where(self, thread_id: str) -> Where | None:
        """The line that the thread's running cell is in, and for how long it runs. None when nothing runs."""
        value = self._call({"type": "where", "thread": thread_id})["value"]
        return None if value is None else where_from(value)

    def _call(self, request: Message, *descriptors: int) -> Message:
        copied = sum(os.fstat(descriptor).st_size for descriptor in descriptors)
        with self._connection(self._answer_s + copied / _SLOWEST_COPY) as peer:
            self._send(peer, request, *descriptors)
            return self._receive(peer)

    @contextmanager
    def _connection(self, answer_s: float) -> Iterator[socket.socket]:
        """A connection for one call, kept for the next one when the call has its last answer."""
        pid, peer = os.getpid(), self._take_kept() or self._connect()
        try:
            peer.settimeout(answer_s)  # of each send and each read
            yield peer
        except BaseException:
            _let_go(pid, peer)
            raise
        if len(self._kept) < self._keeps:
            self._kept.append((pid, peer))
        else:
            _let_go(pid, peer)

    def _take_kept(self) -> socket.socket | None:
        """A connection that still leads to a host. To call through one that has ended would lose the call."""
        while self._kept:
            try:
                pid, peer = self._kept.pop()
            except IndexError:  # another thread was faster
                break
            if pid == os.getpid() and _is_silent(peer):
                return peer
            _let_go(pid, peer)
        return None

    def _connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.settimeout(self._answer_s)
            with socket_address(self._path) as address:
                peer.connect(address)
        except OSError as error:
            peer.close()
            raise HostUnavailable(f"no session host answers at {self._path} ({error.strerror})") from error
        return peer

    def _send(self, peer: socket.socket, message: Message, *descriptors: int) -> None:
        frame = encode({"v": PROTOCOL_VERSION, "alive_s": self._answer_s / _ALIVES} | message)
        try:
            sent = socket.send_fds(peer, [frame], descriptors) if descriptors else 0
            peer.sendall(frame[sent:])
        except TimeoutError as error:
            raise HostUnavailable("the session host takes no request; it may be stuck") from error
        except OSError as error:
            raise HostUnavailable("the session host ended during the call") from error

    def _receive(self, peer: socket.socket) -> Message:
        try:
            while (message := read_message(peer.recv, 4 * CLIENT_LIMIT)) == {"type": "alive"}:
                pass
        except TimeoutError as error:
            raise HostUnavailable("the session host does not answer; it may be stuck") from error
        except (OSError, ProtocolError) as error:
            raise HostUnavailable("the session host ended during the call") from error
        if message is None:
            raise HostUnavailable("the session host ended during the call")
        if message.get("type") == "error":
            why = text(message, "message", 4_000)
            if message.get("again") is True or why == _OLDER_HOST:
                raise HostUnavailable(f"the session host cannot do it now: {why}")
            raise RequestError(why)
        return message


def _is_silent(peer: socket.socket) -> bool:
    """Whether nothing has come between two calls: neither the host's end nor anything that no call waits for."""
    waiting = select.poll()
    waiting.register(peer, select.POLLIN)
    return not waiting.poll(0)


def _close_all(kept: list[tuple[int, socket.socket]]) -> None:
    for pid, peer in kept:
        _let_go(pid, peer)


def _let_go(pid: int, peer: socket.socket) -> None:
    """Hang up as the process that opened it. Another one that was forked meanwhile only closes its copy.

    The host hears of no close while a forked process has a copy.
    """
    if pid == os.getpid():
        with suppress(OSError):  # the host has ended
            peer.shutdown(socket.SHUT_RDWR)
    peer.close()


def _restoring(restore: bool) -> Message:
    return {"restore": True} if restore else {}


def _answer(request: Message, on_request: OnRequest) -> _Reply:
    reply: Message = {"type": "reply", "id": request["id"], "value": None, "error": None}
    descriptor: int | None = None
    try:
        value = on_request(str(request["kind"]), dict(request["payload"]))
        if isinstance(value, WithFile):
            descriptor = value.descriptor
            reply |= {"value": value.value, "file": True}
        else:
            reply["value"] = value
        encode(reply)
    except Exception as error:
        if descriptor is not None:
            os.close(descriptor)
        return _Reply(
            {"type": "reply", "id": request["id"], "value": None, "error": str(error) or type(error).__name__}
        )
    return _Reply(reply, descriptor)


def _decision(question: Message, approve: OnApproval) -> _Reply:
    answer: Message = {"type": "approval", "value": False, "error": None}
    try:
        answer["value"] = approve(str(question["command"])) is True
    except Exception as error:
        answer["error"] = str(error) or type(error).__name__
    return _Reply(answer)
