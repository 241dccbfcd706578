"""What people left out of the model's context, put back or edited, applied to the thread's steps. Pure.

The stored steps stay as they are. Each `Changed` names what it is about, and the last ones count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from core.commands.registry import RUN
from core.steps import (
    OWN_CALL,
    Asked,
    CellRan,
    Changed,
    Checked,
    Commanded,
    Corrected,
    Finished,
    Noted,
    Replied,
    Step,
    ToolCall,
)
from workers.agent.replies.intents import Report
from workers.agent.replies.parse import read_reply
from workers.agent.replies.tools import FINISH

MESSAGE, CELL, REPORT = "message:", "cell:", "report:"
"""How targets begin; then comes a ts, a cell's id, or the number of a turn in its thread."""

SILENT: dict[str, Any] = {
    **dict.fromkeys(("stdout", "stderr", "result", "error", "variables"), ""),
    **dict.fromkeys(("tables", "charts", "checks"), ()),
}
"""A cell that has shown nothing."""


def message_target(turns: Sequence[Sequence[Step]], ts: str) -> str | None:
    """The target of a person's message; None when no turn has read it. For a person's own code, the target is its
    cell."""
    for step in (step for steps in turns for step in steps):
        if isinstance(step, Asked | Noted) and step.ts == ts:
            return f"{MESSAGE}{ts}"
        if isinstance(step, Commanded) and step.command == RUN and step.ts == ts:
            call_id = f"{OWN_CALL}{ts}"
            cells = (each for steps in turns for each in steps if isinstance(each, CellRan))
            return next((f"{CELL}{cell.cell_id}" for cell in cells if cell.call_id == call_id), None)
    return None


def left_out(turns: Sequence[Sequence[Step]]) -> frozenset[str]:
    """The targets that are left out now."""
    found: set[str] = set()
    for step in _changes(turns):
        if step.do == "leave_out":
            found.add(step.target)
        elif step.do == "put_back":
            found.discard(step.target)
    return frozenset(found)


def edited(turns: Sequence[Sequence[Step]]) -> dict[str, Changed]:
    """The last edit of each target that has one."""
    return {step.target: step for step in _changes(turns) if step.do == "edit"}


def text_of(turns: Sequence[Sequence[Step]], target: str) -> str | None:
    """What the model reads of a message or a report now; None for what has no text of its own."""
    if (edit := edited(turns).get(target)) is not None:
        return edit.text
    for number, steps in enumerate(turns, start=1):
        for step in steps:
            if isinstance(step, Asked | Noted) and target == f"{MESSAGE}{step.ts}":
                return step.text
            if isinstance(step, Finished) and target == f"{REPORT}{number}":
                return step.report
    return None


def with_changes(turns: Sequence[Sequence[Step]]) -> list[list[Step]]:
    """The same turns as the model should read them."""
    gone, edits = left_out(turns), edited(turns)
    if not gone and not edits:
        return [list(steps) for steps in turns]
    found = []
    for number, steps in enumerate(turns, start=1):
        report = f"{REPORT}{number}"
        kept = [_changed(step, gone, edits) for step in steps]
        if report in gone:
            kept = list(_without_report(kept))
        elif report in edits:
            kept = list(_with_report(kept, edits[report].text))
        found.append([step for step in kept if step is not None])
    return found


def _changes(turns: Sequence[Sequence[Step]]) -> Iterator[Changed]:
    return (step for steps in turns for step in steps if isinstance(step, Changed))


def _changed(step: Step, gone: frozenset[str], edits: dict[str, Changed]) -> Step | None:
    if isinstance(step, CellRan):
        is_gone = f"{CELL}{step.cell_id}" in gone
        return step.model_copy(update={**SILENT, "left_out": True}) if is_gone else step
    if not isinstance(step, Asked | Noted):
        return step
    target = f"{MESSAGE}{step.ts}"
    if target in gone:
        return step.model_copy(update={"text": "", "left_out": True}) if isinstance(step, Asked) else None
    return step.model_copy(update={"text": edits[target].text}) if target in edits else step


def _without_report(steps: Sequence[Step | None]) -> Iterator[Step | None]:
    """The steps without the replies that are reports, also those that were sent back, and without their outcome."""
    drops = False
    for number, step in enumerate(steps):
        if isinstance(step, Replied):
            drops = step.purpose == "check" or _is_report(step, number)
        if drops and isinstance(step, Replied | Checked | Corrected | Finished):
            continue
        yield step


def _with_report(steps: Sequence[Step | None], text: str) -> Iterator[Step | None]:
    """The steps with another text in place of the posted report. Reports that were sent back before it are left out."""
    reports = [n for n, step in enumerate(steps) if isinstance(step, Replied) and _is_report(step, n)]
    last = reports[-1] if reports else None
    for place, each in enumerate(steps):
        if isinstance(each, Replied) and place == last:
            arguments = json.dumps({"report": text}, ensure_ascii=False)
            call = each.calls[0].id if each.calls else f"reply-{place}"
            calls = (ToolCall(id=call, name=FINISH, arguments=arguments),)
            yield each.model_copy(update={"text": "", "calls": calls})
        elif isinstance(each, Finished):
            yield each.model_copy(update={"report": text, "sources": ()})
        elif not (place in reports or (isinstance(each, Replied) and each.purpose == "check")):
            yield each


def _is_report(reply: Replied, number: int) -> bool:
    return reply.purpose == "act" and all(isinstance(each, Report) for each in read_reply(reply, number).intents)
