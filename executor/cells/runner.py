"""Runs a thread's cells, one after the other, in its interpreters.

queue → begin → output, requests → end → result (`result_writer.py`)
          └ INT at its time limit or on request → grace → KILL
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from executor.cell import Cell, ended_with
from executor.cells.ended import EndedCell
from executor.cells.outcome import Outcome, reported
from executor.cells.output import CellOutput
from executor.cells.queue import CellQueue
from executor.cells.result_writer import ResultWriter
from executor.cells.run import CellRun
from executor.disk.durable import Disk
from executor.event_loop import Loop
from executor.files.home import Home, ThreadHome
from executor.files.workspace import Workspace
from executor.frames import Message, ProtocolError
from executor.interpreters.base import Interpreter, Owner
from executor.interpreters.thread_interpreters import Interpreters, is_needed
from executor.interpreters.trusted_sync import TrustedSync
from executor.notices import notice
from executor.sessions.session import Ending, Session
from executor.slices import SlicedWork
from executor.values import CellStatus, Language, Limits

_TRIES_TO_START = 3  # some ends come from outside, as when a zygote takes all with it
_LONG_CELL_S = 0.05  # most cells are shorter, and need no sync but that of their result


class CellRunner:
    """One thread's. It owns the queue, and it is the owner that the interpreters report to."""

    def __init__(
        self,
        thread: ThreadHome,
        *,
        loop: Loop,
        disk: Disk,
        work: SlicedWork,
        home: Home,
        workspace: Workspace,
        limits: Limits,
        interpreters: Callable[[Owner], Interpreters],
    ) -> None:
        self.cells = CellQueue()
        self.run: CellRun | None = None
        """The running cell in its subprocess."""
        self.limits = limits
        self._thread = thread
        self._loop = loop
        self._work = work
        self._workspace = workspace
        self._output = CellOutput(home)
        self._failed_starts: dict[Language, int] = {"python": 0, "bash": 0}
        """In a row, of subprocesses that a queued cell waited for."""
        self._late: int | None = None
        """Characters printed since the last cell ended; None before the first one of a subprocess."""
        self._waiting: list[Callable[[], None]] = []
        """What is called once the variables are kept."""
        self._is_begin_looked_at = False
        """Whether it is soon looked whether a cell runs for long."""
        self.interpreters = interpreters(self)
        self.syncs = TrustedSync(thread, disk, self.interpreters)
        self.results = ResultWriter(
            thread,
            loop=loop,
            syncs=self.syncs,
            work=work,
            home=home,
            workspace=workspace,
            cells=self.cells,
            interpreters=self.interpreters,
            limits=lambda: self.limits,
            advance=self.advance,
        )
        self._python = self.interpreters.python

    def use_limits(self, limits: Limits) -> None:
        """From here on. What is built into the sandbox of a subprocess holds from its next start on."""
        before, self.limits = self.limits, limits
        same = (before.output_kb, before.output_file_mb) == (limits.output_kb, limits.output_file_mb)
        if self._output.is_open and self.run is None and not same:
            self._output.open(limits)

    def advance(self) -> None:
        """Begin the next cell if one is queued, none runs, and its interpreter and the workspace are ready."""
        cell = self.cells.next
        if self.cells.running is not None or cell is None:
            return
        self.cells.last_used = time.monotonic()
        interpreter = self.interpreters.of(cell)
        try:
            session = interpreter.take()
        except OSError as error:
            self._refuse(cell, error)
            return
        if session is None or not self._workspace.is_filled:
            return
        if self._begin_next() is None:
            return
        cell.started = time.monotonic()
        self.run = CellRun(self._loop, cell, session, self._time_out)
        self._workspace.watch()
        if session.refused is not None:
            session.refused.take()  # by what an earlier cell left running
        interpreter.begin(cell)
        if not self._is_begin_looked_at:
            self._look_at_begin(_LONG_CELL_S)

    def stop(self, status: CellStatus) -> bool:
        """Interrupt the running cell, and kill its subprocess if it does not stop. False when none runs."""
        if self.run is None:
            return False
        self.run.stop(status, self.limits.cell_grace_s)
        return True

    def when_kept(self, call: Callable[[], None]) -> None:
        """Call once the variables of the last cell are kept, or cannot be any more; at once if they are."""
        if self._python.kept:
            call()
        else:
            self._waiting.append(call)

    # What the interpreters tell

    def interpreter_opened(self, session: Session) -> None:
        """The subprocess of Python is set up: the thread's files go into its workspace."""
        self._failed_starts["python"] = 0
        self._late = None
        self._workspace.enter(session)
        self._output.open(self.limits)
        self._work.do(self._thread.thread_id, self._workspace.fill(), lambda _: self.advance(), _raise)

    def interpreter_ready(self, interpreter: Interpreter) -> None:
        """It takes a cell now, and nothing is left to be kept."""
        self._failed_starts[interpreter.language] = 0
        self._call_waiting()
        self.advance()

    def interpreter_reported(self, interpreter: Interpreter, message: Message) -> None:
        """The running cell has ended."""
        cell, session = self.cells.running, interpreter.session
        if cell is None or session is None:
            raise ProtocolError("it reported a cell that does not run")
        cell.line = session.where()
        session.drain()
        outcome = reported(message, cell, self.limits, () if session.refused is None else session.refused.take())
        if session.newly_killed_for_memory():
            some = notice("some_out_of_memory", limit=self.limits.memory_mb)
            outcome = replace(outcome, notices=(*outcome.notices, some))
        self._finish(cell, outcome)

    def interpreter_asked(self, message: Message) -> None:
        """The running cell asks those who are attached to it."""
        if self.run is not None:
            self.run.ask(message)

    def interpreter_wrote(self, stream: str, data: bytes) -> None:
        """Bytes of stdout or stderr."""
        lines = self._output.feed(stream, data)
        if self.run is None:
            if self._late is not None:
                self._late += len(data.decode(errors="replace"))
        elif lines:
            for attached in self.run.cell.attached:
                attached.output(stream, lines)

    def after_result(self, call: Callable[[], None]) -> None:
        """Call once the result of the cell that has ended is on the disk; at once when none is to come."""
        self.results.after_result(call)

    def sync_failed(self, error: OSError) -> None:
        """The disk refused a sync of what was written for this thread."""
        self.syncs.failed(error)

    def interpreter_ends(self) -> None:
        """Take now what is left of what a cell made: the working folder may end with the subprocess."""
        self.results.finish()

    def interpreter_died(self, interpreter: Interpreter, session: Session, ending: Ending, *, unused: bool) -> bool:
        """Whatever ran in the subprocess has ended with it. A cell that could not even begin gets another one."""
        if interpreter is self._python and self.interpreters.bash is not None:
            self.interpreters.bash.end_with_python(ending)
        cell = self.cells.running
        if cell is None and unused:
            cell = self._give_up_after_tries(interpreter)
        if cell is None or not is_needed(interpreter, cell):
            return False
        cell.line = session.where() if cell.stopped_by is not None else None
        status: CellStatus = cell.stopped_by or ("killed" if ending.by_limit else "died")
        fate = self.interpreters.of(cell).fate()
        self._finish(cell, Outcome(status, ended_with(cell, ending.why, by_limit=ending.by_limit, fate=fate)))
        self.interpreter_ends()
        return True

    def interpreter_gone(self, interpreter: Interpreter) -> None:
        """Let go of the workspace if it was Python, and go on."""
        if interpreter is self._python:
            self._workspace.leave()
            self._output.drop()
            self._call_waiting()
        elif self._python.session is None:
            return  # Python is ending too, and goes on when it has
        self.advance()

    # The parts of the above

    def _look_at_begin(self, after_s: float) -> None:
        self._is_begin_looked_at = True
        self._loop.call_later(after_s, self._sync_begin)

    def _sync_begin(self) -> None:
        """A cell that runs for long has its begin on the disk: it is not run again after a power cut."""
        self._is_begin_looked_at = False
        if self.run is None:
            return
        left_s = self.run.cell.started + _LONG_CELL_S - time.monotonic()
        if left_s > 0:  # it is a later cell: short ones that follow each other share one timer
            self._look_at_begin(left_s)
        else:
            self.syncs.sync(self._thread.take_unsynced(), lambda: None, lambda _: None)

    def _time_out(self) -> None:
        self.stop("timeout")

    def _begin_next(self) -> Cell | None:
        """The next cell, whose begin is written down; None when the disk refuses that, and the cell is dropped."""
        cell = self.cells.begin()
        try:
            cell.number = self._thread.started(cell.id)
        except OSError as error:
            self._refuse(cell, error)
            return None
        return cell

    def _refuse(self, cell: Cell, error: OSError) -> None:
        """A cell cannot begin: whoever waits for it is told why, and may ask for it again."""
        self.cells.drop(cell)
        for one in cell.attached:
            one.refused(error)
        self._loop.call_later(0.0, self.advance)  # with the next one that is queued

    def _give_up_after_tries(self, interpreter: Interpreter) -> Cell | None:
        """The next cell, which will not run, when too many subprocesses in a row ended before it began."""
        cell = self.cells.next
        if cell is None or not is_needed(interpreter, cell):
            return None
        self._failed_starts[interpreter.language] += 1
        if self._failed_starts[interpreter.language] < _TRIES_TO_START:
            return None
        self._failed_starts[interpreter.language] = 0
        return self._begin_next()

    def _finish(self, cell: Cell, outcome: Outcome) -> None:
        """The cell has ended: take what it made, and then write its result down."""
        if self.run is not None:
            self.run.ended()
        self.run = None
        files_read, changed = self._workspace.seen()
        (stdout, whole_stdout), (stderr, whole_stderr) = self._output.take("stdout"), self._output.take("stderr")
        if self._python.session is not None:
            self._output.open(self.limits)
        ended = EndedCell(
            cell,
            outcome,
            duration_s=time.monotonic() - cell.started if cell.started else 0.0,
            stdout=stdout,
            stderr=stderr,
            whole_outputs=(*whole_stdout, *whole_stderr),
            files_read=files_read,
            late=self._late or 0,
            keeps=self._python.keeps_after(cell),
            notifies=self._python.has_to_notify(cell),
        )
        self._late = 0
        self.results.take(ended, changed=changed)

    def _call_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self.when_kept(call)


def _raise(error: Exception) -> None:
    raise error
