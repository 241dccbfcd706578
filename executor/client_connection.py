"""A client of the session host: its socket, its calls, and what it hears (PROTOCOL.md, first hop)."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Mapping
from typing import Protocol

from executor.disk.durable import Disk
from executor.event_loop import Loop, Timer, Writer
from executor.files.home import Home, TooLarge
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
from executor.notebook import Notebook
from executor.slices import SlicedWork
from executor.values import HostInfo, Limits
from executor.wire import number

_BACKLOG_LIMIT = 8 << 20  # live output beyond this is not sent to a client that does not read; the result always is
_PASSES = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE),
    }
)
"""The machine lacks something now, its disk takes nothing (the kernel makes a broken one read-only: EROFS), or what it
had is gone (ESTALE). The same request may succeed later."""
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

    def __init__(self, host: Served, peer: socket.socket, handlers: Mapping[str, Handler]) -> None:
        """`handlers` has what is done for each type of request."""
        self.answers = False
        self.approves = False
        self.host = host
        self._handlers = handlers
        self._peer = peer
        self._wants_output = False
        self._closed = False
        self.threads: set[str] = set()
        """Those that it has sent cells to."""
        self.thread = ""
        """The one whose cell it is attached to."""
        self._alive: Timer | None = None
        self._alive_s = 0.0
        self._calls = 0
        """Those that wait for their last answer."""
        self._reader = FrameReader(CLIENT_LIMIT)
        self.descriptors: list[int] = []
        """Open files that came with requests, and that none has taken yet."""
        peer.setblocking(False)
        self._writer = Writer(host.loop, peer.fileno())
        host.loop.watch_read(peer.fileno(), self.read)

    def output(self, stream: str, text: str) -> None:
        """Lines of the cell it is attached to."""
        if self._wants_output and self._writer.backlog < _BACKLOG_LIMIT:
            self.send({"type": "output", "stream": stream, "text": text})

    def approve(self, command: str) -> None:
        """Whether the command it has sent may run."""
        self.send({"type": "approve", "command": command})

    def request(self, number: int, kind: str, payload: Message) -> None:
        """A request of the cell it is attached to."""
        self.send({"type": "request", "id": number, "kind": kind, "payload": payload})

    def result(self, result: str) -> None:
        """The end of the cell it is attached to, as JSON."""
        if not self._closed:
            self._end_call()
            self._writer.send(framed(f'{{"type":"result","result":{result}}}'))

    def refused(self, error: OSError) -> None:
        """The cell it is attached to has no result: the machine refused what it needs."""
        self.refuse(error)

    def attach(self, thread_id: str, message: Message) -> None:
        """It sends a cell to this thread, and is attached to it."""
        self.thread = thread_id
        self.threads.add(thread_id)
        self._wants_output = message.get("output") is True

    def answer(self, value: object) -> None:
        """Answer a call with this value, if the client is still there."""
        if not self._closed:
            self.send({"type": "done", "value": value})

    def answer_once_durable(self, value: object, notebook: Notebook) -> None:
        """Answer once a power cut cannot take what the request has written."""
        notebook.once_durable(lambda: self.answer(value), self.refuse)

    def purged(self, why_not: str) -> None:
        """Answer a purge, "" for one that is done. What is left may be removed later."""
        if not why_not:
            self.answer(None)
        elif not self._closed:
            self.send({"type": "error", "message": why_not, "again": True})

    def _end_call(self, *, refused: bool = False) -> None:
        """The last answer of a call is sent now. When no other one is under way, the next call finds all as new.

        What is refused may be an answer to a cell, which runs on: it is to hear that its client hangs up.
        """
        self._calls = max(0, self._calls - 1)
        if not self._calls:
            self.answers = self.approves = self._wants_output = False
            self.thread = ""
            if not refused:
                self.threads.clear()

    def send(self, message: Message) -> None:
        """Send a message; some kinds are the last answer of a call."""
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
        self.descriptors += descriptors
        if not data:
            self._close()
            return
        try:
            for message in self._reader.feed(data):
                self._handle(message)
        except _REFUSED as error:
            self.refuse(error)

    def refuse(self, error: Exception) -> None:
        """Say why what was asked for is not done."""
        again = isinstance(error, OtherVersion) or (isinstance(error, OSError) and error.errno in _PASSES)
        if not self._closed:
            self.send({"type": "error", "message": _sentence(error), "again": again})

    def _handle(self, message: Message) -> None:
        is_call = message.get("type") not in ("reply", "approval")
        self._calls += is_call
        if is_call and message.get("v") not in ANSWERED_VERSIONS:
            raise OtherVersion(f"this host speaks version {PROTOCOL_VERSION} of the protocol")
        handler = self._handlers.get(str(message.get("type")))
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
                self.send({"type": "alive"})
            self._say_alive_every(seconds)

        self._alive_s = seconds
        self._alive = self.host.loop.call_later(seconds, say)

    def _close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.host.loop.forget(self._peer.fileno())
        self._closed = True
        if self._alive is not None:
            self._alive.cancel()
        self._peer.close()
        self.host.disconnected(self)


Handler = Callable[[Connection, Message], None]
"""What is done for a request. It may raise: the client is told."""

_REFUSED = (ProtocolError, TooLarge, OSError, TypeError, ValueError, LookupError, AttributeError)
"""What a request may be refused with. The last four are errors of ours, which must not end the host either."""


def _sentence(error: Exception) -> str:
    return "the file is larger than this host takes" if isinstance(error, TooLarge) else str(error)
