"""What goes with the commands that fork a thread: from the bot to a worker, and from one thread to the other."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationError

from core.values import Value


class ForkPoint(Value):
    """Fork the thread as it was after what a message of it shows; `message` is its ts."""

    message: Annotated[str, Field(pattern=r"^\d{1,20}\.\d{1,10}$")]

    def encode(self) -> str:
        """The text of the command's message."""
        return self.model_dump_json()

    @classmethod
    def decode(cls, text: str) -> ForkPoint | None:
        """The place in a command's text; None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None


class Inheritance(Value):
    """The origin of a new thread: the thread `source`, as it was after the first `steps` of its turn `turn`.

    `state` is the hash of its state then.
    """

    source: Annotated[str, Field(max_length=200)]
    turn: Annotated[int, Field(ge=1)]
    steps: Annotated[int, Field(ge=1)]
    state: Annotated[str, Field(max_length=64)]

    def encode(self) -> str:
        """The text of the command's message."""
        return self.model_dump_json()

    @classmethod
    def decode(cls, text: str) -> Inheritance | None:
        """The origin in a command's text; None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None
