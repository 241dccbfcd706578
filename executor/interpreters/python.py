"""The Python of a thread: its subprocess from the start to the end, and the checkpoints of its variables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from executor.cell import Cell
from executor.counters import Counters
from executor.disk.durable import Disk
from executor.disk.kernel_sync import Synced
from executor.event_loop import Loop
from executor.files.home import ThreadHome
from executor.frames import Message, ProtocolError
from executor.interpreters.base import Owner
from executor.interpreters.lifecycle import Lifecycle, Phase
from executor.interpreters.unsaved_state import UnsavedState
from executor.notices import Notices, notice, words_of
from executor.sessions.session import Ending, Listener, Session
from executor.state.checkpoints import Checkpoint, UndoOutcome
from executor.state.received_state import Receiver, announced
from executor.values import Language, Notice
from executor.wire import one_of

_FRAMES_DUE: dict[Phase, tuple[str, ...]] = {
    Phase.RUNNING: ("result", "request"),
    Phase.RESTORING: ("restored",),
    Phase.KEEPING: ("state",),
}
"""The frames that the subprocess may send in each phase; none in the others."""


class PythonInterpreter:
    """One thread's. Every cell needs it: a command of bash runs in its workspace."""

    language: Language = "python"

    def __init__(
        self,
        thread: ThreadHome,
        owner: Owner,
        *,
        loop: Loop,
        disk: Disk,
        checkpoint: Checkpoint,
        counters: Counters,
        start: Callable[[Listener], Session],
        state_limit: Callable[[], int],
    ) -> None:
        """`start` asks for a subprocess; `state_limit` is how many bytes of variables the next one may keep."""
        self.unsaved = UnsavedState(thread, checkpoint, counters)
        self._owner = owner
        self._disk = disk
        self._checkpoint = checkpoint
        self._counters = counters
        self._start = start
        self._new_state_limit = state_limit
        self._state_limit = 0
        self._began = time.monotonic()
        self._lifecycle = Lifecycle(loop)

    @property
    def session(self) -> Session | None:
        """Its subprocess, None while there is none."""
        return self._lifecycle.session

    @property
    def idle(self) -> bool:
        """Whether the subprocess lives and does nothing."""
        return self._lifecycle.free_session is not None

    @property
    def kept(self) -> bool:
        """Whether nothing of the variables is being restored or kept at this moment."""
        return not self._lifecycle.checkpointing

    def take(self) -> Session | None:
        """The subprocess if it takes a cell now; one is started if there is none."""
        if self.session is None:
            self._state_limit = self._new_state_limit()
            self._lifecycle.start(self._start(self))
            self._counters.started += 1
            self._began = time.monotonic()
        return self._lifecycle.free_session

    def begin(self, cell: Cell) -> None:
        """Run a cell."""
        if self.session is not None:
            self._lifecycle.begin_cell()
            run = {"type": "run", "cell": cell.id, "number": cell.number, "code": cell.code, "answers": cell.answers}
            self.session.send(run)

    def end(self, why: Notice) -> None:
        """Kill the subprocess. What it was keeping stays unsaved, what it was restoring stays kept."""
        self._lifecycle.end(why)

    def take_notices(self) -> Notices:
        """What the next result has to say about the variables."""
        return self.unsaved.take_notices()

    def fate(self) -> Notices:
        """What becomes of the variables when the subprocess is gone in the middle of a cell."""
        return self.unsaved.fate()

    def undo(self, cell_id: str) -> UndoOutcome:
        """Make the checkpoint before this cell the one that counts."""
        return self._checkpoint.undo(cell_id)

    def last_cell(self) -> str:
        """The cell that left the variables as they are kept; "" where nothing is."""
        return self._checkpoint.last_cell()

    def drop_checkpoint(self) -> None:
        """Remove what is kept. Unlike after `forget`, the variables of a live subprocess are still reported lost."""
        self._checkpoint.forget()

    def forget(self) -> None:
        """Remove all that is kept, as if there had never been a variable."""
        self.unsaved.forget()

    def close(self) -> None:
        """Kill the subprocess and let go of the checkpoints."""
        self.end(notice("shutting_down"))
        self._checkpoint.close()

    # What the result of a cell means for the variables

    def keeps_after(self, cell: Cell) -> bool:
        """Whether what this cell left, which ends now, is about to be kept."""
        return cell.language == self.language and self.session is not None and self.session.ready

    def has_to_notify(self, cell: Cell) -> bool:
        """Whether the result of this cell, which ends now, says which variables are lost."""
        died = self.session is None and cell.language == self.language
        return cell.started > 0 and (died or bool(self.unsaved.notices))

    # Another host

    def exported(self) -> tuple[Message | None, dict[str, Path]]:
        """The checkpoint that counts, as `Checkpoint.exported` gives it."""
        return self._checkpoint.exported()

    def adopt(self, state: Message | None, path_of: Callable[[str], Path]) -> None:
        """Replace what is kept by what another host exported."""
        self._checkpoint.adopt(state, path_of)

    # What its subprocess tells

    def session_ready(self, session: Session) -> None:
        """Put the thread's variables and files in place, both at once, and go on.

        The files first, of which some are there at once: the modules, which variables may need.
        """
        try:
            state = self.unsaved.open()
        except OSError as error:
            os.close(session.workspace)
            session.kill(notice("disk_refused", error=words_of(error)))
            return
        self._lifecycle.opened(restoring=state is not None)
        self._owner.interpreter_opened(session)
        session.begin(state)
        if self._lifecycle.phase is Phase.IDLE:
            self._owner.interpreter_ready(self)

    def session_said(self, session: Session, message: Message) -> None:
        """A frame from the subprocess. Nothing in it is believed beyond its shape."""
        kind = one_of(message, "type", ("result", "request", "state", "restored"))
        if kind not in _FRAMES_DUE.get(self._lifecycle.phase, ()):
            raise ProtocolError("it spoke out of turn")
        match kind:
            case "result":
                self._owner.interpreter_reported(self, message)
                self._lifecycle.cell_ended()
            case "request":
                self._owner.interpreter_asked(message)
            case "state":
                what = announced(message)
                if what.size > self._state_limit:
                    raise ProtocolError("its variables are larger than what may be kept")
                session.receive(self._checkpoint.receive(what))
            case _:
                self.unsaved.put_back(message)
                self._checkpointed()

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """The bytes of the variables have all come. They are committed when their files are on the disk.

        And not before the result of their cell: what is kept is counted by the results that say so.
        """
        self._lifecycle.received()
        self.unsaved.prepare(receiver)
        keep = partial(self._keep, session, receiver)
        failed = partial(self._not_synced, session, receiver)
        self._disk.sync(receiver.files, lambda: self._owner.after_result(keep), failed)

    def _not_synced(self, session: Session, receiver: Receiver, error: OSError) -> None:
        receiver.abandon()
        if self.session is session:
            self._owner.sync_failed(error)

    def _keep(self, session: Session, receiver: Receiver) -> None:
        if self.session is not session:  # it ended meanwhile, and that was said
            receiver.abandon()
            return

        def once_durable(write: Callable[[], None]) -> None:
            self._disk.sync_soon(self._checkpoint.take_unsynced(), write, self._owner.sync_failed)

        try:
            self.unsaved.keep(receiver, once_durable)
        except ProtocolError as error:
            session.kill(notice("protocol", error=str(error)))
        except OSError as error:
            receiver.abandon()
            session.kill(notice("disk_refused", error=words_of(error)))
        else:
            self._checkpointed()

    def distrust(self) -> None:
        """A sync has failed: what is kept counts again once it is written to a new file."""
        self._checkpoint.distrust()

    def take_unsynced(self) -> list[Synced]:
        """What was written of the checkpoints since the last call."""
        return self._checkpoint.take_unsynced()

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """Bytes of stdout or stderr."""
        self._owner.interpreter_wrote(stream, data)

    def session_gone(self, session: Session, ending: Ending) -> None:
        """The subprocess is no more: the cell that ran has ended with it."""
        self._owner.interpreter_ends()
        phase = self._lifecycle.gone()
        self._counters.ended += 1
        self._counters.lived_s += time.monotonic() - self._began
        if phase is Phase.RESTORING:
            self.unsaved.died_restoring(ending)
        elif phase.is_keeping:
            self.unsaved.died_keeping(ending)
        if not self._owner.interpreter_died(self, session, ending, unused=phase is Phase.STARTING):
            self.unsaved.ended_between_cells(ending)
        self._checkpoint.close()
        self._owner.interpreter_gone(self)

    def _checkpointed(self) -> None:
        self._lifecycle.checkpointed()
        self._owner.interpreter_ready(self)
