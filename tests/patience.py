"""Tests wait for a condition, never for a time. The limit is long enough for a machine under load."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

PATIENCE_S = 240.0
"""How long a condition may take before the test fails. Only a failing test waits so long."""

Value = TypeVar("Value")


def eventually(what: Callable[[], Value], named: str = "what was waited for") -> Value:
    """Returns the first true value of `what`. Fails with its name when there is none in time."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := what()):
        assert time.monotonic() < deadline, f"{named} did not come within {PATIENCE_S:.0f} s"
        time.sleep(0.02)
    return value


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that no other process gets while the block runs.

    Nothing listens there until the test starts a server with SO_REUSEADDR. A port that is only free at the moment may
    be taken by another process before that.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
