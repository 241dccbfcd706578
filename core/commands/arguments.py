"""What a command takes from its message: words, code, a schedule, a link. One function for each kind."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal

from core.commands.words import (
    COLONS,
    COMMA,
    MARKS,
    Said,
    has_colon,
    has_colon_or_quotes,
    is_only_marks,
    rest_behind,
)
from core.schedules.wishes import wishes_schedule
from core.schedules.words import read_schedule
from core.thread_links import names_thread

Takes = Literal[
    "", "code", "words", "statement", "text", "more", "description", "topic", "schedule", "wish", "search", "link"
]
"""What may follow a command's word. The head of commands.yaml says what each means."""
_PLEASE = "请"
"""A request in Chinese: “请记住金额不含税”, without a mark between. “记住密码的用户” is no request."""
_PREPOSITIONS = (" about", " über", " sobre", " sur")
"""What ends a word of ours that other words must follow: “what do you remember about …”."""
_FENCE = "```"
_LANGUAGE = re.compile(r"\A[ \t]*(?:python3?|py)[ \t]*\r?\n", re.IGNORECASE)
_ONE_BLOCK = 3
_ASKS = re.compile(r"\?(?=\s|\Z)|？")


def read_argument(takes: Takes, words: tuple[str, ...], said: Said, *, mention: bool) -> str | None:
    """What a message gives to the command with these words, the longest first; None when it does not give this command.

    Words without a colon count only in a message that `mention`s the bot: people also write "note that…" to each other.
    """
    if takes == "":
        return None
    if takes == "code":
        return _code(words, said.text)
    if takes == "schedule":
        return said.text.strip() if read_schedule(said.text) is not None else None
    if takes == "wish":
        return said.text.strip() if wishes_schedule(said.text) else None
    if not said.opening.startswith(words):
        return None
    for word in words:
        rest = rest_behind(word, said)
        if rest is not None and _MAY_FOLLOW[takes](word, rest, mention):
            return rest.lstrip(COLONS + COMMA + " \t\r\n").rstrip()
    return None


def _code(words: Collection[str], text: str) -> str | None:
    """The code blocks behind a word, with nothing else around them."""
    before, *blocks = text.split(_FENCE)
    said = unicodedata.normalize("NFKC", before).casefold().strip(MARKS + ":")
    is_closed = len(blocks) + 1 >= _ONE_BLOCK and len(blocks) % 2 == 0
    if said not in words or not is_closed or any(part.strip() for part in blocks[1::2]):
        return None
    return "\n".join(_LANGUAGE.sub("", part).strip("\r\n") for part in blocks[0::2])


def _words(word: str, rest: str, mention: bool) -> bool:
    """A colon and words; in a message to the bot also words alone, or nothing."""
    return has_colon(rest) or (mention and (not rest.strip() or rest[0].isspace() or rest[0] == COMMA))


def _text(word: str, rest: str, mention: bool) -> bool:
    """“décris les colonnes” is a question."""
    return has_colon(rest)


def _more(word: str, rest: str, mention: bool) -> bool:
    """“as a program it would be slow” is no command."""
    return _stands_alone(rest)


def _description(word: str, rest: str, mention: bool) -> bool:
    """“build a chart” is a question."""
    is_one_word = " " not in word and word.isascii()
    return _words(word, rest, mention) and (not is_one_word or _stands_alone(rest))


def _topic(word: str, rest: str, mention: bool) -> bool:
    """“memory by host” and “what do you know about US sales?” are questions."""
    return _words(word, rest, mention) and (word.endswith(_PREPOSITIONS) or _stands_alone(rest))


def _search(word: str, rest: str, mention: bool) -> bool:
    """“find the ten best customers” is a question."""
    return _words(word, rest, mention) and (is_only_marks(rest) or has_colon_or_quotes(rest))


def _statement(word: str, rest: str, mention: bool) -> bool:
    """“remember that refunds count. What sold best?” wants an answer."""
    if not has_colon(rest) and _ASKS.search(rest):
        return False
    is_request = mention and bool(rest) and word.startswith(_PLEASE)
    return is_request or _words(word, rest, mention)


def _link(word: str, rest: str, mention: bool) -> bool:
    """“load the file of March” is a question."""
    is_given = not rest.strip(COLONS + " \t\r\n") or names_thread(rest.lstrip(COLONS))
    return is_given and _words(word, rest, mention)


def _stands_alone(rest: str) -> bool:
    return is_only_marks(rest) or has_colon(rest)


_MAY_FOLLOW: Final[Mapping[str, Callable[[str, str, bool], bool]]] = {
    "words": _words,
    "text": _text,
    "more": _more,
    "description": _description,
    "topic": _topic,
    "search": _search,
    "statement": _statement,
    "link": _link,
}
"""Whether this may follow this word of a command that takes words of this kind, in a message to the bot or not."""
