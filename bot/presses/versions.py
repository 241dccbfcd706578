"""What a message of a thread is to the analyst now, and its versions, read from the Store at each press."""

from __future__ import annotations

from collections.abc import Callable

from core.commands.registry import CONTEXT, NOTE, argument_of
from core.commands.stepping_in import ContextChange
from core.message_versions import (
    CELL,
    MESSAGE,
    REPORT,
    MessageVersion,
    changed_versions,
    made_versions,
    written_versions,
)
from core.steps import Step
from core.store import Store
from core.values import ThreadKey

_CELLS = ("figures", "own", "made")
"""The rows of the outbox that show what a cell made."""


def target_of(store: Store, thread: ThreadKey, ts: str) -> str | None:
    """What a message is in the steps of its thread: a person's words, a report, a cell; None for all else."""
    written = store.written(thread.team, thread.channel, ts)
    if written is not None:
        is_told = written.kind in ("text", NOTE) and written.thread_id == thread.id
        return f"{MESSAGE}{ts}" if is_told else None
    slot = store.outbox_slot(thread.id, ts) or ""
    turn, _, kind = slot.removeprefix(f"{thread.id}/t").partition(":")
    name, _, cell_id = kind.partition(":")
    if name == "report" and turn.isdigit():
        return f"{REPORT}{turn}"
    return f"{CELL}{cell_id}" if name in _CELLS and cell_id else None


def answer_of(store: Store, thread: ThreadKey, ts: str) -> str | None:
    """The id of the turn whose answer a message asked for, or belongs to; None when it has no report."""
    slot = store.outbox_slot(thread.id, ts) or ""
    for turn_id, steps in store.thread_steps(thread.id).items():
        asked = any(step.kind == "asked" and step.ts == ts for step in steps)
        if asked or slot.startswith(f"{turn_id}:"):
            return turn_id if any(step.kind == "finished" for step in steps) else None
    return None


def versions_of(
    store: Store, thread: ThreadKey, ts: str, name_of: Callable[[str], str]
) -> tuple[list[MessageVersion], str]:
    """The versions of a message, oldest first, and the id of the person who wrote it; without any, none and ""."""
    target = target_of(store, thread, ts)
    if target is None:
        return [], ""
    turns = store.timed_steps(thread.id)
    written = store.written(thread.team, thread.channel, ts)
    if written is None:
        return changed_versions(turns, target, made_versions(turns, target)), ""
    earlier = store.earlier_texts(thread.team, thread.channel, ts)
    text = argument_of(written.kind, written.text) or written.text
    first = written_versions(ts, name_of(written.user), earlier, text)
    return changed_versions(turns, target, first), written.user


def is_left_out(store: Store, thread: ThreadKey, ts: str) -> bool:
    """Whether the last change of a message left it out. A press may be on its way: the worker decides."""
    changes = [_change_in(step, ts) for step in _steps(store, thread)]
    placed = [change for change in changes if change in ("leave_out", "put_back")]
    return bool(placed) and placed[-1] == "leave_out"


def text_of(store: Store, thread: ThreadKey, ts: str) -> str | None:
    """What the analyst reads of a message now: a person's words, or the report of a turn; None for all else."""
    if (written := store.written(thread.team, thread.channel, ts)) is not None:
        if written.kind not in ("text", NOTE):
            return None
        target, text = f"{MESSAGE}{ts}", argument_of(written.kind, written.text) or written.text
    else:
        slot = store.outbox_slot(thread.id, ts) or ""
        number, _, name = slot.removeprefix(f"{thread.id}/t").partition(":report:")
        if not name or not number.isdigit():
            return None
        if store.report(f"{thread.id}/t{number}") is None:
            return None
        ended = [step.report for step in store.steps(f"{thread.id}/t{number}") if step.kind == "finished"]
        target, text = f"{REPORT}{number}", ended[-1] if ended else ""
    edits = [
        step.text
        for step in _steps(store, thread)
        if step.kind == "changed" and (step.do, step.target) == ("edit", target)
    ]
    return edits[-1] if edits else text


def _steps(store: Store, thread: ThreadKey) -> list[Step]:
    return [step for steps in store.thread_steps(thread.id).values() for step in steps]


def _change_in(step: Step, ts: str) -> str:
    """What a step changed about the message with this ts; "" for every other step.

    A step names a cell or a report where the message is ours, so what was asked for is looked at, not what it meant.
    """
    if step.kind != "commanded" or step.command != CONTEXT:
        return ""
    change = ContextChange.decode(step.text)
    return change.do if change is not None and change.message == ts else ""
