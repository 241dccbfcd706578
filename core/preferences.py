"""What people choose in Slack for themselves and for a channel. An admin's choices are in `core/adjusting.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from pydantic import Field, ValidationError

from core.values import Language, Value

INSTRUCTION_CHARS: Final = 2_000
"""The longest instructions of a person or a channel. All of them are in every prompt."""

WORKSPACE: Final = ""
"""The subject of what holds for a whole workspace; the others are ids of people (U…, W…) and channels (C…, G…, D…)."""


class _Chosen(Value):
    @classmethod
    def read(cls, body: Mapping[str, Any] | None) -> Self:
        """What was stored, as far as this version can read it."""
        try:
            return cls.model_validate(body or {}, extra="allow")
        except ValidationError:
            return cls()


PROFILES: Final = 10
"""The most profiles of a person."""

PROFILE_CHARS: Final = 40
"""The longest name of a profile."""


class Profile(_Chosen):
    """What a person may want of every answer, as it is kept under a name.

    `language` is the language of answers and sentences, "" for the language of the question. `staged`: step by step.
    `model` is a name under `[models]`, "" for the first one.
    """

    language: Language | Literal[""] = ""
    staged: bool = False
    model: str = Field(default="", max_length=60)
    instructions: str = Field(default="", max_length=INSTRUCTION_CHARS)


class PersonPreferences(Profile):
    """What a person wants of every answer to a question of theirs, and what they kept under names for other work."""

    profiles: Mapping[str, Profile] = Field(default={}, max_length=PROFILES)

    @property
    def profile(self) -> str:
        """The name under which what they want now is kept; "" when it is under none."""
        now = {name: getattr(self, name) for name in Profile.model_fields}
        return next((name for name, kept in self.profiles.items() if kept.model_dump() == now), "")


class ChannelPreferences(_Chosen):
    """What the people of a channel want of every answer there."""

    instructions: str = Field(default="", max_length=INSTRUCTION_CHARS)
