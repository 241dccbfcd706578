"""Files that wait for a person's yes before they go to Slack: what is asked, its outcome. Bot and workers share
it.

A press becomes a message of the command FILES whose text is a `FilesDecision`. It claims something; the steps say
whether the question is still open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pydantic import ValidationError

from core.steps import Agreed, FilesHeld, FilesSettled, Step
from core.values import Value


class FilesDecision(Value):
    """`held` names the question that is answered (`FilesHeld.id`)."""

    held: str
    do: Literal["send", "keep"]

    def encode(self) -> str:
        """The text of the message that carries it."""
        return self.model_dump_json()

    @classmethod
    def decode(cls, text: str) -> FilesDecision | None:
        """The decision in a message's text, None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None


class Held(NamedTuple):
    """A question about files: who said yes so far, its outcome, and whether it was asked again since."""

    held: FilesHeld
    agreed: tuple[Agreed, ...] = ()
    settled: FilesSettled | None = None
    asked_again: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it still waits for somebody, as far as the steps tell."""
        return self.settled is None and not self.asked_again


def held_files(turns: Iterable[Sequence[Step]]) -> list[Held]:
    """The questions about files in these turns, in their order."""
    found: dict[str, Held] = {}
    for step in (step for steps in turns for step in steps):
        if isinstance(step, FilesHeld):
            for name, before in found.items():
                if before.held.key == step.key:
                    found[name] = before._replace(asked_again=True)
            found[step.id] = Held(step)
        elif isinstance(step, FilesSettled) and step.held in found:
            found[step.held] = found[step.held]._replace(settled=step)
        elif isinstance(step, Agreed) and step.call_id in found:
            before = found[step.call_id]
            found[step.call_id] = before._replace(agreed=(*before.agreed, step))
    return list(found.values())


def held_as(turns: Iterable[Sequence[Step]], name: str) -> Held | None:
    """The question with this id; None when there is none."""
    return next((each for each in held_files(turns) if each.held.id == name), None)


def unsent(turns: Iterable[Sequence[Step]]) -> list[Held]:
    """The files that were not sent, by their last question: they wait, were kept, or nobody decided in time."""
    return [
        each
        for each in held_files(turns)
        if not each.asked_again and (each.settled is None or each.settled.outcome in ("kept", "expired"))
    ]
