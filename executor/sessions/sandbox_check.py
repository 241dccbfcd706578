"""The first session of every host: it attacks its own sandbox and reports what held."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from executor.event_loop import Loop
from executor.frames import Message, ProtocolError
from executor.notices import for_log, text_notice
from executor.sandbox.probe import Findings, attack_code, read_findings, uncounted
from executor.sessions.session import Ending, Session
from executor.state.received_state import Receiver

_PATIENCE_S = 30.0
_OUTPUT = 1 << 16


class Probe:
    """The listener of that session. It stops the loop when the attacks are over."""

    def __init__(self, loop: Loop, canary: Path, host_pid: int, memory_of: Callable[[Session], int]) -> None:
        """`memory_of` says how many bytes a session holds by the count that its limit is enforced by."""
        self.findings: Findings = {}
        self.layers: dict[str, str] = {}
        self.why = ""
        self._loop = loop
        self._code = attack_code(canary, host_pid)
        self._printed = b""
        self._memory_of = memory_of
        self._held_before = 0
        self._patience = loop.call_later(_PATIENCE_S, self._give_up)
        self._session: Session | None = None

    def session_ready(self, session: Session) -> None:
        """Attack."""
        self._session = session
        self.layers = session.layers
        os.close(session.workspace)
        session.begin()
        self._held_before = self._memory_of(session)
        session.send({"type": "run", "cell": "probe", "number": 0, "code": self._code})

    def session_said(self, session: Session, message: Message) -> None:
        """The attacks are over."""
        if message.get("type") != "result":
            return
        session.drain()
        failed = message.get("error")
        try:
            found = read_findings(self._printed.decode(errors="replace"))
            self.findings = uncounted(found, self._memory_of(session) - self._held_before)
        except ProtocolError as error:
            self.why = str(error) if not isinstance(failed, dict) else f"the probe failed: {failed.get('message')!r}"
        session.kill(text_notice("the probe is over"))

    def session_wrote(self, session: Session, stream: str, data: bytes) -> None:
        """The report comes on stdout."""
        if stream == "stdout":
            self._printed = (self._printed + data)[:_OUTPUT]

    def session_saved(self, session: Session, receiver: Receiver) -> None:
        """Nothing of a probe is kept."""

    def session_gone(self, session: Session, ending: Ending) -> None:
        """The check is over, with findings or without."""
        self.why = self.why or for_log(ending.why) or "it gave no reason"
        self._patience.cancel()
        self._loop.stop()

    def _give_up(self) -> None:
        if self._session is not None:
            self._session.kill(text_notice("the probe did not answer"))
        else:
            self.why = "the session did not start"
            self._loop.stop()
