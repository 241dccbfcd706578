"""The wire log: every call and every envelope, newest last, without tokens. For tests and debugging."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

KEEP = 5_000


class WireLog:
    """The last few thousand things that went over the wire. An entry has `n`, `at` (epoch seconds), `kind` and more."""

    def __init__(self) -> None:
        self._entries: deque[dict[str, Any]] = deque(maxlen=KEEP)
        self._count = 0

    def add(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Appends an entry and returns it, so that its writer can complete it later."""
        self._count += 1
        entry = {"n": self._count, "at": time.time(), "kind": kind, **fields}
        self._entries.append(entry)
        return entry

    def entries(self, *, kind: str = "", method: str = "", after: int = 0) -> list[dict[str, Any]]:
        """The entries numbered above `after`, optionally of one kind and one API method."""
        return [
            each
            for each in self._entries
            if each["n"] > after and (not kind or each["kind"] == kind) and (not method or each.get("method") == method)
        ]

    def clear(self) -> None:
        """Forgets the entries. The numbering continues."""
        self._entries.clear()


def place_of(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The channel and the message that an event or a press is about; empty where there is none."""
    event = payload.get("event") or payload
    item, message = event.get("item"), event.get("message")
    about = item if isinstance(item, Mapping) else message if isinstance(message, Mapping) else {}
    channel = event.get("channel") or about.get("channel") or ""
    channel = channel.get("id", "") if isinstance(channel, Mapping) else channel
    ts = event.get("thread_ts") or about.get("thread_ts") or about.get("ts") or event.get("deleted_ts")
    return {"channel": channel, "message": ts or event.get("ts") or ""}
