"""Waiting in tests: for a condition and never for a time, with a patience that also a machine under load keeps to."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

PATIENCE_S = 120.0
"""How long anything may take before a test calls it missing. Only a test that fails waits as long."""

Value = TypeVar("Value")


def eventually(what: Callable[[], Value], named: str = "what was waited for") -> Value:
    """The first true value of `what`; fails with its name when there is none in time."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := what()):
        assert time.monotonic() < deadline, f"{named} did not come within {PATIENCE_S:.0f} s"
        time.sleep(0.02)
    return value


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that nobody else gets while the block runs.

    Nothing listens there until a server of the test's own does, with SO_REUSEADDR as servers have it: a port that was
    merely free a moment ago may be somebody else's by then.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
