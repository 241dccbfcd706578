"""What people decide about a proposal of the team's memory, on its way from the bot to the worker.

The bot makes a command of a press or a submitted form: its kind is MEMORY (`core/commands/registry.py`), its text is
this value. Whether the proposal is still open, and whether the person may, is the worker's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from core.steps import Proposed, Settled, Step
from core.values import Value

ENTRY_CHARS = 2_900
"""A field of a form takes so many."""
PAGE_CHARS = 80_000
"""All fields of a form with a playbook take so many."""


class MemoryDecision(Value):
    """What to do with a proposal. `title` and `text` are a person's changes to the proposal.

    `version` is the one that the person had before them, 0 where a proposal has only one.
    Of a function: try it once more, have another one written, or have one written for another need, which is `text`.
    """

    proposal: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,100}$")]
    do: Literal["keep", "replace", "forget", "drop", "edit", "retest", "again", "restate"]
    version: Annotated[int, Field(ge=0)] = 0
    title: Annotated[str, Field(max_length=120)] = ""
    text: Annotated[str, Field(max_length=PAGE_CHARS)] = ""

    def encode(self) -> str:
        """The text of the command's message."""
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def decode(cls, text: str) -> MemoryDecision | None:
        """The decision in a command's text; None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None


def proposal_of(turns: Iterable[Sequence[Step]], proposal: str) -> tuple[Proposed, Settled | None] | None:
    """The proposal with this id among the steps of a thread, and what became of it; None when there is none."""
    found: Proposed | None = None
    end: Settled | None = None
    for step in (step for steps in turns for step in steps):
        if isinstance(step, Proposed) and step.id == proposal:
            found = step
        elif isinstance(step, Settled) and step.proposal == proposal:
            end = step
    return None if found is None else (found, end)
