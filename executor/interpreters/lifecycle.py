"""The state of one interpreter: which phase its subprocess is in, and how it goes from one phase to the next.

ABSENT → STARTING → IDLE → RUNNING → KEEPING → STORING → IDLE
             └ RESTORING ┘
any phase but ABSENT → ENDING (we end it on purpose) → ABSENT
"""

from __future__ import annotations

from enum import Enum

from executor.event_loop import Loop, Timer
from executor.notices import notice
from executor.sessions.session import Session
from executor.values import Notice

_START_S, _CHECKPOINT_S = 60.0, 60.0


class Phase(Enum):
    """What the subprocess of an interpreter does."""

    ABSENT = "no subprocess"
    STARTING = "starting"
    RESTORING = "restoring its variables"
    IDLE = "idle"
    RUNNING = "running a cell"
    KEEPING = "sending its variables"
    STORING = "idle, while the host puts its variables on the disk"
    ENDING = "being ended on purpose"

    @property
    def is_keeping(self) -> bool:
        """Whether what the last cell left is not kept yet."""
        return self in (Phase.KEEPING, Phase.STORING)


class Lifecycle:
    """The subprocess of one interpreter, its phase, and the time limits on starting, restoring and keeping."""

    def __init__(self, loop: Loop) -> None:
        self.session: Session | None = None
        self.phase = Phase.ABSENT
        self._loop = loop
        self._timer: Timer | None = None

    @property
    def checkpointing(self) -> bool:
        """Whether variables are being restored or kept."""
        return self.phase is Phase.RESTORING or self.phase.is_keeping

    @property
    def free_session(self) -> Session | None:
        """The subprocess if it takes a cell now."""
        return self.session if self.phase is Phase.IDLE and self.session is not None and self.session.ready else None

    def start(self, session: Session) -> None:
        """A subprocess was asked for."""
        self.session, self.phase = session, Phase.STARTING
        self._timer = self._loop.call_later(_START_S, lambda: session.kill(notice("slow_to_start")))

    def opened(self, *, restoring: bool) -> None:
        """The subprocess is set up: it gets its variables first, or takes a cell at once."""
        self._cancel_timer()
        if restoring:
            self._checkpoint(Phase.RESTORING, notice("slow_to_restore"))
        else:
            self.phase = Phase.IDLE

    def begin_cell(self) -> None:
        """A cell was sent to the subprocess."""
        self.phase = Phase.RUNNING

    def cell_ended(self) -> None:
        """The subprocess reported the end of its cell. It sends its variables next, if it can still speak."""
        if self.session is not None and self.session.ready:
            self._checkpoint(Phase.KEEPING, notice("slow_to_keep"))
        elif self.session is not None:
            self.phase = Phase.IDLE

    def received(self) -> None:
        """All that is to be kept has come: the subprocess has nothing left to do in time, nor to say."""
        self._cancel_timer()
        self.phase = Phase.STORING

    def checkpointed(self) -> None:
        """The variables are restored or kept."""
        self._cancel_timer()
        self.phase = Phase.IDLE

    def end(self, why: Notice, *, by_limit: bool = False) -> None:
        """Kill the subprocess on purpose. Its listener hears `session_gone` during this call."""
        if self.session is not None:
            self._cancel_timer()
            self.phase = Phase.ENDING
            self.session.kill(why, by_limit=by_limit)

    def gone(self) -> Phase:
        """The subprocess is no more; returns the phase in which it ended."""
        self._cancel_timer()
        phase, self.phase, self.session = self.phase, Phase.ABSENT, None
        return phase

    def _checkpoint(self, phase: Phase, too_slow: Notice) -> None:
        session = self.session
        if session is not None:
            self.phase = phase
            self._timer = self._loop.call_later(_CHECKPOINT_S, lambda: session.kill(too_slow))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
