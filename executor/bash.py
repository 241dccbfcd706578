"""A thread's shell, in the host: a second subprocess beside the Python one, in the same workspace.

It lives no longer than the Python process whose workspace it shares. What it holds (variables, functions, folder) is
kept after each command like the variables of Python, and given to the next shell of the thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from executor.checkpoints import Checkpoint, Outcome, Receiver, Refused, announced
from executor.frames import Message, ProtocolError
from executor.loop import Loop, Timer
from executor.notices import said, together
from executor.session import Ending, Session
from executor.wire import one_of, optional_text, text

COMMAND_LIMIT = 256 << 10
"""Characters of one command. A shell reads them one by one."""
_SETTLE_S = 60.0
_STATE_LIMIT = 2 << 20
_PART = "shell"
_TRIES_TO_RESTORE = 2  # some deaths come from outside


class Owner(Protocol):
    """The notebook that the shell belongs to."""

    def bash_ready(self) -> None:
        """The shell takes a command now."""

    def bash_said(self, message: Message) -> None:
        """A `result` came out of it."""

    def bash_gone(self, ending: Ending) -> None:
        """It has ended; its last output has been read."""

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """A command printed."""


class Bash:
    """The shell of one thread."""

    def __init__(
        self, loop: Loop, checkpoint: Checkpoint, start: Callable[[Bash, Session], Session], owner: Owner
    ) -> None:
        self.session: Session | None = None
        self.note: str | None = None
        """What the next command's result has to say about the shell."""
        self._loop = loop
        self._checkpoint = checkpoint
        self._start = start
        self._owner = owner
        self._settling: Timer | None = None
        self._restoring = False
        self._deaths_in_restoring = 0
        self._unkept: str | None = None
        self._cell = ""
        """The id of the last command."""

    def take(self, beside: Session) -> Session | None:
        """The shell if it takes a command now. If not, the owner hears when it does; one is started if there is none,
        in the workspace of `beside`."""
        if self.session is None:
            self.session = self._start(self, beside)
        return self.session if self.session.ready and self._settling is None else None

    @property
    def settled(self) -> bool:
        """Whether it could be ended without losing what it holds."""
        return self._settling is None

    def end(self, why: str, *, unexpected: bool = False, by_limit: bool = False) -> None:
        """Kill it. Its state comes back with the next command; what runs in its background does not."""
        if self.session is not None:
            background = said("shell_background") if unexpected else None
            unkept = said("shell_changes_not_kept", why=why) if self._saving else None
            self.note = together(self.note, background, unkept)
            self._forget_settling()
            self.session.kill(why, by_limit=by_limit)

    @property
    def _saving(self) -> bool:
        return self._settling is not None and not self._restoring

    def undo(self, cell_id: str) -> Outcome:
        """Go back to before this command, as `Checkpoint.undo` says."""
        saving = not self.settled  # what the last command did has not been kept yet, and now never will be
        outcome = self._checkpoint.undo(cell_id)
        if outcome == "undone" or (saving and outcome == "nothing"):
            self._forget_settling()
            self.end("a command was undone")
        return outcome

    def forget(self) -> None:
        """Remove all that is kept of it."""
        self._checkpoint.forget()
        self.note = self._unkept = None

    def close(self) -> None:
        """Let go of everything."""
        self.end("the host is shutting down")
        self._checkpoint.close()

    def fate(self) -> str:
        """What becomes of its state when it is gone in the middle of a command."""
        return said("shell_as_before") if self._unkept is None else said("shell_anew", why=self._unkept)

    # What the session tells

    def session_ready(self, session: Session) -> None:
        """Give it the state of the shell before it."""
        os.close(session.workspace)  # the folder is open in the notebook already
        try:
            state = self._checkpoint.open()
        except FileNotFoundError:
            state = None
        except Refused as refusal:
            state, self.note = None, said("shell_not_restored", why=refusal.why)
        session.begin(state)
        if state is None:
            self._owner.bash_ready()
        else:
            self._restoring = True
            self._settle(session)

    def session_said(self, session: Session, message: Message) -> None:
        """A frame from the shell's subprocess: nothing in it is believed beyond its shape."""
        kind = one_of(message, "type", ("result", "state", "restored"))
        due = "result" if self._settling is None else "restored" if self._restoring else "state"
        if kind != due:
            raise ProtocolError("it spoke out of turn")
        if kind == "result":
            self._owner.bash_said(message)
            self._cell = text(message, "cell", 500)
            self._settle(session)
        elif kind == "restored":
            self._deaths_in_restoring = 0
            if why := optional_text(message, "why", 600):
                self.note = said("shell_not_restored", why=why)
            self._settled()
        else:
            what = announced(message)
            if what.keys not in (None, (_PART,)) or what.size > _STATE_LIMIT:
                raise ProtocolError("a shell keeps one part of bounded size")
            session.receive(self._checkpoint.receive(what))

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """Bytes of stdout or stderr."""
        self._owner.session_wrote(session, stream, data)

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """The bytes of its state have all come."""
        self._unkept = receiver.what.why
        if receiver.what.keys is not None:
            self._checkpoint.commit(receiver, self._cell)
        else:
            self._checkpoint.forget()
        self._settled()

    def session_gone(self, session: Session, ending: Ending) -> None:
        """It is no more."""
        self.session = None
        if self._restoring:
            self._deaths_in_restoring += 1
            if self._deaths_in_restoring == _TRIES_TO_RESTORE:  # kept, it would end the next one as well
                self._checkpoint.forget()
                self.note = said("shell_not_restored", why=said("fatal"))
                self._deaths_in_restoring = 0
        elif self._saving:
            self.note = said("shell_changes_not_kept", why=ending.why)
        self._forget_settling()
        self._owner.bash_gone(ending)

    def _settle(self, session: Session) -> None:
        if not session.gone:
            self._settling = self._loop.call_later(_SETTLE_S, lambda: session.kill(said("slow_to_keep")))

    def _settled(self) -> None:
        self._forget_settling()
        self._owner.bash_ready()

    def _forget_settling(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling, self._restoring = None, False
