"""The running cell in its subprocess: its time limit, how it is stopped, what it asks, and where it is."""

from __future__ import annotations

import time
from collections.abc import Callable

from executor.cell import Attached, Cell, source_of
from executor.event_loop import Loop, Timer
from executor.frames import Message, ProtocolError
from executor.notices import notice
from executor.sessions.session import Session
from executor.values import CellStatus
from executor.wire import integer, mapping, one_of

REQUEST_KINDS = ("query", "tool")
NO_JOB = "nobody is attached to this cell who could answer; continue without it or try again in the next cell"
_WAIT_FOR_JOB_S = 30.0
"""A job that was killed is followed by another one, which attaches to the cell within this time."""
_AGAIN_S = (0.2, 1.0, 3.0)
"""When it is interrupted again: Python misses a signal that comes just before it waits in the kernel."""
_WHERE_S = 0.03  # a signal handler in C answers well within it


class CellRun:
    """One cell from its begin to its end."""

    def __init__(self, loop: Loop, cell: Cell, session: Session, on_timeout: Callable[[], None]) -> None:
        self.cell = cell
        self._loop = loop
        self._session = session
        self._request: tuple[int, str, Message] | None = None
        """The cell's request that nobody answered yet: number, kind, payload."""
        self._asked: Attached | None = None
        """Who was asked."""
        self._deadline = loop.call_later(cell.timeout_s, on_timeout)
        self._again: list[Timer] = []

    def stop(self, status: CellStatus, grace_s: float) -> None:
        """Interrupt the cell; kill its subprocess when it does not stop within the grace time."""
        if self.cell.stopped_by is not None:
            return
        self.cell.stopped_by = status
        self._deadline.cancel()
        self._session.ask_where()
        self._session.interrupt()
        if self.cell.language == "python":  # the runner of a shell looks by itself for commands that missed it
            self._again = [self._loop.call_later(after, self._session.interrupt) for after in _AGAIN_S]
        self._deadline = self._loop.call_later(grace_s, lambda: self._session.kill(notice("deaf")))

    def ended(self) -> None:
        """The cell has ended: no time limit holds any more."""
        self._deadline.cancel()
        for timer in self._again:
            timer.cancel()

    def ask(self, message: Message) -> None:
        """Pass a request of the cell on to the first client that answers. Raises ProtocolError for a malformed one."""
        number = integer(message, "id")
        if self._request is not None:
            raise ProtocolError("it asked before it was answered")
        self._request = (number, one_of(message, "kind", REQUEST_KINDS), dict(mapping(message, "payload")))
        if not self._forward():
            self.reply(number, None, NO_JOB)

    def attached_changed(self) -> None:
        """A client came or went. A request whose client has gone waits a while for another one that answers."""
        if self._request is None or self._asked in self.cell.attached:
            return
        self._asked = None
        if not self._forward():
            number = self._request[0]
            self._loop.call_later(_WAIT_FOR_JOB_S, lambda: self._nobody_came(number))

    def _forward(self) -> bool:
        """Ask the first client that answers; False when there is none."""
        self._asked = next((attached for attached in self.cell.attached if attached.answers), None)
        if self._asked is None or self._request is None:
            return False
        self._asked.request(*self._request)
        return True

    def _nobody_came(self, number: int) -> None:
        if self._asked is None:
            self.reply(number, None, NO_JOB)

    def reply(self, number: int, value: object, error: str | None, file: int | None = None) -> None:
        """Pass the answer to the pending request on to the cell. An answer to another request is dropped.

        `file` is an open file that goes with it; the caller closes it.
        """
        if self._request is None or self._request[0] != number:
            return
        self._request = self._asked = None
        if file is not None:
            try:
                self._session.send_file(number, file)
            except ProtocolError as error_of_cell:
                self._session.kill(notice("protocol", error=str(error_of_cell)))
                return
        answer = {"type": "reply", "id": number, "value": value, "error": error}
        self._session.send(answer if file is None else answer | {"file": True})

    def where(self, answer: Callable[[Message], None]) -> None:
        """Ask where the cell is; `answer` gets it a moment later."""
        self._session.ask_where()
        self._loop.call_later(_WHERE_S, lambda: answer(self._where()))

    def _where(self) -> Message:
        cell, line = self.cell, self._session.where()
        seconds = round(time.monotonic() - cell.started, 3)
        return {"cell_id": cell.id, "line": line, "source": source_of(cell, line), "seconds": seconds}
