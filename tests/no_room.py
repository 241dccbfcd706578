"""A machine that has no room for one more thread, as `threading` says it."""

from __future__ import annotations

import threading

import pytest


def no_room_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the next thread of this name find no room."""
    start, left = threading.Thread.start, [name]

    def started_or_not(thread: threading.Thread) -> None:
        if thread.name in left:
            left.remove(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started_or_not)
