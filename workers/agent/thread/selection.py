"""Which turn gets a thread's mail when no turn is open: none, the last turn again, or a new one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.commands.approvals import PRESSES
from core.commands.registry import NOTE, commands, is_command
from core.rows import StoredMessage
from core.steps import (
    APPROVAL_EXPIRED,
    APPROVAL_REJECTED,
    STOPPED,
    UNINSTALLED,
    Asked,
    CellRan,
    Finished,
    Forgot,
    GaveUp,
    Replied,
    Step,
)

RESUMABLE = frozenset(
    {
        *(
            "model_down",
            "model_refused",
            "model_nonsense",
            "model_context",
            "prompt_too_long",
            "out_of_budget",
            "our_fault",
        ),
        *(STOPPED, UNINSTALLED, APPROVAL_REJECTED, APPROVAL_EXPIRED),
    }
)
"""Why a turn may have ended so that "continue" resumes it: what it did so far is right."""


@dataclass(frozen=True, slots=True)
class Drop:
    """These messages were meant for a turn that is over: they are read, and nothing follows."""

    mail: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True)
class CarryOut:
    """This command is carried out without a turn; its steps are the last turn's."""

    message: StoredMessage


@dataclass(frozen=True, slots=True)
class Reopen:
    """The turn at this place (0 is the oldest) goes on, as this command asks."""

    message: StoredMessage
    place: int


@dataclass(frozen=True, slots=True)
class Open:
    """A new turn begins."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing is to do."""


Selection = Drop | CarryOut | Reopen | Open | Rest


def select(mail: Sequence[StoredMessage], past: Sequence[Sequence[Step]]) -> Selection:
    """What a thread without an open turn does with its unread mail. `past` are its closed turns, oldest first."""
    if all(message.kind == NOTE for message in mail):  # they wait for a question
        return Rest()
    if past and (late := _late(mail)):
        return Drop(late)
    first = next(message for message in mail if message.kind != NOTE)
    if past and is_command(first.kind):
        at_rest = commands()[first.kind].at_rest
        if at_rest == "last_turn":
            return CarryOut(first)
        if at_rest == "reopen" and (place := resumable(past)) is not None:
            return Reopen(first, place)
    return Open()


def resumable(past: Sequence[Sequence[Step]]) -> int | None:
    """The place of the last turn, if "continue" may resume it. A reset that was declined is skipped, and so is a turn
    that only carried out a command, such as “remember …”."""
    for place in range(len(past) - 1, -1, -1):
        ends = [step for step in past[place] if isinstance(step, Finished | GaveUp | Forgot)]
        if not ends and not any(isinstance(step, Asked | Replied | CellRan) for step in past[place]):
            continue
        if ends and isinstance(end := ends[-1], Forgot) and not end.done:
            continue
        return place if ends and isinstance(end := ends[-1], GaveUp) and end.reason in RESUMABLE else None
    return None


def _late(mail: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Presses of answers and decisions, and commands that are dropped at rest if nothing else came before them."""
    others = [message.id for message in mail if message.kind not in {*PRESSES, NOTE} and not _is_dropped(message.kind)]
    first = min(others, default=None)
    return tuple(
        message
        for message in mail
        if message.kind in PRESSES or (_is_dropped(message.kind) and (first is None or message.id < first))
    )


def _is_dropped(kind: str) -> bool:
    return is_command(kind) and kind != NOTE and commands()[kind].at_rest == "drop"
