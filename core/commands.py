"""The commands that people can say in a thread, and their words in each language (`commands.yaml`).

Bot and workers share this registry: the bot recognises a command in a message (`command_in`), the message carries the
command's name as its `kind`, and `workers/turn/commands/` carries it out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from core.actions import Action
from core.schedule_words import read_schedule
from core.thread_links import names_thread
from core.values import Language
from core.yaml_text import read_yaml

_MAX_CHARS = 40
_MAX_WITH_EMOJI = 200
_MARKS = " \t\r\n.!?,。！？，、¡¿~…*_`'\"“”„«»「」『』"
"""What may stand around a command: the marks of sentences, Slack's bold and code, and the quotes of the help."""
_EMOJI = r"(?::[a-z0-9_+'-]+:|[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\u200d\ufe0f\U0001f000-\U0001faff]|\s)+"
"""Emoji, as Slack writes them (“:pray:”) and as they are, with blanks between."""
_AROUND = re.compile(rf"\A{_EMOJI}|{_EMOJI}\Z")
_COLONS = ":：、"
_COMMA = "，"
"""Chinese sets it where others set a blank."""
_APOSTROPHES = str.maketrans("’‘`´", "''''")
_OPENING = " \t\r\n¡¿"
_SPACES = " \u00a0\u202f"
_PLEASE = "请"
"""A request in Chinese: “请记住金额不含税”, without a mark between. “记住密码的用户” is no request."""
_QUOTES = "\"'“„«「『"
_PREPOSITIONS = (" about", " über", " sobre", " sur")
"""What ends a word of ours that other words must follow: “what do you remember about …”."""
_FENCE = "```"
_LANGUAGE = re.compile(r"\A[ \t]*(?:python3?|py)[ \t]*\r?\n", re.IGNORECASE)
_ONE_BLOCK = 3
_ASKS = re.compile(r"\?(?=\s|\Z)|？")


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
    takes: Literal["", "code", "words", "statement", "text", "description", "topic", "schedule", "search", "link"] = ""
    keeps: bool = False
    at_once: bool = False
    session: bool = True
    files: bool = False

    @property
    def reaches_worker(self) -> bool:
        """Whether a worker carries it out, in a module of its name; the bot alone sees to the others."""
        return not (self.reply or self.keeps or self.at_once)

    @property
    def by_form(self) -> bool:
        """Whether only a form gives it: there is no message of a person in the thread that says it."""
        return not self.words

    def argument_in(self, text: str, *, mention: bool = True) -> str | None:
        """What follows this command's word in a text: code between fences, or words; None if the text does not give
        this command. Words without a colon count only in a message that `mention`s the bot: people also write "note
        that…" to each other.
        """
        if not self.takes:
            return None
        if self.takes == "schedule":
            return text.strip() if read_schedule(text) is not None else None
        fenced = text.split(_FENCE) if self.takes == "code" else [text]
        said = unicodedata.normalize("NFKC", fenced[0]).casefold() if self.takes == "code" else text.lstrip(_OPENING)
        if self.takes == "code":
            is_said = any(said.strip(_MARKS + ":") == word for words in self.words.values() for word in words)
            around = [part.strip() for part in fenced[2::2]]
            if not is_said or len(fenced) < _ONE_BLOCK or len(fenced) % 2 == 0 or any(around):
                return None
            return "\n".join(_LANGUAGE.sub("", part).strip("\r\n") for part in fenced[1::2])
        for word in sorted((word for words in self.words.values() for word in words), key=len, reverse=True):
            rest = said[len(word) :]
            if self.takes == "description" and " " not in word and word.isascii() and not _stands_alone(rest):
                continue  # "build a chart" is a question
            if self.takes == "topic" and not word.endswith(_PREPOSITIONS) and not _stands_alone(rest):
                continue  # "memory by host" and "what do you know about US sales?" are questions
            if self.takes == "search" and not _is_search(rest):
                continue  # "find the ten best customers" is a question
            is_said = said[: len(word)].translate(_APOSTROPHES).casefold() == word
            if is_said and self.takes == "statement" and not _has_colon(rest) and _ASKS.search(rest):
                return None  # "remember that refunds count. What sold best?" wants an answer
            is_request = mention and self.takes == "statement" and word.startswith(_PLEASE)
            if is_said and (_follows(rest, mention=mention and self.takes != "text") or (is_request and rest)):
                if self.takes == "link" and rest.strip(_COLONS + " \t\r\n") and not names_thread(rest.lstrip(_COLONS)):
                    return None
                return rest.lstrip(_COLONS + _COMMA + " \t\r\n").rstrip()
        return None

    def is_in(self, text: str, *, mention: bool) -> bool:
        """Whether a message says this command: its word alone, or with what it takes."""
        if self.takes:
            return self.argument_in(text, mention=mention) is not None
        return self.is_said_in(text)

    def is_said_in(self, text: str) -> bool:
        """Whether a text says this command and nothing else, in any language, in any case, with any marks around it."""
        plain = _plain(text)
        return any(plain in words for words in self.words.values())


CONFIRM, DECLINE = "confirm", "decline"
DESCRIBE, LOAD = "describe", "load"
STARTUP, STARTUP_OFF = "startup", "startup_off"
RUN, NOTE, CONTEXT, SPEAK, SWITCH = "run", "note", "context", "speak", "switch"
REMEMBER, FORGET, RECALL, MEMORY = "remember", "forget", "recall", "memory"
FORK, FORK_HERE, INHERIT = "fork", "fork_here", "inherit"
LEARN, LEARN_CELL, RETEST, FUNCTION = "learn", "learn_cell", "retest", "function"
PLAYBOOK, TEACH, UNFOLLOW, PROGRAM = "playbook", "teach", "unfollow", "program"
SEND_FILES, FILES = "send_files", "files"
BUILD, BUILDING, CHANGE, INSTALLING = "build", "building", "change", "installing"
ANSWERS = frozenset({CONFIRM, DECLINE})
"""Commands that only answer a question of ours."""


@cache
def commands() -> dict[str, Command]:
    """All commands by name. Raises pydantic.ValidationError when an entry of commands.yaml is wrong."""
    source = resources.files("core").joinpath("commands.yaml").read_text(encoding="utf-8")
    entries = {name: {"name": name, **entry} for name, entry in read_yaml(source).items()}
    return TypeAdapter(dict[str, Command]).validate_python(entries)


def command_in(text: str, *, mention: bool = True) -> Command | None:
    """The command that a message says, if it says nothing else than the command and what it takes.

    `mention`: whether the message mentions the bot.
    """
    words = (each for each in commands().values() if each.name not in ANSWERS)
    return next((each for each in words if each.is_in(text, mention=mention)), None)


def languages_saying(text: str) -> set[Language]:
    """The languages that have a word for a command which this text says, alone or with what it takes."""
    plain = _plain(text)
    return {
        language
        for command in commands().values()
        for language, words in command.words.items()
        if plain in words or (command.is_in(text, mention=True) and _begins_with(text, words))
    }


def languages_begun(text: str) -> set[Language]:
    """The languages that have a word for a command with which this text begins, also where it is none: “lade die
    Daten”."""
    return {
        language
        for command in commands().values()
        for language, words in command.words.items()
        if command.takes and _begins_with(text, words)
    }


def argument_of(kind: str, text: str) -> str:
    """What the command of this kind takes, from the text of its message; "" when there is nothing."""
    return (commands()[kind].argument_in(text) or "") if kind in commands() else ""


def is_command(kind: str) -> bool:
    """Whether a message of this kind is a command."""
    return kind in commands()


def _begins_with(text: str, words: Iterable[str]) -> bool:
    """Whether a text begins with one of these words, and more follows."""
    begin = text.lstrip(_OPENING).translate(_APOSTROPHES).casefold()
    return any(begin.startswith((f"{word}:", f"{word} ")) for word in words)


def _follows(rest: str, *, mention: bool) -> bool:
    """Whether what comes behind a command's word is what the command takes."""
    if _has_colon(rest):
        return True
    return mention and (not rest.strip() or rest[0].isspace() or rest[0] == _COMMA)


def _has_colon(rest: str) -> bool:
    """Whether a colon follows a word. French sets a space before it."""
    return rest.lstrip(_SPACES)[:1] in tuple(_COLONS)


def _stands_alone(rest: str) -> bool:
    """Whether nothing follows a word, or a colon does."""
    return not rest.strip(_MARKS) or _has_colon(rest)


def _is_search(rest: str) -> bool:
    """Whether nothing, a colon, or words in quotation marks follow a word."""
    following = rest.lstrip(_SPACES)[:1]
    return not rest.strip(_MARKS) or following in tuple(_COLONS + _QUOTES)


def without_marks(text: str) -> str:
    """A text as it is compared with a word: without case, and without the marks and emoji around it."""
    said = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold().strip(_MARKS)
    return _AROUND.sub("", said).strip(_MARKS) if len(said) <= _MAX_WITH_EMOJI else said


def _plain(text: str) -> str:
    """The words of a short text, each once where it is said again at once: “Stop! Stop!”."""
    if len(text) > _MAX_WITH_EMOJI or len(said := without_marks(text)) > _MAX_CHARS:
        return ""
    words = (word.strip(_MARKS) for word in said.replace(",", " ").split())
    return " ".join(word for word, _ in groupby(filter(None, words)))
