"""How a word that is a command is found in a message: with marks, emoji, quotes and colons around it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final, NamedTuple

MARKS: Final = " \t\r\n.!?,。！？，、¡¿~…*_`'\"“”„«»「」『』"
"""What may stand around a command: the marks of sentences, Slack's bold and code, and the quotes of the help."""
COLONS: Final = ":：、"
COMMA: Final = "，"
"""Chinese sets it where others set a blank."""
OPENING_CHARS: Final = 80
"""More than the longest word of a command has."""
_MAX_CHARS = 40
_MAX_WITH_EMOJI = 200
_EMOJI = r"(?::[a-z0-9_+'-]+:|[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\u200d\ufe0f\U0001f000-\U0001faff]|\s)+"
"""Emoji, as Slack writes them (“:pray:”) and as they are, with blanks between."""
_AROUND = re.compile(rf"\A{_EMOJI}|{_EMOJI}\Z")
_APOSTROPHES = str.maketrans("’‘`´", "''''")
_OPENING = " \t\r\n¡¿"
_SPACES = " \u00a0\u202f"
_QUOTES = "\"'“„«「『"
_SPACED = re.compile(r"[a-zà-öø-ÿßœ]")
"""How a word begins in the languages that set spaces between words."""


class Said(NamedTuple):
    """A message, as it is compared with the words of commands: once for all commands."""

    text: str
    words: str
    """The words of a short text, each once where it is said again at once: “Stop! Stop!”; "" for a longer one."""
    opening: str
    """How it begins, without case."""


def said_in(text: str) -> Said:
    """A message as `Said`."""
    return Said(text, _plain(text), text.lstrip(_OPENING)[:OPENING_CHARS].translate(_APOSTROPHES).casefold())


def _plain(text: str) -> str:
    if len(text) > _MAX_WITH_EMOJI or len(said := without_marks(text)) > _MAX_CHARS:
        return ""
    words = (word.strip(MARKS) for word in said.replace(",", " ").split())
    return " ".join(word for word, _ in groupby(filter(None, words)))


def without_marks(text: str) -> str:
    """A text as it is compared with a word: without case, and without the marks and emoji around it."""
    said = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold().strip(MARKS)
    return _AROUND.sub("", said).strip(MARKS) if len(said) <= _MAX_WITH_EMOJI else said


def rest_behind(word: str, said: Said) -> str | None:
    """What follows a word with which a message begins; None when it begins with something else."""
    if not said.opening.startswith(word):
        return None
    begun = said.text.lstrip(_OPENING)
    begin, rest = begun[: len(word)], begun[len(word) :]
    return rest if begin.translate(_APOSTROPHES).casefold() == word else None


def begins_with(said: Said, words: Iterable[str]) -> bool:
    """Whether a message begins with one of these words, and more follows."""
    return any(said.opening.startswith((f"{word}:", f"{word} ")) for word in words)


def stands_in(text: str, within: str) -> bool:
    """Whether the words of one text stand in another one: as whole words where the language sets spaces."""
    said = without_marks(text)
    place = rf"(?<!\w){re.escape(said)}(?!\w)" if _SPACED.match(said) else re.escape(said)
    return re.search(place, without_marks(within)) is not None


def has_colon(rest: str) -> bool:
    """Whether what follows a word begins with a colon. French sets a space before it."""
    return rest.lstrip(_SPACES)[:1] in tuple(COLONS)


def has_colon_or_quotes(rest: str) -> bool:
    """Whether what follows a word begins with a colon or with a quotation mark."""
    return rest.lstrip(_SPACES)[:1] in tuple(COLONS + _QUOTES)


def is_only_marks(rest: str) -> bool:
    """Whether no word follows a word."""
    return not rest.strip(MARKS)
