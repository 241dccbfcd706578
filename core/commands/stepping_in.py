"""What people do by the menu “Threadbook…” of a message, or choose for a turn, on its way from the bot to the worker.

The bot makes a command of a submitted form: its kind is CONTEXT or SPEAK (`registry.py`), its text is one of these
values. What it is about is looked up by the worker. A press on the message that a model is unavailable becomes SWITCH.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from core.values import Value

SPEECH_CHARS = 3_000
"""A field of a form takes so many."""
EDIT_CHARS = 80_000


class ContextChange(Value):
    """Leave a message out of what the analyst reads, put it back, or give it another text there.

    `message` is the ts of a message of the thread, a person's or ours.
    """

    do: Literal["leave_out", "put_back", "edit"]
    message: Annotated[str, Field(pattern=r"^\d{1,20}\.\d{1,10}$")]
    text: Annotated[str, Field(max_length=EDIT_CHARS)] = ""

    def encode(self) -> str:
        """The text of the command's message."""
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def decode(cls, text: str) -> ContextChange | None:
        """The change in a command's text; None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None


class Speech(Value):
    """The analyst's next message, or its next cell, as a person wrote it."""

    what: Literal["message", "cell"]
    text: Annotated[str, Field(min_length=1, max_length=SPEECH_CHARS)]

    def encode(self) -> str:
        """The text of the command's message."""
        return self.model_dump_json()

    @classmethod
    def decode(cls, text: str) -> Speech | None:
        """The speech in a command's text; None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None


class Switch(Value):
    """How a turn goes on whose model was unavailable: with another `model` of `[models]`, or it `waits` for its own."""

    model: Annotated[str, Field(max_length=60)] = ""
    waits: bool = False

    def encode(self) -> str:
        """The text of the command's message."""
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def decode(cls, text: str) -> Switch | None:
        """The choice in a command's text; None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None
