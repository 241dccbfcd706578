"""The states of a thread: what it said at each moment, as hashes over ordered lists. Pure.

A state is the ordered list of the steps that counted then (`effective_steps`). Its hash is made of the hashes of the
items, so the same list is the same state. If somebody leaves a message out and puts it back, the state is the earlier
one. Identical texts that were sent twice are two items, each at its place.

Nothing is stored for it. Steps are only ever appended, so each earlier list can be computed again.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.steps import (
    Acknowledged,
    Agreed,
    Asked,
    Briefed,
    CellRan,
    Changed,
    Commanded,
    Compacted,
    Corrected,
    Decided,
    FilesHeld,
    FilesSettled,
    Finished,
    Forgot,
    Forked,
    GaveUp,
    Imported,
    Inherited,
    LeaseGone,
    Loaded,
    ModelFailed,
    Noted,
    Planned,
    Queried,
    Questioned,
    Redrafted,
    Replied,
    Resumed,
    Said,
    Startup,
    Step,
    ToolCalled,
    Undone,
    UnknownStep,
    Unread,
    dump_step,
)
from workers.agent.replies.plans import lines_of, plan_text
from workers.agent.thread.effective_steps import effective_steps

Moment = Any
"""A datetime. `workers/agent/` reads no clock; it only hands times on."""

TimedTurn = Sequence[tuple[Moment, Step]]
"""The steps of a turn as they are stored, each with its time."""

_MARKS = (
    *(
        Acknowledged,
        Changed,
        Commanded,
        Compacted,
        Forked,
        LeaseGone,
        ModelFailed,
        Queried,
        Resumed,
        Startup,
        ToolCalled,
        Undone,
        Unread,
    ),
)
"""Steps that say what was done to other steps, or what happened to us. They are no items of a conversation."""
_PEOPLE_CHANGE = (Changed, Decided, Forgot, Resumed, Undone)
SHORTEST_NAME = 6
"""A state can be named by its first characters, this many or more."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing of a conversation. `source` is the hash of the item that it was made from, "" for none. An edited
    message names its original. A cell and a report name the reply that asked for them."""

    hash: str
    kind: str
    who: str
    text: str
    at: Moment
    source: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """What a thread said at a moment. `event` caused this state: "turn", or the kind of a person's change."""

    hash: str
    at: Moment
    turn: int
    event: str
    who: str
    items: tuple[Item, ...]


def states(turns: Sequence[TimedTurn]) -> list[State]:
    """The states of a thread, oldest first: after each turn and after each change of a person."""
    found: list[State] = []
    for number, steps in enumerate(turns, start=1):
        for place, (at, step) in enumerate(steps, start=1):
            is_last = place == len(steps)
            if not is_last and not isinstance(step, _PEOPLE_CHANGE):
                continue
            upto = [*turns[: number - 1], steps[:place]]
            items = items_of(upto)
            key = state_hash(items)
            if found and found[-1].hash == key:
                continue
            event, who = _event(step)
            found.append(State(key, at, number, event, who, items))
    return found


def items_of(turns: Sequence[TimedTurn]) -> tuple[Item, ...]:
    """What the thread says now."""
    effective = effective_steps([[step for _, step in steps] for steps in turns])
    found: list[Item] = []
    replies: dict[str, str] = {}
    last_reply = ""
    for stored, steps in zip(turns, effective, strict=True):
        for (at, before), step in paired(stored, steps):
            if isinstance(step, _MARKS):
                continue
            key, original = step_hash(step), step_hash(before)
            source = original if original != key else _asked_by(step, replies, last_reply)
            source = step.source if isinstance(step, Said) else source
            found.append(Item(key, step.kind, _who(step), _text(step), at, source))
            if isinstance(step, Replied) and step.purpose == "act":
                last_reply = key
                replies |= {call.id: key for call in step.calls}
    return tuple(found)


def last_state(turns: Sequence[TimedTurn]) -> str:
    """The hash of what the thread says now; "" when it says nothing."""
    items = items_of(turns)
    return state_hash(items) if items else ""


def state_hash(items: Sequence[Item]) -> str:
    """The hash of an ordered list."""
    return hashlib.sha256("\n".join(item.hash for item in items).encode()).hexdigest()


def step_hash(step: Step) -> str:
    """The hash of what a step holds. The time at which it was stored does not matter."""
    body = dump_step(step)
    if getattr(step, "left_out", False):
        body["left_out"] = True
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()


def state_named(found: Sequence[State], name: str) -> State | None:
    """The state that a hash, its first characters, or "" (the newest) names. None when none or several fit."""
    if not name:
        return found[-1] if found else None
    if len(name) < SHORTEST_NAME:
        return None
    meant = {state.hash: state for state in found if state.hash.startswith(name)}
    return next(iter(meant.values())) if len(meant) == 1 else None


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two lists: an item that only one of them has, or an item that was edited."""

    before: Item | None
    after: Item | None


def differences(one: Sequence[Item], other: Sequence[Item]) -> list[Difference]:
    """The changes that turn `one` into `other`, in its order."""
    matcher = difflib.SequenceMatcher(None, [item.hash for item in one], [item.hash for item in other], autojunk=False)
    found: list[Difference] = []
    for kind, start, end, from_, to in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone, new = list(one[start:end]), list(other[from_:to])
        for item in gone:
            edited = next((each for each in new if _same_origin(item, each)), None)
            if edited is not None:
                new.remove(edited)
            found.append(Difference(item, edited))
        found += [Difference(None, item) for item in new]
    return found


def _same_origin(one: Item, other: Item) -> bool:
    return one.kind == other.kind and bool({one.hash, one.source} & {other.hash, other.source} - {""})


def paired(stored: TimedTurn, effective: Sequence[Step]) -> Iterator[tuple[tuple[Moment, Step], Step]]:
    """Each effective step with the stored step that it comes from. Both are in the same order, and some stored steps
    are left out."""
    place = 0
    for step in effective:
        at = next((n for n in range(place, len(stored)) if _is_from(step, stored[n][1])), None)
        if at is None:
            yield (stored[min(place, len(stored) - 1)][0], step), step
            continue
        place = at + 1
        yield stored[at], step


def _is_from(step: Step, stored: Step) -> bool:
    if step is stored:
        return True
    if type(step) is not type(stored):
        return False
    if isinstance(step, CellRan) and isinstance(stored, CellRan):
        return step.cell_id == stored.cell_id
    if isinstance(step, Asked | Noted) and isinstance(stored, Asked | Noted):
        return step.ts == stored.ts
    return isinstance(step, Replied | Finished | Decided)


def _asked_by(step: Step, replies: dict[str, str], last: str) -> str:
    if isinstance(step, CellRan):
        return replies.get(step.call_id, "")
    return last if isinstance(step, Finished) else ""


def _who(step: Step) -> str:
    """The person behind a step, or the role. Steps of the analyst have none."""
    if isinstance(step, Said):
        return step.who
    return str(getattr(step, "author", "") or getattr(step, "user", ""))


def _event(step: Step) -> tuple[str, str]:
    if isinstance(step, Changed):
        return step.do, _who(step)
    return (step.kind if isinstance(step, _PEOPLE_CHANGE) else "turn"), _who(step)


def _text(step: Step) -> str:  # noqa: PLR0912 - one case per kind of step
    match step:
        case Asked() | Noted():
            return "(left out)" if getattr(step, "left_out", False) else step.text
        case Replied():
            said = [step.text, *(f"{call.name}: {call.arguments}" for call in step.calls)]
            return "\n".join(each for each in said if each)
        case CellRan():
            shown = "(left out)" if step.left_out else step.stdout or step.result
            return "\n".join(each for each in (f"[{step.status}] {step.title}", step.code, shown, step.error) if each)
        case Planned():
            return "\n".join(each for each in (step.why, plan_text(lines_of([step]))) if each)
        case Corrected() | GaveUp() | Forgot():
            return step.text
        case Questioned():
            return "\n".join((step.question, *step.options))
        case Decided():
            return "\n".join(each for each in (step.outcome, step.code, step.hint) if each)
        case Agreed():
            return "agreed"
        case Redrafted():
            return step.code
        case FilesHeld():
            return "\n".join(file.name for file in step.files)
        case FilesSettled():
            return step.outcome
        case Finished():
            return step.report
        case Briefed():
            return "\n".join([*(file.path for file in step.files), *(problem.name for problem in step.problems)])
        case Said():
            return step.text
        case Imported():
            return f"all below was imported from {step.file}, {step.place}"
        case Loaded():
            return "\n".join((f"{step.source}@{step.state[:12]}", *step.questions, step.report))
        case Inherited():
            return f"all above comes from {step.source}@{step.state[:12]}"
        case UnknownStep():
            return step.stored_kind
        case _:
            return ""
