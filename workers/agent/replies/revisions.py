"""A report may come again as changes to the turn's last one: each is a passage of it and what stands there instead.

A report that is sent back for two figures is long. Writing it whole again costs time and tokens, and what was right may
come back wrong. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.steps import Replied, Step, ToolCall
from workers.agent.provenance.formulas.tokens import without_tokens
from workers.agent.replies.intents import Report
from workers.agent.replies.parse import read_reply
from workers.agent.replies.tools import CHANGES, changes_of
from workers.agent.text import clean, one_line

_OLD_KEYS = ("old", "find", "from", "before", "old_string", "old_text", "search")
_NEW_KEYS = ("new", "replace", "to", "after", "new_string", "new_text", "replacement", "with")
_MAX_CHANGES = 100
_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True)
class Unfit:
    """A change that cannot be made. `count`: how often its passage stands in the report."""

    passage: str
    count: int


def whole_reports(steps: Sequence[Step]) -> list[Step]:
    """The steps of a turn, each reply that sends changes with the whole report that they give.

    A reply whose changes do not fit stays as it is: it reads as Malformed ("changes_unfit").
    """
    if not any(isinstance(step, Replied) and any(map(_may_change, step.calls)) for step in steps):
        return list(steps)  # nearly always: each decision asks again, and reading replies takes its time
    draft, kept = "", list[Step]()
    for step in steps:
        reply = _with_report(step, draft) if isinstance(step, Replied) else step
        draft = _report_of(reply) or draft
        kept.append(reply)
    return kept


def unfit(steps: Sequence[Step], raw: str) -> Unfit | None:
    """The first of the changes in a call's arguments `raw` that cannot be made in the turn's last report.

    None when there is no report yet, or when the arguments hold no changes that can be read.
    """
    drafts = [text for step in steps if (text := _report_of(step))]
    changes = changes_of(raw)
    found = _changed(drafts[-1], changes) if drafts and changes is not None else None
    return found if isinstance(found, Unfit) else None


def _with_report(reply: Replied, draft: str) -> Replied:
    calls = tuple(_whole(call, draft) for call in reply.calls)
    return reply if calls == reply.calls else reply.model_copy(update={"calls": calls})


def _may_change(call: ToolCall) -> bool:
    return CHANGES in call.arguments


def _whole(call: ToolCall, draft: str) -> ToolCall:
    changes = changes_of(call.arguments, name=call.name)
    if not draft or changes is None or not isinstance(text := _changed(draft, changes), str):
        return call
    return call.model_copy(update={"arguments": json.dumps({"report": text}, ensure_ascii=False)})


def _report_of(step: Step) -> str:
    if not isinstance(step, Replied) or step.purpose != "act":
        return ""
    return next((each.text for each in read_reply(step, 1).intents if isinstance(each, Report)), "")


def _changed(draft: str, changes: Sequence[Any]) -> str | Unfit:
    """The draft with all changes made, one after the other, or the first that cannot be made."""
    for change in changes[:_MAX_CHANGES]:
        old, new = (_passage(change, keys) for keys in (_OLD_KEYS, _NEW_KEYS))
        count = draft.count(old) if old else 0
        if count == 1:
            draft = draft.replace(old, new)
        elif not count and (place := _without_tokens(draft, old)) is not None:
            draft = f"{draft[: place[0]]}{new}{draft[place[1] :]}"
        else:
            return Unfit(one_line(old, _SHOWN_CHARS) or "(no old passage)", count)
    return draft


def _without_tokens(draft: str, old: str) -> tuple[int, int] | None:
    """Where a passage stands in a draft if tokens do not count: people's messages quote figures without theirs. A token
    right behind the passage is a part of it."""
    bare, places = without_tokens(draft)
    passage = without_tokens(old)[0].strip()
    if not passage or bare.count(passage) != 1:
        return None
    start = bare.index(passage)
    return places[start], places[start + len(passage)]


def _passage(change: Any, keys: Sequence[str]) -> str:
    found = next((change[key] for key in keys if key in change), "") if isinstance(change, Mapping) else ""
    return clean(str(found or ""))
