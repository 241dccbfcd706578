"""The interface of an interpreter: what the Python and the bash of a thread have in common.

A notebook gives cells to interpreters and hears from them through `Owner`. An interpreter starts its subprocess when
a cell needs one, keeps what a cell leaves in its variables, and restores it in the next subprocess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from executor.cell import Cell
from executor.disk.kernel_sync import Synced
from executor.frames import Message
from executor.notices import Notices
from executor.sessions.session import Ending, Session
from executor.state.checkpoints import UndoOutcome
from executor.values import Language, Notice


class Interpreter(Protocol):
    """One interpreter of one thread."""

    @property
    def language(self) -> Language:
        """What its cells are written in."""

    @property
    def session(self) -> Session | None:
        """Its subprocess, None while there is none."""

    @property
    def kept(self) -> bool:
        """Whether its subprocess could be ended without losing what cells left in the variables."""

    def take(self) -> Session | None:
        """The subprocess if it takes a cell now. If not, the owner hears when it does; one is started if needed."""

    def begin(self, cell: Cell) -> None:
        """Run a cell in the subprocess that `take` returned."""

    def end(self, why: Notice) -> None:
        """Kill the subprocess on purpose. Its variables come back with the next cell."""

    def take_notices(self) -> Notices:
        """What the next result has to say about the subprocess. It is handed out once."""

    def fate(self) -> Notices:
        """What becomes of the variables when the subprocess is gone in the middle of a cell."""

    def undo(self, cell_id: str) -> UndoOutcome:
        """Make the checkpoint before this cell the one that counts."""

    def last_cell(self) -> str:
        """The cell that left the variables as they are kept; "" where nothing is."""

    def forget(self) -> None:
        """Remove all that is kept of its variables."""

    def distrust(self) -> None:
        """A sync has failed: what is kept counts again once it is written to a new file."""

    def take_unsynced(self) -> list[Synced]:
        """What was written of the checkpoints since the last call, in the order in which it is to be synced."""

    def close(self) -> None:
        """Kill the subprocess and let go of everything."""


class Owner(Protocol):
    """The notebook that an interpreter belongs to."""

    def interpreter_opened(self, session: Session) -> None:
        """The subprocess of Python is set up, and its working folder is there."""

    def interpreter_ready(self, interpreter: Interpreter) -> None:
        """It takes a cell now, and nothing is left to be kept."""

    def interpreter_reported(self, interpreter: Interpreter, message: Message) -> None:
        """The `result` of its cell. Raises ProtocolError for a malformed one."""

    def interpreter_asked(self, message: Message) -> None:
        """A `request` of the running cell. Raises ProtocolError for a malformed one."""

    def interpreter_wrote(self, stream: str, data: bytes) -> None:
        """Its subprocess printed to stdout or stderr."""

    def after_result(self, call: Callable[[], None]) -> None:
        """Call once the result of the cell that has ended is on the disk; at once when none is to come."""

    def sync_failed(self, error: OSError) -> None:
        """The disk refused a sync of what was written for this thread."""

    def interpreter_ends(self) -> None:
        """Its subprocess has ended, and so will the working folder: what a cell made there is taken now."""

    def interpreter_died(self, interpreter: Interpreter, session: Session, ending: Ending, *, unused: bool) -> bool:
        """Its subprocess has ended, `unused` when it never took a cell. Returns whether a cell ended with it."""

    def interpreter_gone(self, interpreter: Interpreter) -> None:
        """All that belonged to its subprocess is released: another one may be started."""
