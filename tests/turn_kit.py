"""Writes turns straight into a Store, for tests of its readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.steps import (
    Asked,
    CellRan,
    Corrected,
    Finished,
    GaveUp,
    Questioned,
    Replied,
    Resumed,
    Step,
    ToolCall,
    UnknownStep,
    Usage,
)
from core.store import Store, TurnRow
from core.values import IncomingMessage, Lease, TurnStatus

ASKED = Asked(user="U1", author="Ana", text="what sold best?", ts="100.000001")
REPLIED = Replied(
    purpose="act",
    text="Let me look.",
    calls=(ToolCall(id="c1", name="run_python", arguments="{}"),),
    usage=Usage(prompt_tokens=120, completion_tokens=30),
    finish="tool_calls",
    model="gpt-x",
    duration_s=1.5,
)
CELL = CellRan(
    call_id="c1",
    cell_id="x1",
    title="Totals",
    code="df.groupby('region').sum()",
    status="ok",
    stdout="north 12\n",
    duration_s=0.25,
)
CORRECTED = Corrected(reason="no_call", text="Call a tool.")
QUESTION = Questioned(call_id="c2", question="Gross or net?", options=("gross", "net"))
GAVE_UP = GaveUp(reason="model_down", text="It does not answer.", fault="model")
RESUMED = Resumed(user="U1", author="Ana", text="continue", ts="102.000001")
FINISHED = Finished(report="North sold best.")
DANCED = UnknownStep(body={"kind": "danced", "how": "well", "partner": None})
"""A step that only a newer version knows."""


def message(channel: str = "C1", root_ts: str = "100.000001", *, ts: str = "") -> IncomingMessage:
    """The message that opens a thread, or a later message of it when `ts` is given."""
    return IncomingMessage(
        team="T1",
        channel=channel,
        channel_type="channel",
        ts=ts or root_ts,
        root_ts=root_ts,
        user="U1",
        text="what sold best?",
    )


def changed(step: Step, **values: Any) -> Step:
    """The same step with other values in some of its fields, checked like any step."""
    return type(step).model_validate({**step.model_dump(), **values})


def write_turn(store: Store, steps: Sequence[Step], status: TurnStatus = "done", channel: str = "C1") -> TurnRow:
    """Stores a message and the turn that read it and took these steps. The turn's card is in Slack."""
    asked = message(channel)
    thread_id = store.record_message(asked, "Ana").thread_id
    lease = Lease(thread_id=thread_id, token=store.raise_fence(thread_id), owner="test")
    turn = store.open_turn(lease, "en", "gpt-x")
    store.take_mail(lease, turn.id, [mail.id for mail in store.unread(thread_id)], steps[:1])
    store.outbox_begin(lease, f"{turn.id}:card", "chat.postMessage", {"text": "working"})
    store.outbox_done(lease, f"{turn.id}:card", "101.000001", {})
    for step in steps[1:]:
        store.append_step(lease, turn.id, step)
    store.set_thread_node(lease, "host-a")
    store.set_turn_status(lease, turn.id, status)
    written = store.turn(turn.id)
    assert written is not None
    return written
