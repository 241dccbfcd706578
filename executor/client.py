"""The public door: run cells in a thread's subprocess from any process of this machine.

client = SessionClient(Path("/run/threadbook/host.sock"))
client.put("T1:C1:171.1", "sales.csv", Path("sales.csv"))
result = client.run("T1:C1:171.1", "cell-1", "import pandas as pd\\npd.read_csv('sales.csv').shape")
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from executor.address import socket_address
from executor.frames import CLIENT_LIMIT, PROTOCOL_VERSION, Message, ProtocolError, encode, read_message
from executor.packed import Packed, packed_from
from executor.values import CellResult, HostInfo, SessionInfo, Variable, Where
from executor.wire import host_info_from, mapping, result_from, session_info_from, text, variable_from, where_from

OnOutput = Callable[[str, str], None]
OnRequest = Callable[[str, dict[str, Any]], Any]
OnApproval = Callable[[str], bool]
"""Whether a command may run. What it raises is the reason why not."""
LimitsOf = Callable[[str], Mapping[str, float]]
"""A thread's own limits, by the names of `executor.values.Limits`; what is left out is as the host was started."""


class HostUnavailable(Exception):
    """The session host does not answer, ended during the call, or lacks disk or memory. The call may be made again."""


class RequestError(Exception):
    """The session host refused the call; the message says why."""


class SessionClient:
    """Calls to one session host.

    Holds nothing open between calls, so it may be shared by threads and survives a fork.
    """

    def __init__(self, socket_path: Path, limits_of: LimitsOf | None = None) -> None:
        """`limits_of` says what a thread may use; none of it may be above what the host was started with."""
        self._path = Path(socket_path)
        self._limits_of = limits_of

    def ping(self) -> HostInfo:
        """The host's pid, the sandbox around its sessions, and how many live."""
        return host_info_from(mapping(self._call({"type": "ping"}), "host"))

    def put(self, thread_id: str, name: str, source: Path) -> str:
        """Give the thread a copy of a file.

        Returns the name it has in the working folder: cleaned, and unique there.
        """
        with open(source, "rb") as file:
            answer = self._call({"type": "put", "thread": thread_id, "name": name}, file.fileno())
        return text(answer, "value")

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
        `on_output(stream, text)` gets whole lines as they are printed. `on_request(kind, payload)` answers what the
        cell asks ("query", "ask", "note"); what it raises is the cell's answer. Raises HostUnavailable, RequestError.
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
        self, request: Message, on_output: OnOutput | None, answers: Mapping[str, Callable[[Message], Message]]
    ) -> CellResult:
        """Send a cell off and serve what it asks until its result comes."""
        request["output"] = on_output is not None
        if self._limits_of is not None:
            request["limits"] = dict(self._limits_of(str(request["thread"])))
        with self._connect() as peer:
            self._send(peer, request)
            while True:
                message = self._receive(peer)
                if message["type"] == "result":
                    return result_from(mapping(message, "result"))
                if message["type"] == "output" and on_output is not None:
                    on_output(str(message["stream"]), str(message["text"]))
                elif message["type"] in answers:
                    self._send(peer, answers[message["type"]](message))

    def interrupt(self, thread_id: str) -> bool:
        """Stop the thread's running cell; its variables are kept. False when none runs."""
        return self._call({"type": "interrupt", "thread": thread_id})["value"] is True

    def reset(self, thread_id: str) -> None:
        """End the thread's session and forget its variables and the files that cells made.

        Files that people gave stay.
        """
        self._call({"type": "reset", "thread": thread_id})

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

    def pack(self, thread_id: str) -> Packed:
        """What another host needs to go on with the thread, as of its last cell. Waits until that cell's variables are
        kept."""
        return packed_from(mapping(self._call({"type": "pack", "thread": thread_id}), "value"))

    def keep(self, source: Path) -> str:
        """Give the host a content that an `unpack` will name; returns its sha256."""
        with open(source, "rb") as file:
            return text(self._call({"type": "keep"}, file.fileno()), "value")

    def unpack(self, thread_id: str, packed: Packed) -> None:
        """Let the thread go on from what another host packed. A session that it has here is older, and ends."""
        self._call({"type": "unpack", "thread": thread_id, "packed": packed.to_message()})

    def where(self, thread_id: str) -> Where | None:
        """The line that the thread's running cell is in, and for how long it runs. None when nothing runs."""
        value = self._call({"type": "where", "thread": thread_id})["value"]
        return None if value is None else where_from(value)

    def _call(self, request: Message, *descriptors: int) -> Message:
        with self._connect() as peer:
            self._send(peer, request, *descriptors)
            return self._receive(peer)

    @contextmanager
    def _connect(self) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as peer, socket_address(self._path) as address:
            try:
                peer.connect(address)
            except OSError as error:
                raise HostUnavailable(f"no session host answers at {self._path} ({error.strerror})") from error
            yield peer

    def _send(self, peer: socket.socket, message: Message, *descriptors: int) -> None:
        frame = encode({"v": PROTOCOL_VERSION} | message)
        try:
            sent = socket.send_fds(peer, [frame], descriptors) if descriptors else 0
            peer.sendall(frame[sent:])
        except OSError as error:
            raise HostUnavailable("the session host ended during the call") from error

    def _receive(self, peer: socket.socket) -> Message:
        try:
            message = read_message(peer.recv, 4 * CLIENT_LIMIT)
        except (OSError, ProtocolError) as error:
            raise HostUnavailable("the session host ended during the call") from error
        if message is None:
            raise HostUnavailable("the session host ended during the call")
        if message.get("type") == "error" and message.get("again") is True:
            raise HostUnavailable(f"the session host cannot do it now: {text(message, 'message', 4_000)}")
        if message.get("type") == "error":
            raise RequestError(text(message, "message", 4_000))
        return message


def _answer(request: Message, on_request: OnRequest) -> Message:
    reply: Message = {"type": "reply", "id": request["id"], "value": None, "error": None}
    try:
        reply["value"] = on_request(str(request["kind"]), dict(request["payload"]))
        encode(reply)
    except Exception as error:
        reply |= {"value": None, "error": str(error) or type(error).__name__}
    return reply


def _decision(question: Message, approve: OnApproval) -> Message:
    answer: Message = {"type": "approval", "value": False, "error": None}
    try:
        answer["value"] = approve(str(question["command"])) is True
    except Exception as error:
        answer["error"] = str(error) or type(error).__name__
    return answer
