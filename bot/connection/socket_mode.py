"""The bot's Socket Mode connection: opened here, kept by the SDK, ended here."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.builtin import SocketModeClient

from bot.connection.watchdog import PING_INTERVAL_S, Watchdog
from core.errors import SettingsError, SlackUnreachable
from core.retry import retry_call
from core.slack.client import LOST, CountedClient, describe, passes_by_itself
from core.telemetry import get_logger

log = get_logger(__name__)

CONNECT_WAIT_S = 30.0
CONNECT_AGAIN_S = 0.5
END_AGAIN_S = 0.05
CALL_TIMEOUT_S = 5
"""For the call that asks Slack for an address: a network that has just come back must not wait for an old call."""


@contextmanager
def connected(app: App, app_token: str, on_gap: Callable[[], None] = lambda: None) -> Iterator[Callable[[], bool]]:
    """Listen to Slack while the block runs; yields a function that tells whether Slack is heard now.

    `on_gap` is called in another thread when the connection was deaf or lost for a while. What Slack sends while the
    block ends is not acknowledged, so Slack sends it again. Raises SettingsError when Slack refuses the token,
    SlackUnreachable when it does not answer.
    """
    calls = CountedClient(base_url=app.client.base_url, timeout=CALL_TIMEOUT_S, retry_handlers=[])
    calls.proxy = app.client.proxy
    client = SocketModeHandler(app, app_token, web_client=calls, ping_interval=PING_INTERVAL_S).client
    client.proxy = app.client.proxy
    watchdog = Watchdog(client, on_gap)
    try:
        _connect(client)
        watchdog.start()
        yield watchdog.is_connected
    finally:
        watchdog.stop()
        _end(client)


class _NotConnected(Exception):
    """The SDK made a call for a connection and logged that the handshake failed, without raising."""


def _connect(client: SocketModeClient) -> None:
    """Try until the connection is there: Slack may have a bad moment.

    The SDK gives a handshake three seconds and only logs one that fails; on a busy machine the first one may fail. Once
    it has had a connection it reconnects on its own; before that it has no address to connect to.
    """
    # The first call asks Slack for an address and starts the SDK's threads. Later calls must ask for a new address:
    # `connect` would use the old one, which Slack accepts only once.
    steps = chain([client.connect], repeat(client.connect_to_new_endpoint))

    def attempt() -> None:
        try:
            next(steps)()
        except (SlackApiError, *LOST) as error:
            if not passes_by_itself(error):
                raise SettingsError(f"Slack refuses SLACK_APP_TOKEN: {describe(error)}") from error
            if not client.is_connected():
                raise
        if not client.is_connected():
            raise _NotConnected("the handshake failed")

    try:
        retry_call(
            attempt,
            on=(SlackApiError, _NotConnected, *LOST),
            for_s=CONNECT_WAIT_S,
            every_s=CONNECT_AGAIN_S,
            on_retry=lambda error: log.info("waiting_for_slack", error=describe(error)),
        )
    except _NotConnected:
        log.error("socket_mode_not_connected", wait_s=CONNECT_WAIT_S)  # noqa: TRY400  the SDK goes on trying
    except (SlackApiError, *LOST) as error:
        raise SlackUnreachable(f"Slack gives no Socket Mode connection: {describe(error)}") from error


def _end(client: SocketModeClient) -> None:
    """End the SDK's threads, first those that could open a connection again.

    The SDK's own `close` alone can wait for ever: a reader that starts at that moment sets `terminated` back to False,
    and never sees that it should end. So this uses fields of the SDK that are not documented, each with its reason.
    """
    # The monitor and the reader check these two before they reconnect. `connect` copies the default over the first.
    client.closed = True
    client.auto_reconnect_enabled = client.default_auto_reconnect_enabled = False
    # The message thread waits up to a second for an item in its queue; this item wakes it.
    client.message_queue.put(None)
    # The monitor reconnects. The message thread hands on Slack's "disconnect" messages, which reconnect too.
    for thread in (client.current_app_monitor, client.message_processor):
        if thread.is_alive():
            thread.shutdown()  # type: ignore[no-untyped-call]
    # The reader starts a session every 0.1 s until this event is set.
    reader = client.current_session_runner
    reader.event.set()
    while reader.is_alive():
        # Set again in each round: a session that has just started has set it back.
        client.current_session_state.terminated = True
        # The reader blocks in a read of this socket; the shutdown ends the read.
        if (session := client.current_session) and (connection := session.sock):
            with suppress(OSError):  # it has just been closed
                connection.shutdown(socket.SHUT_RDWR)
        reader.thread.join(END_AGAIN_S)
    client.close()
