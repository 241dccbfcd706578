"""Our two web servers send each part of an answer at once, also on a connection that is kept for the next request."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest
from patience import eventually
from slack_bolt import App

from bot.connection.web import served
from playground import running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for the server's end of a connection")


def no_delays(near: tuple[str, int], far: tuple[str, int]) -> Iterator[int]:
    """TCP_NODELAY of this process's end at `near` of the connection between two addresses."""
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError), socket.socket(fileno=os.dup(int(entry))) as found:
            if (found.getsockname(), found.getpeername()) == (near, far):
                yield found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def sends_at_once(port: int) -> bool:
    """Whether the server's end of a connection has Nagle's algorithm switched off."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        here, there = ("127.0.0.1", port), client.getsockname()
        (no_delay,) = eventually(lambda: list(no_delays(here, there)), "the server's end")
        return bool(no_delay)


def test_the_playground_sends_at_once() -> None:
    with running() as address:
        assert sends_at_once(address.port)


def test_the_bot_in_http_mode_sends_at_once() -> None:
    app = App(token="xoxb-1", signing_secret="s", token_verification_enabled=False)
    with served(app, "127.0.0.1", 0) as port:
        assert sends_at_once(port)
