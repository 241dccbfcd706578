"""Runs a thread's cells, one after the other, in its interpreters; every cell gets its result here.

queue → begin → output, requests → end → what it made is taken, in slices → result
          └ INT at its time limit or on request → grace → KILL
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from executor.bash_interpreter import BashInterpreter
from executor.cell import Attached, Cell, ended_with
from executor.cell_outcome import Outcome, reported
from executor.cell_output import CellOutput
from executor.cell_queue import CellQueue
from executor.cell_run import CellRun
from executor.collect import Collection
from executor.durable import Disk
from executor.ended_cell import EndedCell
from executor.event_loop import Loop, Timer
from executor.frames import Message, ProtocolError, to_json
from executor.home import Home, ThreadHome
from executor.interpreter import Interpreter, Owner
from executor.notices import Notices, notice, words_of
from executor.python_interpreter import PythonInterpreter
from executor.session import Ending, Session
from executor.slices import SlicedWork, Task, Work
from executor.values import CellResult, CellStatus, Language, Limits, Notice
from executor.wire import result_to
from executor.workspace import Workspace

_TRIES_TO_START = 3  # some ends come from outside, as when a zygote takes all with it
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_S, _AGAIN_S = 20.0, 0.5  # how long a full disk is waited for: with each result that is lost, a cell is
_LONG_CELL_S = 0.05  # most cells are shorter, and need no sync but that of their result
Interpreters = tuple[PythonInterpreter, BashInterpreter | None]


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
        self.last_used = time.monotonic()
        self._thread = thread
        self._loop = loop
        self._disk = disk
        self._work = work
        self._home = home
        self._workspace = workspace
        self._output = CellOutput(home)
        self._failed_starts: dict[Language, int] = {"python": 0, "bash": 0}
        """In a row, of subprocesses that a queued cell waited for."""
        self._late: int | None = None
        """Characters printed since the last cell ended; None before the first one of a subprocess."""
        self._ended: EndedCell | None = None
        """The cell that has ended last, until its result is on the disk."""
        self._taking: Task[None] | None = None
        """The taking of what it made, and the writing of its result."""
        self._waiting: list[Callable[[], None]] = []
        """What is called once the variables are kept."""
        self._is_begin_looked_at = False
        """Whether it is soon looked whether a cell runs for long."""
        self._written: str | None = None
        """The result of the cell that has ended, once it is made."""
        self._again: tuple[Timer, Callable[[], None]] | None = None
        """When a full disk is tried again, and how that is done at once and for the last time."""
        self._refusals: dict[str, OSError] = {}
        """Of cells without a result: why the disk refused it."""
        self.python, self.bash = interpreters(self)

    @property
    def interpreters(self) -> tuple[Interpreter, ...]:
        """Python, and bash where it is on."""
        return (self.python,) if self.bash is None else (self.python, self.bash)

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
        self.last_used = time.monotonic()
        interpreter = self._interpreter_of(cell)
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

    def end_interpreters(self, why: Notice) -> None:
        """Kill the subprocesses on purpose."""
        for interpreter in reversed(self.interpreters):
            interpreter.end(why)

    def when_kept(self, call: Callable[[], None]) -> None:
        """Call once the variables of the last cell are kept, or cannot be any more; at once if they are."""
        if self.python.kept:
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
        if self._ended is None:
            call()
        else:
            self._ended.follow.append(call)

    def interpreter_ends(self) -> None:
        """Take now what is left of what a cell made: the working folder may end with the subprocess."""
        self._finish_taking()
        if self._again is not None:
            timer, take_at_last = self._again
            timer.cancel()
            take_at_last()
            self._finish_taking()

    def interpreter_died(self, interpreter: Interpreter, session: Session, ending: Ending, *, unused: bool) -> bool:
        """Whatever ran in the subprocess has ended with it. A cell that could not even begin gets another one."""
        if interpreter is self.python and self.bash is not None:
            self.bash.end_with_python(ending)
        cell = self.cells.running
        if cell is None and unused:
            cell = self._give_up_after_tries(interpreter)
        if cell is None or not _needs(cell, interpreter):
            return False
        cell.line = session.where() if cell.stopped_by is not None else None
        status: CellStatus = cell.stopped_by or ("killed" if ending.by_limit else "died")
        fate = self._interpreter_of(cell).fate()
        self._finish(cell, Outcome(status, ended_with(cell, ending.why, by_limit=ending.by_limit, fate=fate)))
        self.interpreter_ends()
        return True

    def interpreter_gone(self, interpreter: Interpreter) -> None:
        """Let go of the workspace if it was Python, and go on."""
        if interpreter is self.python:
            self._workspace.leave()
            self._output.drop()
            self._call_waiting()
        elif self.python.session is None:
            return  # Python is ending too, and goes on when it has
        self.advance()

    # The parts of the above

    def _finish_taking(self) -> None:
        if self._taking is not None:
            self._taking.finish()

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
            self._disk.sync(self._thread.take_unsynced(), lambda: None)

    def _time_out(self) -> None:
        self.stop("timeout")

    def _interpreter_of(self, cell: Cell) -> Interpreter:
        return self.bash if cell.language == "bash" and self.bash is not None else self.python

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
        if cell is None or not _needs(cell, interpreter):
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
        if self.python.session is not None:
            self._output.open(self.limits)
        self._ended = EndedCell(
            cell,
            outcome,
            duration_s=time.monotonic() - cell.started if cell.started else 0.0,
            stdout=stdout,
            stderr=stderr,
            whole_outputs=(*whole_stdout, *whole_stderr),
            files_read=files_read,
            late=self._late or 0,
            keeps=self.python.keeps_after(cell),
            notifies=self.python.has_to_notify(cell),
        )
        self._late = 0
        self._written = None
        self._begin_to_take(self._ended, changed=changed, until=time.monotonic() + _FULL_S)

    def _begin_to_take(self, ended: EndedCell, *, changed: bool, until: float) -> None:
        collecting = self._workspace.collect(ended.cell.id, self.limits, changed=changed)

        def failed(error: Exception) -> None:
            if not isinstance(error, OSError):
                raise error
            if error.errno not in _FULL or self.python.session is None or time.monotonic() >= until:
                self._give_up_result(ended, error)
            else:  # somebody may make room: nothing is lost until then
                again = partial(self._begin_to_take, ended, changed=changed, until=until)
                last = partial(self._begin_to_take, ended, changed=changed, until=0.0)
                self._again = (self._loop.call_later(_AGAIN_S, again), last)

        self._again = None
        self._taking = self._work.do(self._thread.thread_id, self._take(ended, collecting), lambda _: None, failed)

    def _take(self, ended: EndedCell, collecting: Work[Collection]) -> Work[None]:
        if self._written is None:
            self._written = self._result_of(ended, (yield from collecting))
        self._write_down(ended, self._written)

    def _give_up_result(self, ended: EndedCell, error: OSError) -> None:
        """The disk refused the result of a cell: it counts as died, and nothing of it is in the variables."""
        cell, attached = ended.cell, tuple(ended.cell.attached)
        self._refusals[cell.id] = error
        self.cells.end()
        self.end_interpreters(notice("disk_refused", error=words_of(error)))
        self.python.unsaved.go_on_from_what_is_kept()
        try:
            written = self._thread.result(cell.id)  # what followed it may have failed
            result = self.died_without_result(cell.id) if written is None else to_json(written)
        except OSError:
            self._tell(ended, (), "")
            for one in attached:
                one.refused(error)
        else:
            self._disk.sync(self._thread.take_unsynced(), partial(self._tell, ended, attached, result))
        self._loop.call_later(0.0, self.advance)

    def died_without_result(self, cell_id: str) -> str:
        """Write down that a cell which began has no result; returns what it has instead, as JSON.

        Raises OSError when the disk refuses that too.
        """
        error = self._refusals.get(cell_id)
        why = notice("host_died") if error is None else notice("result_refused", error=words_of(error))
        result = to_json(result_to(CellResult(cell_id, "died", notices=(why,))))
        self._thread.finished(cell_id, result)
        self._refusals.pop(cell_id, None)
        return result

    def _result_of(self, ended: EndedCell, found: Collection) -> str:
        """The result, as JSON. What it says of earlier cells is said once."""
        artifacts = self._workspace.artifacts(found, ended.outcome.figures)
        notices = self._take_notices(ended.cell)
        if ended.cell.started:
            notices += self._workspace.take_untold()
        return to_json(result_to(ended.result(artifacts, found.rejected, notices)))

    def _write_down(self, ended: EndedCell, written: str) -> None:
        """Write the result down, and send it to those who wait for it once a power cut cannot take it."""
        cell = ended.cell
        self.last_used = time.monotonic()
        self._thread.finished(cell.id, written, keeps=ended.keeps, notified=ended.notifies)
        if ended.notifies:
            self.python.unsaved.notified(lives=self.python.session is not None)
        self.cells.end()
        tell = partial(self._tell, ended, tuple(cell.attached), written)
        self._disk.sync([*self._home.take_unsynced(), *self._thread.take_unsynced()], tell)

    def _tell(self, ended: EndedCell, attached: Sequence[Attached], result: str) -> None:
        """Send the result to those who wait for it, and go on with what waits for it."""
        if self._ended is ended:
            self._ended = None
        for one in attached:
            one.result(result)
        for call in ended.follow:
            call()

    def _take_notices(self, cell: Cell) -> Notices:
        """What there is to say of the interpreters since their last cell, if this cell began."""
        used = [interpreter for interpreter in self.interpreters if cell.started and _needs(cell, interpreter)]
        return tuple(said for interpreter in used for said in interpreter.take_notices())

    def _call_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self.when_kept(call)


def _raise(error: Exception) -> None:
    raise error


def _needs(cell: Cell, interpreter: Interpreter) -> bool:
    """Whether a cell cannot run without this interpreter: every cell needs Python, a command also bash."""
    return interpreter.language in ("python", cell.language)
