"""A client of the session host: the requests it may make, each checked on arrival (PROTOCOL.md, first hop)."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Protocol

from executor.bash_interpreter import COMMAND_LIMIT
from executor.cell import Cell
from executor.durable import Disk
from executor.event_loop import Loop, Timer, Writer
from executor.frames import (
    ANSWERED_VERSIONS,
    CLIENT_LIMIT,
    PROTOCOL_VERSION,
    FrameReader,
    Message,
    OtherVersion,
    ProtocolError,
    encode,
    framed,
)
from executor.home import Home, TooLarge
from executor.linux import is_sealed
from executor.notebook import Notebook
from executor.slices import Result, SlicedWork, Work
from executor.values import HostInfo, Language, Limits
from executor.wire import content_name, integer, mapping, number, optional_text, text, texts

_MANY_CONTENTS = 100_000
_MANY_THREADS = 1_000
_CODE_LIMIT = 4 << 20
_NO_THREAD = ""
"""Whose work it is to take in contents that no thread names yet."""
_BACKLOG_LIMIT = 8 << 20  # live output beyond this is not sent to a client that does not read; the result always is
_PUT_LIMIT = 4 << 30
_PASSES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE}
"""The machine lacks something now, or what it had is gone (ESTALE). The same request may succeed later."""
_CHUNK = 1 << 16
_LAST = frozenset({"done", "pong", "error"})
"""The answers that end a call, beside `result`."""
_ALIVE_S = 0.05  # a client may not ask for it more often


class Served(Protocol):
    """What a client reaches of the host."""

    @property
    def loop(self) -> Loop:
        """The event loop."""

    @property
    def home(self) -> Home:
        """The folder it keeps things in."""

    @property
    def disk(self) -> Disk:
        """What makes files durable."""

    @property
    def work(self) -> SlicedWork:
        """What takes long and is done in slices."""

    def info(self) -> HostInfo:
        """What `ping` answers."""

    def notebook(self, thread_id: str) -> Notebook:
        """The notebook of a thread, opened when it is not."""

    def limits_of(self, message: Message) -> Limits:
        """The limits for the thread of a request. Raises ProtocolError for one that is above the host's maximum."""

    def live(self) -> list[Notebook]:
        """Notebooks with a subprocess."""

    def purge(self, thread_id: str, answer: Callable[[str], None]) -> None:
        """Delete all that is kept of a thread; `answer` gets why that failed, "" when it is done."""

    def disconnected(self, connection: Connection) -> None:
        """A client has gone: cells run on without it."""


class Connection:
    """A client on the unix socket: one call after the other, until it hangs up."""

    def __init__(self, host: Served, peer: socket.socket) -> None:
        self.answers = False
        self.approves = False
        self._host = host
        self._peer = peer
        self._wants_output = False
        self._closed = False
        self.threads: set[str] = set()
        """Those that it has sent cells to."""
        self._thread = ""
        self._alive: Timer | None = None
        self._alive_s = 0.0
        self._calls = 0
        """Those that wait for their last answer."""
        self._reader = FrameReader(CLIENT_LIMIT)
        self._descriptors: list[int] = []
        peer.setblocking(False)
        self._writer = Writer(host.loop, peer.fileno())
        host.loop.watch_read(peer.fileno(), self.read)

    def output(self, stream: str, text: str) -> None:
        """Lines of the cell it is attached to."""
        if self._wants_output and self._writer.backlog < _BACKLOG_LIMIT:
            self._send({"type": "output", "stream": stream, "text": text})

    def approve(self, command: str) -> None:
        """Whether the command it has sent may run."""
        self._send({"type": "approve", "command": command})

    def request(self, number: int, kind: str, payload: Message) -> None:
        """A request of the cell it is attached to."""
        self._send({"type": "request", "id": number, "kind": kind, "payload": payload})

    def result(self, result: str) -> None:
        """The end of the cell it is attached to, as JSON."""
        if not self._closed:
            self._end_call()
            self._writer.send(framed(f'{{"type":"result","result":{result}}}'))

    def refused(self, error: OSError) -> None:
        """The cell it is attached to has no result: the machine refused what it needs."""
        self._refuse(error)

    def _done(self, value: object, notebook: Notebook) -> None:
        """Answer once a power cut cannot take what the request has written."""
        notebook.once_durable(lambda: None if self._closed else self._send({"type": "done", "value": value}))

    def _end_call(self, *, refused: bool = False) -> None:
        """The last answer of a call is sent now. When no other one is under way, the next call finds all as new.

        What is refused may be an answer to a cell, which runs on: it is to hear that its client hangs up.
        """
        self._calls = max(0, self._calls - 1)
        if not self._calls:
            self.answers = self.approves = self._wants_output = False
            self._thread = ""
            if not refused:
                self.threads.clear()

    def _send(self, message: Message) -> None:
        if message["type"] in _LAST:
            self._end_call(refused=message["type"] == "error")
        self._writer.send(encode(message))

    def read(self) -> None:
        """Take in what has come of its call."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._peer, _CHUNK, 4)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        self._descriptors += descriptors
        if not data:
            self._close()
            return
        try:
            for message in self._reader.feed(data):
                self._handle(message)
        except _REFUSED as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        """Say why what was asked for is not done."""
        again = isinstance(error, OtherVersion) or (isinstance(error, OSError) and error.errno in _PASSES)
        if not self._closed:
            self._send({"type": "error", "message": _sentence(error), "again": again})

    def _handle(self, message: Message) -> None:
        is_call = message.get("type") not in ("reply", "approval")
        self._calls += is_call
        if is_call and message.get("v") not in ANSWERED_VERSIONS:
            raise OtherVersion(f"this host speaks version {PROTOCOL_VERSION} of the protocol")
        handler = HANDLERS.get(str(message.get("type")))
        if handler is None:
            raise ProtocolError("the request is of no known type")
        if message.get("alive_s") is not None:
            self._say_alive_every(max(number(message, "alive_s"), _ALIVE_S))
        handler(self, message)

    def _say_alive_every(self, seconds: float) -> None:
        """Tell the client that the host works on, for as long as it waits for an answer.

        Calls that follow each other share the timer: to make one for each would cost more than it does.
        """
        if self._alive is not None:
            if seconds == self._alive_s:
                return
            self._alive.cancel()

        def say() -> None:
            self._alive = None
            if not self._calls:
                return
            if not self._writer.backlog:  # one that reads slowly has something to read
                self._send({"type": "alive"})
            self._say_alive_every(seconds)

        self._alive_s = seconds
        self._alive = self._host.loop.call_later(seconds, say)

    def _ping(self, message: Message) -> None:
        self._send({"type": "pong", "host": asdict(self._host.info())})

    def _run(self, message: Message) -> None:
        self._thread = _thread(message)
        self.threads.add(self._thread)
        self._wants_output = message.get("output") is True
        self.answers = message.get("answers") is True
        code = message.get("code")
        if not isinstance(code, str) or len(code) > _CODE_LIMIT:
            raise ProtocolError(f"a cell is a text of at most {_CODE_LIMIT:,} characters")
        self._submit(message, code, "python")

    def _run_bash(self, message: Message) -> None:
        self._thread = _thread(message)
        self.threads.add(self._thread)
        self._wants_output = message.get("output") is True
        self.approves = message.get("approves") is True
        command = message.get("command")
        if not isinstance(command, str) or len(command) > COMMAND_LIMIT or "\0" in command:
            raise ProtocolError(f"a command is a text of at most {COMMAND_LIMIT:,} characters, without a NUL")
        self._submit(message, command, "bash")

    def _submit(self, message: Message, code: str, language: Language) -> None:
        timeout = None if message.get("timeout_s") is None else number(message, "timeout_s")
        limits = self._host.limits_of(message)
        notebook = self._host.notebook(self._thread)
        notebook.use_limits(limits)
        cell = Cell(text(message, "cell", 500), code, timeout or limits.cell_timeout_s, language, answers=self.answers)
        notebook.submit(cell, self)

    def _approval(self, message: Message) -> None:
        if self._thread and self.approves:
            why = optional_text(message, "error", 1_000)
            self._host.notebook(self._thread).decide(self, approved=message.get("value") is True, why=why)

    def _reply(self, message: Message) -> None:
        file = self._descriptors.pop(0) if message.get("file") is True and self._descriptors else None
        try:
            if self._thread and isinstance(message.get("id"), int):
                error = optional_text(message, "error", 4_000)
                if message.get("file") is True and (file is None or not is_sealed(file)):
                    error = "the rows came without a sealed file; ask again"
                sent = None if error is not None else file
                self._host.notebook(self._thread).reply(message["id"], message.get("value"), error, sent)
        finally:
            if file is not None:
                os.close(file)

    def _put(self, message: Message) -> None:
        name, thread = text(message, "name", 500), _thread(message)
        notebook, restore = self._host.notebook(thread), message.get("restore") is True
        if message.get("sha256") is not None:
            work = notebook.put_held(name, content_name(message), restore=restore)
        else:
            descriptor = self._sent_file()
            work = _closing(descriptor, notebook.put(name, descriptor, _PUT_LIMIT, restore=restore))
        self._host.work.do(thread, work, lambda placed: self._done(placed, notebook), self._refuse)

    def _interrupt(self, message: Message) -> None:
        self._send({"type": "done", "value": self._host.notebook(_thread(message)).interrupt()})

    def _reset(self, message: Message) -> None:
        notebook = self._host.notebook(_thread(message))
        notebook.reset()
        self._done(None, notebook)

    def _purge(self, message: Message) -> None:
        self._host.purge(_thread(message), self._purged)

    def _purged(self, why_not: str) -> None:
        if self._closed:
            return
        if why_not:
            self._send({"type": "error", "message": why_not, "again": True})
        else:
            self._send({"type": "done", "value": None})

    def _undo(self, message: Message) -> None:
        notebook = self._host.notebook(_thread(message))
        self._done(notebook.undo(text(message, "cell", 500)), notebook)

    def _vars(self, message: Message) -> None:
        self._send({"type": "done", "value": self._host.notebook(_thread(message)).variables()})

    def _where(self, message: Message) -> None:
        notebook = self._host.notebook(_thread(message))
        notebook.where(lambda value: None if self._closed else self._send({"type": "done", "value": value}))

    def _export(self, message: Message) -> None:
        notebook = self._host.notebook(_thread(message))
        notebook.export_session(lambda value: None if self._closed else self._send({"type": "done", "value": value}))

    def _keep(self, message: Message) -> None:
        descriptor = self._sent_file()
        work = _closing(descriptor, self._host.home.keep(descriptor, _PUT_LIMIT))
        self._host.work.do(_NO_THREAD, work, self._kept, self._refuse)

    def _sent_file(self) -> int:
        """The open file that came with the request. To read anything else may stop the loop for ever."""
        if not self._descriptors or not stat.S_ISREG(os.fstat(self._descriptors[-1]).st_mode):
            raise ProtocolError("this request comes with an open file")
        return self._descriptors.pop()

    def _kept(self, content: tuple[str, int]) -> None:
        answer = {"type": "done", "value": content[0]}
        self._host.disk.sync(self._host.home.take_unsynced(), lambda: None if self._closed else self._send(answer))

    def _held(self, message: Message) -> None:
        wanted = texts(message, "contents", 64, _MANY_CONTENTS)
        held = [sha256 for sha256 in wanted if self._host.home.holds(content_name({"sha256": sha256}))]
        self._send({"type": "done", "value": held})

    def _unused(self, message: Message) -> None:
        live = {notebook.thread.thread_id for notebook in self._host.live()}
        unused = [name for name in self._host.home.unused(number(message, "for_s")) if name not in live]
        self._send({"type": "done", "value": unused[: min(integer(message, "limit"), _MANY_THREADS)]})

    def _import(self, message: Message) -> None:
        notebook = self._host.notebook(_thread(message))
        notebook.import_session(mapping(message, "session"))
        self._done(None, notebook)

    def _sessions(self, message: Message) -> None:
        live = [
            {"thread_id": notebook.thread.thread_id, "pid": notebook.session.pid, "cell_id": notebook.running}
            for notebook in self._host.live()
            if notebook.session is not None
        ]
        self._send({"type": "done", "value": live})

    def _close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._host.loop.forget(self._peer.fileno())
        self._closed = True
        if self._alive is not None:
            self._alive.cancel()
        self._peer.close()
        self._host.disconnected(self)


HANDLERS: Mapping[str, Callable[[Connection, Message], None]] = {
    "ping": Connection._ping,
    "run": Connection._run,
    "bash": Connection._run_bash,
    "approval": Connection._approval,
    "reply": Connection._reply,
    "put": Connection._put,
    "interrupt": Connection._interrupt,
    "reset": Connection._reset,
    "purge": Connection._purge,
    "undo": Connection._undo,
    "sessions": Connection._sessions,
    "vars": Connection._vars,
    "where": Connection._where,
    "export": Connection._export,
    "held": Connection._held,
    "unused": Connection._unused,
    "keep": Connection._keep,
    "import": Connection._import,
}
"""The requests that a host answers."""

_REFUSED = (ProtocolError, TooLarge, OSError, TypeError, ValueError, LookupError, AttributeError)
"""What a request may be refused with. The last four are errors of ours, which must not end the host either."""


def _closing(descriptor: int, work: Work[Result]) -> Work[Result]:
    """The same work; when it is over, the descriptor is closed."""
    try:
        return (yield from work)
    finally:
        os.close(descriptor)


def _thread(message: Message) -> str:
    thread_id = text(message, "thread", 200)
    if not thread_id:
        raise ProtocolError("thread is empty")
    if thread_id in (".", ".."):
        raise ProtocolError("a thread has a name of its own")
    return thread_id


def _sentence(error: Exception) -> str:
    return "the file is larger than this host takes" if isinstance(error, TooLarge) else str(error)
