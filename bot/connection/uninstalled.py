"""A workspace has uninstalled the app: its turns that wait for a person are woken, so that they end."""

from __future__ import annotations

import time

from core.queue import Wakes
from core.store import Store
from core.telemetry import get_logger
from core.values import IncomingMessage, ThreadKey

log = get_logger(__name__)

MOST_TURNS = 1_000


def end_waiting(team: str, store: Store, wakes: Wakes) -> None:
    """Stop what waits for somebody in this workspace. The worker finds no token, and ends the turn with a sentence.

    What runs or is unread is woken by the janitor anyway. Raises StoreUnreachable.
    """
    waiting = store.waiting_turns(team, MOST_TURNS)
    for number, turn in enumerate(waiting):
        thread = ThreadKey.parse(turn.thread_id)
        message = IncomingMessage(
            team=team,
            channel=thread.channel,
            channel_type="",
            ts=f"{time.time() + number / 1e6:.6f}",
            root_ts=thread.root_ts,
            user="",
            text="",
            kind="stop",
        )
        if store.record_message(message).to_notify:
            wakes.wake(thread.id)
    log.info("workspace_turns_ended", count=len(waiting))
