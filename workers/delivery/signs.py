"""The reactions on people's messages that say how a turn came to rest. Pure functions of its steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TypeGuard

from core.commands.registry import RUN, commands
from core.interactions import Reaction
from core.steps import (
    STOPPED,
    Asked,
    Closed,
    Commanded,
    FilesHeld,
    Finished,
    GaveUp,
    Resumed,
    Step,
    answers_reset,
)
from core.values import TurnStatus

_OUTCOME: dict[TurnStatus, str] = {"done": Reaction.DONE, "stopped": Reaction.FAILED, "failed": Reaction.FAILED}


class Sign(NamedTuple):
    """A reaction to put on the message with this ts; to take away when it is outdated."""

    ts: str
    emoji: str
    is_outdated: bool = False


def outcome_signs(steps: Sequence[Step], status: TurnStatus, pressed: Collection[str]) -> Iterator[Sign]:
    """The signs of a turn's outcome, those to take away first. `pressed`: the ts of our own questions, which a pressed
    button has."""
    if not (outcome := _outcome(steps, status)):
        return
    for place, step in enumerate(steps):
        opens = place == 0 and not isinstance(steps[-1], Closed)
        if _shows_outcome(step, opens=opens) and step.ts not in pressed:
            for emoji in _outdated(steps, outcome, step):
                yield Sign(step.ts, emoji, is_outdated=True)
            yield Sign(step.ts, outcome)


def _shows_outcome(step: Step, *, opens: bool) -> TypeGuard[Asked | Resumed | Commanded]:
    """Whether the message of this step carries the outcome of its turn. A command that opened the turn does, unless
    the turn did nothing else."""
    if isinstance(step, Commanded):  # of a command that only did something of its own, that has put its sign
        return answers_reset(step) or (opens and step.command != RUN and not commands()[step.command].by_form)
    return isinstance(step, Asked | Resumed)


def _outdated(steps: Sequence[Step], outcome: str, message: Step) -> list[str]:
    """The signs that a message may still have: also those of an earlier end of the turn, and of its own command."""
    had_another = isinstance(message, Commanded) or any(isinstance(step, Resumed) for step in steps)
    ends = {*_OUTCOME.values(), Reaction.STOPPED, Reaction.PARTIAL} if had_another else set()
    return [Reaction.RECEIVED, *sorted(ends - {outcome})]


def _outcome(steps: Sequence[Step], status: TurnStatus) -> str | None:
    match next((step for step in reversed(steps) if not isinstance(step, FilesHeld)), None):
        case GaveUp(reason=reason) if reason == STOPPED:
            return Reaction.STOPPED
        case Finished(partial=True):
            return Reaction.PARTIAL
    return _OUTCOME.get(status)
