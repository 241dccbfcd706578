"""Takes what a cell made, once it has ended, and writes its result down: nothing of it is lost, also on a full disk.

the cell has ended → what it made is taken, in slices → its result is on the disk → whoever waits for it is told
                     └ a full disk is tried again ────┘└ refused for good: it died, and its variables are dropped
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Sequence
from functools import partial

from executor.cell import Attached
from executor.cells.ended import EndedCell
from executor.cells.queue import CellQueue
from executor.event_loop import Loop, Timer
from executor.files.collect import Collection
from executor.files.home import Home, ThreadHome
from executor.files.workspace import Workspace
from executor.frames import to_json
from executor.interpreters.thread_interpreters import Interpreters
from executor.interpreters.trusted_sync import TrustedSync
from executor.notices import notice, words_of
from executor.slices import SlicedWork, Task, Work
from executor.values import CellResult, Limits
from executor.wire import result_to

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_S, _AGAIN_S = 20.0, 0.5  # how long a full disk is waited for: with each result that is lost, a cell is

_ABOUT = 0.95


class ResultWriter:
    """One thread's. It has one ended cell at a time: the next one begins when the result of this one is written."""

    def __init__(
        self,
        thread: ThreadHome,
        *,
        loop: Loop,
        syncs: TrustedSync,
        work: SlicedWork,
        home: Home,
        workspace: Workspace,
        cells: CellQueue,
        interpreters: Interpreters,
        limits: Callable[[], Limits],
        advance: Callable[[], None],
    ) -> None:
        """`advance` begins the next cell after a result was given up; otherwise the interpreter that is ready does."""
        self._thread = thread
        self._loop = loop
        self._syncs = syncs
        self._work = work
        self._home = home
        self._workspace = workspace
        self._cells = cells
        self._interpreters = interpreters
        self._python = interpreters.python
        self._limits = limits
        self._advance = advance
        self._ended: EndedCell | None = None
        """The cell that has ended last, until its result is on the disk."""
        self._taking: Task[None] | None = None
        """The taking of what it made, and the writing of its result."""
        self._written: str | None = None
        """Its result, once it is made."""
        self._again: tuple[Timer, Callable[[], None]] | None = None
        """When a full disk is tried again, and how that is done at once and for the last time."""
        self._too_long: int | None = None
        """Characters of a result that waited in vain for room on the disk. None once one as long was written."""

    def take(self, ended: EndedCell, *, changed: bool) -> None:
        """Take what the cell made, and then write its result down. `changed`: it may have changed its files."""
        self._ended = ended
        self._written = None
        self._begin_to_take(ended, changed=changed, until=time.monotonic() + _FULL_S)

    def after_result(self, call: Callable[[], None]) -> None:
        """Call once the result of the cell that has ended is on the disk; at once when none is to come."""
        if self._ended is None:
            call()
        else:
            self._ended.follow.append(call)

    def finish(self) -> None:
        """Take now what is left of what a cell made: the working folder may end with the subprocess."""
        self._finish_taking()
        if self._again is not None:
            timer, take_at_last = self._again
            timer.cancel()
            take_at_last()
            self._finish_taking()

    def died_without_result(self, cell_id: str) -> str:
        """Write down that a cell which began has no result; returns what it has instead, as JSON.

        Raises OSError when the disk refuses that too.
        """
        why = self._syncs.refusals.get(cell_id, notice("host_died"))
        result = to_json(result_to(CellResult(cell_id, "died", notices=(why,))))
        self._thread.finished(cell_id, result)
        self._syncs.result_written(cell_id)
        self._syncs.refusals.pop(cell_id, None)
        return result

    def _finish_taking(self) -> None:
        if self._taking is not None:
            self._taking.finish()

    def _begin_to_take(self, ended: EndedCell, *, changed: bool, until: float) -> None:
        collecting = self._workspace.collect(ended.cell.id, self._limits(), changed=changed)

        def failed(error: Exception) -> None:
            if not isinstance(error, OSError):
                raise error
            if error.errno not in _FULL or self._python.session is None or self._is_in_vain(until):
                self._give_up(ended, error)
            else:  # somebody may make room: nothing is lost until then
                again = partial(self._begin_to_take, ended, changed=changed)
                timer = self._loop.call_later(_AGAIN_S, partial(again, until=until))
                self._again = (timer, partial(again, until=0.0))

        self._again = None
        self._taking = self._work.do(self._thread.thread_id, self._take(ended, collecting), lambda _: None, failed)

    def _is_in_vain(self, until: float) -> bool:
        """Whether a full disk is waited for no longer, or was for another result: it stays full then."""
        length = len(self._written or "")
        if self._is_too_long(length):
            return True
        if time.monotonic() < until:
            return False
        self._too_long = length
        return True

    def _is_too_long(self, length: int) -> bool:
        """Whether a result of about this length was refused, and none has been written since. The length of a result
        alone changes by some characters: it holds times."""
        return self._too_long is not None and length >= self._too_long * _ABOUT

    def _take(self, ended: EndedCell, collecting: Work[Collection]) -> Work[None]:
        if self._written is None:
            self._written = self._result_of(ended, (yield from collecting))
        self._write_down(ended, self._written)

    def _result_of(self, ended: EndedCell, found: Collection) -> str:
        """The result, as JSON. What it says of earlier cells is said once."""
        artifacts = self._workspace.artifacts(found, ended.outcome.figures)
        notices = self._interpreters.take_notices(ended.cell)
        if ended.cell.started:
            notices += self._workspace.take_untold()
        return to_json(result_to(ended.result(artifacts, found.rejected, notices)))

    def _write_down(self, ended: EndedCell, written: str) -> None:
        """Write the result down, and send it to those who wait for it once a power cut cannot take it."""
        cell = ended.cell
        self._cells.last_used = time.monotonic()
        self._thread.finished(cell.id, written, keeps=ended.keeps, notified=ended.notifies)
        if self._is_too_long(len(written)):
            self._too_long = None
        if ended.notifies:
            self._python.unsaved.notified(lives=self._python.session is not None)
        self._cells.end()
        self._syncs.result_written(cell.id)
        attached = tuple(cell.attached)
        tell = partial(self._tell, ended, attached, written)
        failed = partial(self._tell_what_is_written, ended, attached)
        self._syncs.sync([*self._home.take_unsynced(), *self._thread.take_unsynced()], tell, failed)

    def _give_up(self, ended: EndedCell, error: OSError) -> None:
        """The disk refused the result of a cell: it counts as died, and nothing of it is in the variables."""
        cell, attached = ended.cell, tuple(ended.cell.attached)
        self._syncs.refusals[cell.id] = notice("result_refused", error=words_of(error))
        self._cells.end()
        self._interpreters.end(notice("disk_refused", error=words_of(error)))
        self._python.unsaved.go_on_from_what_is_kept()
        self._tell_what_is_written(ended, attached, error)

    def _tell_what_is_written(self, ended: EndedCell, attached: Sequence[Attached], error: OSError) -> None:
        """Send the result that the cell has all the same, or that it died, or else why there is none."""

        def refused(_: OSError) -> None:
            self._tell(ended, (), "")
            for one in attached:
                one.refused(error)

        try:
            written = self._thread.result(ended.cell.id)  # what followed it may have failed
            result = self.died_without_result(ended.cell.id) if written is None else to_json(written)
        except OSError:
            refused(error)
        else:
            self._syncs.sync(self._thread.take_unsynced(), partial(self._tell, ended, attached, result), refused)
        self._loop.call_later(0.0, self._advance)

    def _tell(self, ended: EndedCell, attached: Sequence[Attached], result: str) -> None:
        """Send the result to those who wait for it, and go on with what waits for it."""
        if self._ended is ended:
            self._ended = None
        self._syncs.result_told(ended.cell.id)
        for one in attached:
            one.result(result)
        for call in ended.follow:
            call()
