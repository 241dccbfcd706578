"""The bot's Socket Mode connection: made, kept by the SDK, and ended."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.builtin import SocketModeClient

from core.errors import SettingsError, SlackUnreachable
from core.slack_client import LOST, describe, passes_by_itself
from core.telemetry import get_logger

log = get_logger(__name__)

CONNECT_WAIT_S = 30.0
CONNECT_AGAIN_S = 0.5
END_AGAIN_S = 0.05
PING_INTERVAL_S = 5.0
"""Also how often the SDK looks whether its connection is gone."""


@contextmanager
def connected(app: App, app_token: str) -> Iterator[Callable[[], bool]]:
    """Listen to Slack while the block runs; yields a function that tells whether the connection is there now.

    What Slack sends while the block ends is not acknowledged, and so comes again. Raises SettingsError when Slack
    refuses the token, SlackUnreachable when it does not answer.
    """
    client = SocketModeHandler(app, app_token, ping_interval=PING_INTERVAL_S).client
    client.proxy = app.client.proxy
    try:
        _connect(client)
        yield client.is_connected
    finally:
        _end(client)


def _connect(client: SocketModeClient) -> None:
    """Try until the connection is there: Slack may have a bad moment.

    The SDK gives a handshake three seconds and only logs one that fails: on a busy machine the first may. From then on
    it goes on trying by itself; before, it has no address to try.
    """
    deadline = time.monotonic() + CONNECT_WAIT_S
    connect, trouble = client.connect, None
    while True:
        try:
            connect()
            trouble = None
        except (SlackApiError, *LOST) as error:
            if not passes_by_itself(error):
                raise SettingsError(f"Slack refuses SLACK_APP_TOKEN: {describe(error)}") from error
            log.info("waiting_for_slack", error=describe(error))
            trouble = error
        if client.is_connected():
            return
        if time.monotonic() > deadline:
            break
        time.sleep(CONNECT_AGAIN_S)
        connect = client.connect_to_new_endpoint
    if trouble is not None:
        raise SlackUnreachable(f"Slack gives no Socket Mode connection: {describe(trouble)}") from trouble
    log.error("socket_mode_not_connected", wait_s=CONNECT_WAIT_S)


def _end(client: SocketModeClient) -> None:
    """End the SDK's threads, first those that could open a connection again.

    Its own `close` alone can wait for ever: a reader that begins at that moment takes the wish to end for an old one,
    and sets `terminated` back.
    """
    client.closed = True
    client.auto_reconnect_enabled = client.default_auto_reconnect_enabled = False
    client.message_queue.put(None)  # or its thread would wait a second for a message
    for thread in (client.current_app_monitor, client.message_processor):
        if thread.is_alive():
            thread.shutdown()  # type: ignore[no-untyped-call]
    reader = client.current_session_runner
    reader.event.set()
    while reader.is_alive():
        client.current_session_state.terminated = True
        if (session := client.current_session) and (door := session.sock):
            with suppress(OSError):  # it has just been closed
                door.shutdown(socket.SHUT_RDWR)
        reader.thread.join(END_AGAIN_S)
    client.close()
