"""Watches the Socket Mode connection. A silent one is closed and opened again, and `/healthz` reports it.

The SDK notices a dead peer after four of its ping intervals, or after five pings that could not be sent. It counts a
connection as open until then. This watchdog listens itself: each pong and each message is a sign of life. A connection
without one for `DEAF_AFTER_S` is deaf.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.builtin.connection import Connection

from core.metrics import RETRIES
from core.telemetry import get_logger

log = get_logger(__name__)

PING_INTERVAL_S = 2.0
"""How often the SDK pings."""
DEAF_AFTER_S = 6.0
LOOK_EVERY_S = 0.5


class Watchdog:
    """Looks at the client's connection every `LOOK_EVERY_S` while it runs.

    It counts its own looks and reads no clock. So a changed clock or a paused process never makes a connection look
    deaf.
    """

    def __init__(self, client: SocketModeClient, on_gap: Callable[[], None] = lambda: None) -> None:
        """`on_gap` is called when a connection is found deaf, lost or replaced: words may have been missed."""
        self._client = client
        self._on_gap = on_gap
        self._messages = 0
        self._heard: object = None
        self._session: Connection | None = None
        self._silent_looks = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        client.on_message_listeners.append(self._count)

    def start(self) -> None:
        """Watch the connection that is open now, and those that follow."""
        self._session = self._client.current_session
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def is_connected(self) -> bool:
        """Whether the connection is open, and Slack was heard on it lately."""
        return self._client.is_connected() and self.silent_s < DEAF_AFTER_S

    @property
    def silent_s(self) -> float:
        """How many seconds nothing was heard, counted while this process ran."""
        return self._silent_looks * LOOK_EVERY_S

    def look(self) -> None:
        """One look. Raises nothing."""
        session = self._client.current_session
        heard = (session, getattr(session, "last_ping_pong_time", None), self._messages)
        if session is not self._session:
            self._session = session
            self._gap("replaced")
        self._silent_looks = 0 if heard != self._heard else self._silent_looks + 1
        self._heard = heard
        if session is not None and session.is_active() and self.silent_s >= DEAF_AFTER_S:
            self._gap("deaf")
            self._open_again(session)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            self.look()

    def _gap(self, cause: str) -> None:
        RETRIES.labels("socket_mode", cause).inc()
        log.warning("socket_mode_gap", cause=cause)
        try:
            self._on_gap()
        except Exception:
            log.exception("gap_not_noted")

    def _open_again(self, session: Connection) -> None:
        """Close a connection and open another. When that fails the SDK tries on, at each of its pings."""
        # The reader holds the SDK's lock while it reads; the shutdown ends the read, and a send that is stuck.
        if connection := session.sock:
            with suppress(OSError):  # it has just been closed
                connection.shutdown(socket.SHUT_RDWR)
        try:
            self._client.current_session_state.terminated = True
            session.close()
            self._client.connect_to_new_endpoint()
        except Exception as error:
            log.warning("socket_mode_not_connected_again", error=error)
        self._session = self._client.current_session

    def _count(self, message: str) -> None:
        self._messages += 1
