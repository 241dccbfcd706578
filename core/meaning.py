"""Asks a worker which threads mean what somebody looks for. Nobody waits for the answer longer than a moment."""

from __future__ import annotations

import time
from collections.abc import Callable

from core.settings import Settings
from core.store import Store

LONGEST_WAIT_S = 3.0
_LOOK_EVERY_S = 0.05
_MOST_CHARS = 1_000


def threads_near(
    settings: Settings,
    store: Store,
    text: str,
    *,
    team: str = "",
    channel: str = "",
    thread_id: str = "",
    wait_s: float = LONGEST_WAIT_S,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """The threads of a workspace (or of all) whose meaning is near to a text, the nearest first. The text comes from
    this thread. None where no embedding model is set, and when no worker answers in time. Raises StoreUnreachable.
    """
    if not settings.memory.embedding_model or not text.strip():
        return []
    search_id = store.begin_search(thread_id, team, channel, text[:_MOST_CHARS])
    try:
        ends_at = clock() + wait_s
        while (found := store.search_answer(search_id)) is None and clock() < ends_at:
            sleep(_LOOK_EVERY_S)
    finally:
        store.end_search(search_id)
    return found or []
