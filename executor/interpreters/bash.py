"""The bash of a thread: a second subprocess beside the Python one, in the same workspace.

It lives no longer than the Python subprocess whose workspace it shares. What it holds (variables, functions, folder)
is kept after each command like the variables of Python, and restored in the next bash of the thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from executor.cell import Cell
from executor.disk.durable import Disk
from executor.disk.kernel_sync import Synced
from executor.event_loop import Loop
from executor.frames import Message, ProtocolError
from executor.interpreters.base import Interpreter, Owner
from executor.interpreters.lifecycle import Lifecycle, Phase
from executor.notices import Notices, notice, words_of
from executor.said import why_from
from executor.sessions.session import Ending, Listener, Session
from executor.state.checkpoint_log import Refused
from executor.state.checkpoints import Checkpoint, UndoOutcome
from executor.state.received_state import Receiver, announced
from executor.values import Language, Notice
from executor.wire import one_of

COMMAND_LIMIT = 256 << 10
"""Characters of one command. Bash reads them one by one."""
_STATE_LIMIT = 2 << 20
_PART = "shell"
_TRIES_TO_RESTORE = 2  # some deaths come from outside
_FRAMES_DUE = {Phase.RUNNING: "result", Phase.RESTORING: "restored", Phase.KEEPING: "state"}


class BashInterpreter:
    """One thread's."""

    language: Language = "bash"

    def __init__(
        self,
        owner: Owner,
        python: Interpreter,
        *,
        loop: Loop,
        disk: Disk,
        checkpoint: Checkpoint,
        start: Callable[[Listener, Session], Session],
    ) -> None:
        """`start` asks for a subprocess in the workspace of another one."""
        self.notices: Notices = ()
        """What the result of the next command has to say about bash."""
        self._owner = owner
        self._python = python
        self._disk = disk
        self._checkpoint = checkpoint
        self._start = start
        self._lifecycle = Lifecycle(loop)
        self._deaths_in_restoring = 0
        self._unkept: Notice | None = None
        """Why the state after the last command could not be kept."""
        self._cell_id = ""
        """The last command."""

    @property
    def session(self) -> Session | None:
        """Its subprocess, None while there is none."""
        return self._lifecycle.session

    @property
    def kept(self) -> bool:
        """Whether it could be ended without losing what it holds."""
        return not self._lifecycle.checkpointing

    def take(self) -> Session | None:
        """The subprocess if it takes a command now; one is started if there is none, and a Python first."""
        beside = self._python.take()
        if beside is None:
            return None
        if self.session is None:
            self._lifecycle.start(self._start(self, beside))
        return self._lifecycle.free_session

    def begin(self, cell: Cell) -> None:
        """Run a command."""
        self._cell_id = cell.id
        if self.session is not None:
            self._lifecycle.begin_cell()
            self.session.send({"type": "run", "cell": cell.id, "number": cell.number, "code": cell.code})

    def end(self, why: Notice) -> None:
        """Kill the subprocess. Its state comes back with the next command; what runs in its background does not."""
        self._end(why)

    def end_with_python(self, ending: Ending) -> None:
        """Python has ended. Limits of the workspace end Python, also when it is a command that goes beyond them."""
        why = ending.why if ending.by_limit else notice("python_ended")
        self._end(why, notice("shell_background"), by_limit=ending.by_limit)

    def _end(self, why: Notice, *also: Notice, by_limit: bool = False) -> None:
        if self.session is not None:
            keeping = self._lifecycle.phase.is_keeping
            self.notices += (*also, *((notice("shell_changes_not_kept", why=why),) if keeping else ()))
            self._lifecycle.end(why, by_limit=by_limit)

    def take_notices(self) -> Notices:
        """What the result of the next command has to say about bash."""
        taken, self.notices = self.notices, ()
        return taken

    def fate(self) -> Notices:
        """What becomes of its state when it is gone in the middle of a command."""
        unkept = self._unkept
        return (notice("shell_as_before") if unkept is None else notice("shell_anew", why=unkept),)

    def undo(self, cell_id: str) -> UndoOutcome:
        """Go back to before this command, as `Checkpoint.undo` says."""
        if self._unkept is not None and cell_id == self._cell_id:
            return "gone"  # the state before it was dropped when the one after a command was too large
        keeping = not self.kept  # what the last command did has not been kept yet, and now never will be
        outcome = self._checkpoint.undo(cell_id)
        if outcome == "undone" or (keeping and outcome == "nothing"):
            self._lifecycle.end(notice("was_undone"))
        return outcome

    def last_cell(self) -> str:
        """The command that left the state as it is kept; "" where nothing is."""
        return self._checkpoint.last_cell()

    def forget(self) -> None:
        """Remove all that is kept of it."""
        self._checkpoint.forget()
        self.notices, self._unkept = (), None

    def close(self) -> None:
        """Kill the subprocess and let go of the checkpoints."""
        self.end(notice("shutting_down"))
        self._checkpoint.close()

    # What its subprocess tells

    def session_ready(self, session: Session) -> None:
        """Give it the state of the bash before it."""
        os.close(session.workspace)  # the notebook has the same folder open
        try:
            state = self._checkpoint.open()
        except FileNotFoundError:
            state = None
        except Refused as refusal:
            state, self.notices = None, (notice("shell_not_restored", why=refusal.why),)
        except OSError as error:
            session.kill(notice("disk_refused", error=words_of(error)))
            return
        session.begin(state)
        self._lifecycle.opened(restoring=state is not None)
        if state is None:
            self._owner.interpreter_ready(self)

    def session_said(self, session: Session, message: Message) -> None:
        """A frame from the subprocess. Nothing in it is believed beyond its shape."""
        kind = one_of(message, "type", ("result", "state", "restored"))
        if kind != _FRAMES_DUE.get(self._lifecycle.phase):
            raise ProtocolError("it spoke out of turn")
        match kind:
            case "result":
                self._owner.interpreter_reported(self, message)
                self._lifecycle.cell_ended()
            case "restored":
                self._deaths_in_restoring = 0
                if (why := why_from(message)) is not None:
                    self.notices = (notice("shell_not_restored", why=why),)
                self._checkpointed()
            case _:
                what = announced(message)
                if what.keys not in (None, (_PART,)) or what.size > _STATE_LIMIT:
                    raise ProtocolError("a shell keeps one part of bounded size")
                session.receive(self._checkpoint.receive(what))

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """Bytes of stdout or stderr."""
        self._owner.interpreter_wrote(stream, data)

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """The bytes of its state have all come."""
        self._lifecycle.received()
        keep = partial(self._keep, session, receiver)
        failed = partial(self._not_synced, session, receiver)
        self._disk.sync(receiver.files, lambda: self._owner.after_result(keep), failed)

    def _not_synced(self, session: Session, receiver: Receiver, error: OSError) -> None:
        receiver.abandon()
        if self.session is session:
            self._owner.sync_failed(error)

    def _keep(self, session: Session, receiver: Receiver) -> None:
        if self.session is not session:
            receiver.abandon()
            return
        unkept_before, self._unkept = self._unkept, receiver.what.why
        try:
            if receiver.what.why is None:
                self._checkpoint.commit(receiver, self._cell_id, also_of_others=unkept_before is not None)
            else:
                self._checkpoint.drop(self._cell_id, receiver.what.why)
        except ProtocolError as error:
            session.kill(notice("protocol", error=str(error)))
        except OSError as error:
            receiver.abandon()
            session.kill(notice("disk_refused", error=words_of(error)))
        else:
            self._disk.sync(self._checkpoint.take_unsynced(), lambda: None, self._owner.sync_failed)
            self._checkpointed()

    def distrust(self) -> None:
        """A sync has failed: what is kept counts again once it is written to a new file."""
        self._checkpoint.distrust()

    def take_unsynced(self) -> list[Synced]:
        """What was written of the checkpoints since the last call."""
        return self._checkpoint.take_unsynced()

    def session_gone(self, session: Session, ending: Ending) -> None:
        """The subprocess is no more: the command that ran has ended with it."""
        self._owner.interpreter_ends()
        phase = self._lifecycle.gone()
        if phase is Phase.RESTORING:
            self._died_restoring()
        elif phase.is_keeping:
            self.notices = (notice("shell_changes_not_kept", why=ending.why),)
        unused = phase is not Phase.RUNNING and self._python.session is not None
        self._owner.interpreter_died(self, session, ending, unused=unused)
        self._unkept = None
        self._owner.interpreter_gone(self)

    def _died_restoring(self) -> None:
        self._deaths_in_restoring += 1
        if self._deaths_in_restoring == _TRIES_TO_RESTORE:  # kept, it would end the next one as well
            self._checkpoint.forget()
            self.notices = (notice("shell_not_restored", why=notice("fatal")),)
            self._deaths_in_restoring = 0

    def _checkpointed(self) -> None:
        self._lifecycle.checkpointed()
        self._owner.interpreter_ready(self)
