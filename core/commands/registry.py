"""The commands that people can say in a thread, and their words in each language (`commands.yaml`).

Bot and workers share this registry: the bot recognises a command in a message (`command_in`), the message carries the
command's name as its `kind`, and `workers/turn/commands/` carries it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from core.actions import Action
from core.commands.arguments import Takes, read_argument
from core.commands.words import Said, begins_with, said_in
from core.language_detection import detect
from core.values import Language
from core.yaml_text import read_yaml


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
    takes: Takes = ""
    ordinary_in: frozenset[Language] = frozenset()
    keeps: bool = False
    at_once: bool = False
    session: bool = True
    light: bool = False
    files: bool = False

    @property
    def reaches_worker(self) -> bool:
        """Whether a worker carries it out, in a module of its name; the bot alone sees to the others."""
        return not (self.reply or self.keeps or self.at_once)

    @property
    def by_form(self) -> bool:
        """Whether only a form gives it: there is no message of a person in the thread that says it."""
        return not self.words

    @cached_property
    def longest_first(self) -> tuple[str, ...]:
        """Its words in all languages."""
        return tuple(sorted({word for words in self.words.values() for word in words}, key=len, reverse=True))

    def argument_in(self, said: Said, *, mention: bool = True) -> str | None:
        """What this command takes from a message, with or without a `mention` of the bot; None if the message does not
        give this command."""
        return read_argument(self.takes, self.longest_first, said, mention=mention)

    def is_in(self, said: Said, *, mention: bool) -> bool:
        """Whether a message says this command: its word alone, or with what it takes."""
        if self.takes in ("", "more") and said.words in self.longest_first:
            return True
        if not self.takes:
            return False
        return self.argument_in(said, mention=mention) is not None and not self._is_ordinary(said)

    def _is_ordinary(self, said: Said) -> bool:
        """Whether its English word is one of a question in another language: “Note moyenne par élève”."""
        if not self.ordinary_in or self.argument_in(said, mention=False) is not None:
            return False
        return _languages_begun(said) == {"en"} and detect(said.text) in self.ordinary_in

    def is_said_in(self, text: str) -> bool:
        """Whether a text says this command and nothing else, in any language, in any case, with any marks around it."""
        return said_in(text).words in self.longest_first


CONFIRM, DECLINE = "confirm", "decline"
DESCRIBE, LOAD = "describe", "load"
STARTUP = "startup"
RUN, NOTE, CONTEXT, SPEAK, SWITCH = "run", "note", "context", "speak", "switch"
REMEMBER, FORGET, RECALL, MEMORY = "remember", "forget", "recall", "memory"
FORK_HERE, INHERIT = "fork_here", "inherit"
LEARN, LEARN_CELL, RETEST, FUNCTION = "learn", "learn_cell", "retest", "function"
PLAYBOOK, TEACH, UNFOLLOW, PROGRAM = "playbook", "teach", "unfollow", "program"
FILES = "files"
BUILD, BUILDING, CHANGE, INSTALLING = "build", "building", "change", "installing"
ANSWERS = frozenset({CONFIRM, DECLINE})
"""Commands that only answer a question of ours."""


@cache
def commands() -> dict[str, Command]:
    """All commands by name. Raises pydantic.ValidationError when an entry of commands.yaml is wrong."""
    source = resources.files(__package__).joinpath("commands.yaml").read_text(encoding="utf-8")
    entries = {name: {"name": name, **entry} for name, entry in read_yaml(source).items()}
    return TypeAdapter(dict[str, Command]).validate_python(entries)


def command_in(text: str, *, mention: bool = True) -> Command | None:
    """The command that a message says, if it says nothing else than the command and what it takes.

    `mention`: whether the message mentions the bot.
    """
    said = said_in(text)
    words = (each for each in commands().values() if each.name not in ANSWERS)
    return next((each for each in words if each.is_in(said, mention=mention)), None)


def argument_of(kind: str, text: str) -> str:
    """What the command of this kind takes, from the text of its message; "" when there is nothing."""
    return (commands()[kind].argument_in(said_in(text)) or "") if kind in commands() else ""


def is_command(kind: str) -> bool:
    """Whether a message of this kind is a command."""
    return kind in commands()


def is_light(kind: str) -> bool:
    """Whether a message of this kind is a command that asks no model and runs no cell."""
    return is_command(kind) and commands()[kind].light


def is_by_form(kind: str) -> bool:
    """Whether a message of this kind is a command whose text a form of ours made: JSON, in no language."""
    return is_command(kind) and commands()[kind].by_form


def language_of(text: str, otherwise: Language) -> Language:
    """The language of a message that may say a command: “weiter” is German, although it has no other word.

    A word of several languages, or an English one, tells nothing: people say “undo” in any language. Where a message
    only begins like a command, its other words decide: “charge per customer by month” is English.
    """
    said = said_in(text)
    return _told_by(_languages_saying(said)) or detect(text, _told_by(_languages_begun(said)) or otherwise)


def _told_by(own: set[Language]) -> Language | None:
    """The language that has the word of a command, if it is the only one and tells something."""
    return next(iter(own)) if len(own) == 1 and not own & {"en", "zh"} else None


def _languages_saying(said: Said) -> set[Language]:
    """The languages that have a word for a command which this message says, alone or with what it takes."""
    given = {name for name in _begun(said) if commands()[name].is_in(said, mention=True)}
    return {
        language
        for command in commands().values()
        for language, words in command.words.items()
        if said.words in words or (command.name in given and begins_with(said, words))
    }


def _languages_begun(said: Said) -> set[Language]:
    """The languages that have a word for a command with which this message begins, also where it is none: “lade die
    Daten”."""
    return {
        language
        for name in _begun(said)
        for language, words in commands()[name].words.items()
        if begins_with(said, words)
    }


def _begun(said: Said) -> list[str]:
    """The commands that take something and with a word of which this message begins."""
    return [each.name for each in commands().values() if each.takes and said.opening.startswith(each.longest_first)]
