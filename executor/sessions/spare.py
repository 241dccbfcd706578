"""Subprocesses that are made in advance, sandbox included, so that a thread need not wait for one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from executor.event_loop import Loop
from executor.frames import Message, ProtocolError
from executor.notices import text_notice
from executor.sessions.session import Ending, Listener, Session
from executor.state.received_state import Receiver

_PAUSE_S = 0.02  # before the next one is made: whoever took the last is served first


class Spares:
    """Keeps a few sessions ready. Only where roots are private: elsewhere a fork needs to know its thread's folder."""

    def __init__(self, loop: Loop, count: int, start: Callable[[Listener], Session]) -> None:
        self._loop = loop
        self._count = count
        self._start = start
        self._waiting: list[Session] = []
        self._refilling = False

    def refill(self) -> None:
        """Make sessions until there are enough, one at a time."""
        if not self._refilling and len(self._waiting) < self._count:
            self._refilling = True
            self._loop.call_later(_PAUSE_S, self._make)

    def take(self, listener: Listener) -> Session | None:
        """A ready session for `listener`, which hears so in a moment; None when there is none."""
        ready = [session for session in self._waiting if session.ready]
        if not ready:
            self.refill()
            return None
        session = ready[0]
        self._waiting.remove(session)
        session.hand_over(listener)
        self._loop.call_later(0, lambda: None if session.gone else listener.session_ready(session))
        self.refill()
        return session

    def renew(self) -> None:
        """End the waiting sessions and make others: there is a new zygote."""
        for session in tuple(self._waiting):
            session.kill(text_notice("a newer one takes its place"))
        self.refill()

    def drop(self) -> None:
        """Forget the waiting sessions: their zygote has ended."""
        self._waiting.clear()

    def _make(self) -> None:
        self._refilling = False
        if len(self._waiting) < self._count:
            self._waiting.append(self._start(self))

    def session_ready(self, session: Session) -> None:
        """One more is ready; another one is made if there are too few."""
        self.refill()

    def session_said(self, session: Session, message: Message) -> None:
        """It runs nothing, so it has nothing to say."""
        raise ProtocolError("it spoke out of turn")

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """It belongs to no thread: what it prints is dropped."""

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """It has nothing to keep."""

    def session_gone(self, session: Session, ending: Ending) -> None:
        """It ended before a thread took it. The next request makes another one, so a failing host does not spin."""
        with contextlib.suppress(ValueError):
            self._waiting.remove(session)
