"""The commands that people can say in a thread, and their words in each language (`commands.yaml`).

Bot and workers share this registry: the bot recognises a command in a message (`command_in`), the message carries the
command's name as its `kind`, and `workers/turn/commands/` carries it out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from core.actions import Action
from core.values import Language

_MAX_CHARS = 40
_MARKS = " \t\r\n.!?,。！？，~…"


class Command(BaseModel):
    """One command. The head of commands.yaml says what each field means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    words: Mapping[Language, frozenset[str]]
    at_rest: Literal["drop", "last_turn", "new_turn", "reopen"]
    in_turn: Literal["command", "words"] = "command"
    nothing: str = ""
    reply: str = ""
    action: Action | None = None
    leaves: bool = False

    def is_said_in(self, text: str) -> bool:
        """Whether a text says this command and nothing else, in any language, in any case, with any marks around it."""
        plain = _plain(text)
        return any(plain in words for words in self.words.values())


CONFIRM, DECLINE = "confirm", "decline"
ANSWERS = frozenset({CONFIRM, DECLINE})
"""Commands that only answer a question of ours."""


@cache
def commands() -> dict[str, Command]:
    """All commands by name. Raises pydantic.ValidationError when an entry of commands.yaml is wrong."""
    source = resources.files("core").joinpath("commands.yaml").read_text(encoding="utf-8")
    entries = {name: {"name": name, **entry} for name, entry in yaml.safe_load(source).items()}
    return TypeAdapter(dict[str, Command]).validate_python(entries)


def command_in(text: str) -> Command | None:
    """The command that a message says, if it says nothing else."""
    return next((each for each in commands().values() if each.name not in ANSWERS and each.is_said_in(text)), None)


def is_command(kind: str) -> bool:
    """Whether a message of this kind is a command."""
    return kind in commands()


def _plain(text: str) -> str:
    if len(text) > _MAX_CHARS:
        return ""
    plain = unicodedata.normalize("NFKC", text).casefold().strip(_MARKS)
    return " ".join(plain.replace(",", " ").split())
