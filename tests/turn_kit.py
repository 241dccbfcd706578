"""Turns written straight into a Store, for tests of what is read from it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.store import Store, TurnRow
from core.values import IncomingMessage, Lease, TurnStatus

Json = dict[str, Any]

ASKED: Json = {"kind": "asked", "user": "U1", "author": "Ana", "text": "what sold best?", "ts": "100.000001"}
REPLIED: Json = {
    "kind": "replied",
    "purpose": "act",
    "text": "Let me look.",
    "calls": [{"id": "c1", "name": "run_python", "arguments": "{}"}],
    "usage": {"prompt_tokens": 120, "completion_tokens": 30},
    "finish": "tool_calls",
    "model": "gpt-x",
    "duration_s": 1.5,
}
CELL: Json = {
    "kind": "cell",
    "call_id": "c1",
    "cell_id": "x1",
    "title": "Totals",
    "code": "df.groupby('region').sum()",
    "status": "ok",
    "stdout": "north 12\n",
    "duration_s": 0.25,
}
CORRECTED: Json = {"kind": "corrected", "reason": "no_call", "text": "Call a tool."}
QUESTION: Json = {"kind": "questioned", "call_id": "c2", "question": "Gross or net?", "options": ["gross", "net"]}
GAVE_UP: Json = {"kind": "gave_up", "reason": "model_down", "text": "It does not answer.", "fault": "model"}
RESUMED: Json = {"kind": "resumed", "user": "U1", "author": "Ana", "text": "continue", "ts": "102.000001"}
FINISHED: Json = {"kind": "finished", "report": "North sold best."}


def message(channel: str = "C1", root_ts: str = "100.000001", *, ts: str = "") -> IncomingMessage:
    """The message that opens a thread, or with a `ts` a later one of it."""
    return IncomingMessage(
        team="T1",
        channel=channel,
        channel_type="channel",
        ts=ts or root_ts,
        root_ts=root_ts,
        user="U1",
        text="what sold best?",
    )


def tell(store: Store, steps: Sequence[Json], status: TurnStatus = "done", channel: str = "C1") -> TurnRow:
    """A message, and the turn that read it and took these steps; the card of the turn is in Slack."""
    asked = message(channel)
    thread_id = store.record_message(asked, "Ana").thread_id
    lease = Lease(thread_id=thread_id, token=store.raise_fence(thread_id), owner="test")
    turn = store.open_turn(lease, "en", "gpt-x")
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(thread_id)], steps[:1])
    store.outbox_begin(lease, f"{turn.id}:card", "chat.postMessage", {"text": "working"})
    store.outbox_done(lease, f"{turn.id}:card", "101.000001", {})
    for step in steps[1:]:
        store.append_step(lease, turn.id, step)
    store.set_thread_host(lease, "host-a")
    store.set_turn_status(lease, turn.id, status)
    told = store.turn(turn.id)
    assert told is not None
    return told
