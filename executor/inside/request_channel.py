"""How a request of a cell reaches the host, and how the reply and its file come back. One at a time, while a cell runs.

A cell may close descriptors and fork, and its threads may outlive it. So the names that are needed here are kept, and
what is asked after the end of a cell is refused.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from executor.frames import CLIENT_LIMIT, HEADER, SMALL_LIMIT, Message, ProtocolError, decode, encode, read_message
from executor.inside.host_requests import RequestRefused

_close, _receive_files = os.close, socket.recv_fds
_FRAME_BYTES = 1_000


class RequestChannel:
    """Sends requests through the runner's descriptors, and waits for each reply."""

    def __init__(
        self,
        send: Callable[[Message], None],
        receive: Callable[[int], bytes],
        leave_if_forked: Callable[[], None],
    ) -> None:
        """`leave_if_forked` ends a process that a cell forked: it must not ask for its parent."""
        self._send = send
        self._receive = receive
        self._leave_if_forked = leave_if_forked
        self._lock = threading.Lock()
        self._is_open = False
        self._sent = 0
        self._unanswered: int | None = None
        """A request that was interrupted before its reply came; the host takes no other one until then."""
        self._files: socket.socket | None = None
        """Where the files of replies come from."""

    def take_files_from(self, files: socket.socket) -> None:
        """From here on files that go with replies come through this socket."""
        files.setblocking(False)  # the host sends the file first: what is not there does not come
        self._files = files

    def open(self) -> None:
        """A cell begins: what it asks is answered."""
        self._is_open, self._unanswered = True, None

    def close(self) -> None:
        """The cell has ended."""
        with self._lock:  # a thread that the cell left behind would take the next cell for its reply
            self._is_open = False

    def exchange(self, kind: str, payload: Mapping[str, Any]) -> tuple[Any, int | None]:
        """The value of the reply, and the open file that came with it, which the caller closes. Raises RequestRefused.

        Raises ProtocolError when the host has gone.
        """
        self._leave_if_forked()
        if len(encode({"payload": payload})) > SMALL_LIMIT - _FRAME_BYTES:
            raise RequestRefused(f"a request may have {SMALL_LIMIT >> 10} KB")
        with self._lock:
            if not self._is_open:
                raise RequestRefused("the cell has ended: what its threads still ask is not answered")
            if self._unanswered is not None:
                self._await_reply(self._unanswered)
            self._take_file(0)
            self._sent += 1
            number = self._unanswered = self._sent
            self._send({"type": "request", "id": number, "kind": kind, "payload": payload})
            reply = self._await_reply(number)
            file = self._take_file(number)
        if reply.get("error") is not None:
            raise RequestRefused(str(reply["error"]))
        if reply.get("file") is True and file is None:
            raise RequestRefused("the rows did not arrive; ask again")
        return reply.get("value"), file

    def _await_reply(self, number: int) -> Message:
        while True:
            reply = read_message(self._receive, CLIENT_LIMIT)
            if reply is None:
                raise ProtocolError("the session host has gone")
            if reply.get("type") == "reply" and reply.get("id") == number:
                self._unanswered = None
                return reply

    def _take_file(self, number: int) -> int | None:
        """The open file that came with the reply of this number. Those of replies that nobody took are closed."""
        while self._files is not None:
            try:
                packet, descriptors, _, _ = _receive_files(self._files, _FRAME_BYTES, 1)
            except OSError:  # none is there
                return None
            if not packet:
                return None
            if descriptors and decode(packet[HEADER.size :]).get("id") == number:
                return descriptors[0]
            for descriptor in descriptors:
                _close(descriptor)
        return None
