"""One thread in the session host: what clients ask of its cells, its files and its variables.

Cells run one after the other, and each has one result for ever. Commands of bash are cells too: they wait in the same
queue and share the workspace, after somebody approved them.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from contextlib import suppress

from executor.cell import Attached, Cell
from executor.cells.approvals import Approvals
from executor.cells.runner import CellRunner
from executor.disk.durable import Disk
from executor.event_loop import Loop
from executor.files.exported import export_message, exported_session_from
from executor.files.given_files import GivenFiles
from executor.files.home import Home, ThreadHome, contents_named_in
from executor.files.thread_files import kept_file_from
from executor.files.workspace import Workspace
from executor.frames import Message, ProtocolError, to_json
from executor.interpreters.base import Owner
from executor.interpreters.thread_interpreters import Interpreters
from executor.notices import notice
from executor.sessions.session import Session
from executor.slices import SlicedWork, Work
from executor.values import CellResult, Limits
from executor.wire import result_from, result_to

NO_BASH = "bash is off on this host; [sandbox] bash = true in threadbook.toml switches it on"


class Notebook:
    """One thread."""

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
        interpreters: Callable[[Notebook, Owner], Interpreters],
    ) -> None:
        """`interpreters` makes the Python of the thread, and the bash where it is on."""
        self.thread = thread
        self.workspace = workspace
        self._home = home
        self._runner = CellRunner(
            thread,
            loop=loop,
            disk=disk,
            work=work,
            home=home,
            workspace=workspace,
            limits=limits,
            interpreters=lambda owner: interpreters(self, owner),
        )
        self.approvals = Approvals(self._runner.cells, self._runner.advance)
        """Decides whether its commands of bash may run."""
        self._given = GivenFiles(thread, home, workspace)
        self._cells = self._runner.cells
        self._interpreters = self._runner.interpreters
        self._python = self._interpreters.python

    # What it is and does

    @property
    def limits(self) -> Limits:
        """What its next cell may use."""
        return self._runner.limits

    @property
    def last_used(self) -> float:
        """When a cell last began or ended, in monotonic seconds."""
        return self._cells.last_used

    @property
    def session(self) -> Session | None:
        """The subprocess of Python, None while there is none."""
        return self._python.session

    @property
    def sessions(self) -> list[Session]:
        """Its living subprocesses: the one of Python, and the one of bash if there is one."""
        return self._interpreters.sessions

    @property
    def running(self) -> str | None:
        """The id of the running cell."""
        return self._cells.running.id if self._cells.running is not None else None

    @property
    def kept(self) -> bool:
        """Whether what cells left in the variables is kept, as far as it can be."""
        return self._interpreters.kept

    @property
    def idle(self) -> bool:
        """Whether it could be put to rest: its subprocess lives, runs no cell and keeps no variables."""
        return self._python.idle and self._cells.empty and self.kept

    @property
    def dormant(self) -> bool:
        """Whether nothing is alive or waiting, and no file is coming: all there is of it is on disk."""
        return self.session is None and self._cells.empty and not self._given.are_coming

    def once_durable(self, then: Callable[[], None], failed: Callable[[OSError], None]) -> None:
        """Call once all that was written for this thread is on the disk, or `failed` when the disk refuses it."""
        interpreters = [path for one in self._interpreters for path in one.take_unsynced()]
        paths = [*self._home.take_unsynced(), *interpreters, *self.thread.take_unsynced()]
        self._runner.syncs.sync(paths, then, failed)

    # Cells

    def submit(self, cell: Cell, attached: Attached) -> None:
        """Run a cell, attach to it when it waits or runs, or hand out its result when it has one.

        A command of bash runs only after one of those who are attached to it approved it. Raises ProtocolError when
        this host has no bash.
        """
        if cell.language == "bash" and self._interpreters.bash is None:
            raise ProtocolError(NO_BASH)
        if (result := self._known_result(cell.id)) is not None:
            self._runner.syncs.tell_stored(cell.id, result, attached)
            return
        known = self._cells.find(cell.id)
        if known is None:
            self._cells.add(cell)
        known = known or cell
        known.attached.append(attached)
        if self._cells.is_undecided(known):
            self.approvals.ask(known, attached)
        elif known is cell:
            self._runner.advance()
        else:
            self._attached_changed()

    def _attached_changed(self) -> None:
        if self._runner.run is not None:
            self._runner.run.attached_changed()

    def _known_result(self, cell_id: str) -> str | None:
        """The result of a cell that has one, as JSON. A cell that an earlier host began has died with that host."""
        if (stored := self.thread.result(cell_id)) is not None:
            return _as_json(result_from(stored))
        if cell_id not in self.thread.unfinished or self.running == cell_id:
            return None
        return self._runner.results.died_without_result(cell_id)

    def detach(self, attached: Attached) -> None:
        """A client has gone; its cell runs on. A command that nobody waits for is not run without an approval."""
        self._cells.detach(attached)
        self._attached_changed()

    def interrupt(self) -> bool:
        """Stop the running cell and keep the session. False when none runs."""
        return self._runner.stop("killed")

    def reply(self, number: int, value: object, error: str | None, file: int | None = None) -> None:
        """Pass on the answer to a cell's request."""
        if self._runner.run is not None:
            self._runner.run.reply(number, value, error, file)

    def where(self, answer: Callable[[Message | None], None]) -> None:
        """Ask where the running cell is; `answer` gets it a moment later, None when nothing runs."""
        if self._runner.run is None:
            answer(None)
        else:
            self._runner.run.where(answer)

    def use_limits(self, limits: Limits) -> None:
        """From here on. What is built into the sandbox of a subprocess holds from its next start on."""
        self._runner.use_limits(limits)

    # Files and variables

    def put(self, name: str, descriptor: int, limit: int, *, restore: bool = False) -> Work[str]:
        """Take a file that somebody gave, of at most `limit` bytes. See `GivenFiles.put`."""
        return self._given.put(name, descriptor, min(limit, self.limits.workspace_mb << 20), restore=restore)

    def put_held(self, name: str, sha256: str, *, restore: bool = False) -> Work[str]:
        """Like `put`, of a content that is in the store already. Raises ProtocolError when it is not."""
        return self._given.put_held(name, sha256, restore=restore)

    def variables(self) -> list[Message]:
        """The variables after the last cell: name, type, shape, bytes, and the cell that last set each."""
        return self._python.unsaved.described_variables()

    def end_subprocesses(self) -> None:
        """Kill what runs; nothing is written down but the end of a running cell."""
        self._interpreters.end(notice("was_reset"))

    def reset(self) -> None:
        """End the session and forget what cells made; the files that people gave stay."""
        self._python.drop_checkpoint()
        self._interpreters.end(notice("was_reset"))
        for interpreter in self._interpreters:
            interpreter.forget()
        named = contents_named_in(self.thread.folder)
        self.thread.files.forget()
        with suppress(OSError):  # where another thread's list cannot be read: the next sweep removes them
            self._home.forget(named, of=self.thread.thread_id)

    def undo(self, cell_id: str) -> bool:
        """Go back to before a cell that has ended, variables and files; False when that is not kept (any more).

        Asked again for the same cell nothing changes. Raises ProtocolError while a cell waits or runs.
        """
        if not self._cells.empty:
            raise ProtocolError("a cell waits or runs; it must end before one can be undone")
        if cell_id == self.thread.undone_cell:
            return True
        unsaved = self.thread.unsaved_cells
        left_by = [*unsaved[-1:], *(interpreter.last_cell() for interpreter in self._interpreters)]
        if any(self.thread.is_later(cell, cell_id) for cell in left_by):
            return False
        if not self.thread.files.can_undo(cell_id, self.thread.is_later):
            return False
        outcomes = {interpreter.undo(cell_id) for interpreter in self._interpreters}
        if "gone" in outcomes:
            return False
        is_there = cell_id in unsaved or self.workspace.has_refused_of(cell_id)
        if self.thread.files.undo(cell_id) or "undone" in outcomes or is_there:
            self._python.end(notice("was_undone"))
            self.thread.undone(cell_id)
            self._python.unsaved.go_on_from_what_is_kept()
        return True

    # The session as a whole

    def export_session(self, answer: Callable[[Message], None]) -> None:
        """Tell what another host needs to go on: `answer` gets it once the variables of the last cell are kept."""
        self._runner.when_kept(lambda: answer(export_message(self.thread, self._home, *self._python.exported())))

    def import_session(self, message: Mapping[str, object]) -> None:
        """Go on from what another host exported; its contents are in the home already. What was here is older.

        Raises OSError when a content is not here any more: another thread that had it was deleted meanwhile.
        """
        session = exported_session_from(message)
        if not all(self._home.holds(sha256) for sha256 in session.contents):
            raise OSError(errno.ESTALE, "a content that was here is gone; give it again")
        files = [kept_file_from(item) for item in session.files]
        self._python.end(notice("moved_away"))
        self._python.adopt(session.state, self._home.path_of)
        if self._interpreters.bash is not None:
            self._interpreters.bash.forget()  # a shell does not come along, and the one that was here is older
        by_name = {file.name: file for file in files}
        self.thread.adopt(by_name, set(session.replaced), session.cells, session.unsaved_cells)
        self._python.unsaved.go_on_from_what_is_kept()

    def rest(self) -> None:
        """End the subprocesses; the next cell brings the variables back."""
        if self.idle:
            self._interpreters.end(notice("was_idle"))

    def close(self) -> None:
        """Let go of everything; the subprocesses are killed."""
        self._given.close()
        self._cells.clear()
        self._interpreters.close()
        self.thread.close()


def _as_json(result: CellResult) -> str:
    return to_json(result_to(result))
