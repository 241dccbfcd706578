"""A connection on which nothing is heard is opened again, and is not called connected meanwhile."""

from __future__ import annotations

import itertools

from slack_sdk.errors import SlackClientNotConnectedError

from bot.connection.watchdog import DEAF_AFTER_S, LOOK_EVERY_S, PING_INTERVAL_S, Watchdog

LOOKS = int(DEAF_AFTER_S / LOOK_EVERY_S)
"""So many looks in a row without a sign of life make a connection deaf."""


class State:
    terminated = False


class Session:
    def __init__(self) -> None:
        self.last_ping_pong_time: float | None = None
        self.sock = None
        self.closed = False

    def is_active(self) -> bool:
        return not self.closed

    def close(self) -> None:
        self.closed = True


class Client:
    """What the watchdog uses of the SDK's client."""

    def __init__(self) -> None:
        self.on_message_listeners: list[object] = []
        self.current_session = Session()
        self.current_session_state = State()
        self.connects = True
        self.opened = 0

    def is_connected(self) -> bool:
        return self.current_session.is_active()

    def connect_to_new_endpoint(self) -> None:
        if not self.connects:
            raise SlackClientNotConnectedError("nothing answers")
        self.opened += 1
        self.current_session = Session()


def watched(client: Client) -> tuple[Watchdog, list[str]]:
    gaps: list[str] = []
    watchdog = Watchdog(client, lambda: gaps.append("gap"))  # type: ignore[arg-type]
    watchdog._session = client.current_session  # type: ignore[assignment]  as `start` does, without its thread
    watchdog.look()
    return watchdog, gaps


def test_a_deaf_connection_is_found_and_replaced_within_eight_seconds() -> None:
    assert DEAF_AFTER_S + 2 * LOOK_EVERY_S < 8
    assert DEAF_AFTER_S >= 3 * PING_INTERVAL_S, "one lost ping is not deaf"


def test_a_connection_without_a_sign_of_life_is_opened_again() -> None:
    client = Client()
    watchdog, gaps = watched(client)
    deaf = client.current_session
    for _ in range(LOOKS - 1):
        watchdog.look()
    assert (client.opened, gaps) == (0, [])
    watchdog.look()
    assert deaf.closed
    assert (client.opened, gaps) == (1, ["gap"])
    watchdog.look()
    assert watchdog.is_connected()
    assert gaps == ["gap"], "the new connection is no second gap"


def test_a_pong_is_a_sign_of_life() -> None:
    client = Client()
    watchdog, gaps = watched(client)
    for number in range(5 * LOOKS):
        if number % (LOOKS - 1) == 0:
            client.current_session.last_ping_pong_time = float(number)
        watchdog.look()
    assert (client.opened, gaps) == (0, [])


def test_a_message_is_a_sign_of_life() -> None:
    client = Client()
    watchdog, gaps = watched(client)
    (listener,) = client.on_message_listeners
    for number in range(5 * LOOKS):
        if number % (LOOKS - 1) == 0:
            listener("{}")  # type: ignore[operator]
        watchdog.look()
    assert (client.opened, gaps) == (0, [])


def test_while_nothing_can_be_opened_it_is_not_connected() -> None:
    client = Client()
    client.connects = False
    watchdog, _ = watched(client)
    assert watchdog.is_connected()
    for _ in itertools.repeat(None, LOOKS):
        watchdog.look()
    assert not watchdog.is_connected()
    client.connects = True
    client.connect_to_new_endpoint()  # the SDK's own monitor
    watchdog.look()
    assert watchdog.is_connected()


def test_a_connection_that_the_sdk_replaced_is_a_gap() -> None:
    client = Client()
    watchdog, gaps = watched(client)
    client.connect_to_new_endpoint()
    for _ in range(3):
        watchdog.look()
    assert gaps == ["gap"]


def test_a_long_gap_is_noted_before_the_new_connection_counts_as_heard() -> None:
    """Else what was missed in it could be taken for heard by then."""
    client = Client()
    heard: list[bool] = []
    watchdog = Watchdog(client, lambda: heard.append(watchdog.is_connected()))  # type: ignore[arg-type]
    watchdog._session = client.current_session  # type: ignore[assignment]
    client.connects = False
    for _ in range(2 * LOOKS):
        watchdog.look()
    heard.clear()
    client.connects = True
    client.connect_to_new_endpoint()
    watchdog.look()
    assert heard == [False]
    assert watchdog.is_connected()


def test_a_gap_that_cannot_be_noted_does_not_keep_the_connection_closed() -> None:
    client = Client()

    def broken() -> None:
        raise RuntimeError("ours")

    watchdog = Watchdog(client, broken)  # type: ignore[arg-type]
    for _ in range(LOOKS + 1):
        watchdog.look()
    assert client.opened == 1
