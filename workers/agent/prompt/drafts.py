"""Closed turns as later turns remember them: without reports that were sent back, and after a reset without cells.

The report that was posted says what holds. A draft costs tokens in every request, and its figures may be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from core.steps import CellRan, Checked, Corrected, Finished, Questioned, Replied, Step, ToolCall, Undone
from workers.agent.replies.intents import Intent, Malformed, Question, Report
from workers.agent.replies.parse import read_reply
from workers.agent.replies.tools import ASK_USER, CHANGES_UNFIT, FINISH
from workers.agent.turn import Episode, episodes

_DRAFT = "(a draft that was not posted)"
_SENT_BACK = "It was sent back. The report that was posted stands below."


def without_drafts(found: Sequence[Episode]) -> list[Episode]:
    """The episodes of a closed turn, its drafts without their text. A draft that was posted in the end stays whole."""
    ended = (at for at, episode in enumerate(found) if any(isinstance(step, Finished) for step in episode.steps))
    last = max((at for at in ended if _reports(found[at])), default=0)
    return [_short(episode) if at < last and _is_draft(episode) else episode for at, episode in enumerate(found)]


def without_cells(steps: Sequence[Step]) -> tuple[Step, ...]:
    """A turn that a reset followed: what people wrote and gave, what they were asked, and the report.

    Its code, outputs and drafts are gone, because a model takes what the code sets for alive, and goes the same way
    again. Of a reply only its question or its posted report is left.
    """
    opening, found = episodes(steps)
    kept = [*opening]
    for episode in found:
        calls = tuple(
            call for intent in read_reply(episode.reply, episode.number).intents if (call := _told(intent, episode))
        )
        if calls:
            kept.append(episode.reply.model_copy(update={"text": "", "calls": calls}))
        kept += episode.steps
    return tuple(step for step in kept if not isinstance(step, CellRan | Undone | Corrected))


def _told(intent: Intent, episode: Episode) -> ToolCall | None:
    """The call of a question that was asked, or of a report that was posted; None for anything else."""
    arguments: dict[str, object]
    if isinstance(intent, Report) and any(isinstance(step, Finished) for step in episode.steps):
        name, arguments = FINISH, {"report": intent.text}
    elif isinstance(intent, Question) and any(
        isinstance(step, Questioned) and step.call_id == intent.call_id for step in episode.steps
    ):
        name, arguments = ASK_USER, {"question": intent.question, "options": list(intent.options)}
    else:
        return None
    return ToolCall(id=intent.call_id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def _reports(episode: Episode) -> bool:
    intents = read_reply(episode.reply, episode.number).intents
    return len(intents) == 1 and (isinstance(intents[0], Report) or _is_unfit(intents[0]))


def _is_unfit(intent: Intent) -> bool:
    """Whether it is changes to a draft that could not be made: they quote it."""
    return isinstance(intent, Malformed) and intent.reason == CHANGES_UNFIT


def _is_draft(episode: Episode) -> bool:
    """Whether an episode is nothing but a report and why it was sent back."""
    judged = all(isinstance(step, Checked | Corrected) or _is_verdict(step) for step in episode.steps)
    return judged and any(isinstance(step, Corrected) for step in episode.steps) and _reports(episode)


def _is_verdict(step: object) -> bool:
    return isinstance(step, Replied) and step.purpose == "check"


def _short(episode: Episode) -> Episode:
    reply = episode.reply
    calls = tuple(call.model_copy(update={"arguments": json.dumps({"report": _DRAFT})}) for call in reply.calls)
    text = reply.text if calls else f"<finish>\n{_DRAFT}\n</finish>"
    steps = tuple(
        step.model_copy(update={"text": _SENT_BACK}) if isinstance(step, Corrected) else step for step in episode.steps
    )
    return replace(episode, reply=reply.model_copy(update={"calls": calls, "text": text}), steps=steps)
