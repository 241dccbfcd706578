"""Finds web addresses in text as a program that shows the text would: with or without schemes, entities and escapes.

A reader first turns the text into characters, each with its place. A scanner then takes words apart into scheme, host,
port and the rest, and asks of each part whether it is one. It finds too many addresses rather than too few: a found
address is only shown as code.
"""

from __future__ import annotations

import html
import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_ENTITY = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};)")
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENDS_WORD = frozenset("<>`\"'()[]{}|*\\“”„‘’‚«»‹›「」『』")
_TRAILING = ".,;:!?…"
_DOTS = "。．｡"  # browsers take them for dots between the labels of a host
_SOFT = frozenset("\u00ad\u034f\u180b\u180c\u180d\u180e\u2060\u2064\ufe0f")  # browsers drop them from a host
_SCHEME = re.compile(r"(?:https?|ftps?|slack|file|wss?)://|https?:(?=[\w/\\])|mailto:", re.IGNORECASE)
_BEFORE_HOST = frozenset("/=,;:@~…—–→&")
_HOST = re.compile(rf"([^?#{''.join(_BEFORE_HOST)}]*+)(?:[/?#:]|\Z)")
"""What may be a host: none of the other marks may follow it."""
_LABEL = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?|_[\w-]{1,62}")
_COUNTRY = 2
_COMMON_ENDS = (
    "academy agency app asia biz blog cafe chat cloud club coffee com company consulting design dev digital edu email "
    "energy events expert finance fund games global gov group guru help host info ink int jobs land life link live "
    "lol love ltd market marketing media mil mobi money monster name net network news ninja one online org page "
    "partners photo photos pics press pro pub quest red rest review rocks run sale services shop site social software "
    "solutions space store stream studio support surf systems team tech technology tips today tools top trade travel "
    "uno ventures video vip vote web website wiki win work works world xyz zone"
)
_TOP = frozenset(_COMMON_ENDS.split())
"""Ends of hosts that are common enough to be shown as links where nothing follows. Countries have two letters."""
_FILES = frozenset(("cc", "md", "mk", "pl", "ps", "py", "rs", "sh", "so"))
"""Ends of file names that are also countries. A plain name of two parts with nothing after it counts as a file's."""

_SAFE_LETTERS = "\xa0-\xac\xae-\xb1\xb4-\xb8\xbb\xbf-\u017e–—…„“”‘’•€→−≤≥≈"
"""Beyond ASCII: none of them is dropped from a host, and none becomes a dot, a digit or part of a scheme."""
_SUSPECT = re.compile(rf"[\\&]|://|(?i:https?:|mailto:|www\.)|\.[^\W\d_]|\d\.\d+\.\d|[^\x00-\x7f{_SAFE_LETTERS}]")
"""What each web address has: a scheme, a dot before a letter, www or the dots of a number; or a character that may
become one of these."""


@dataclass(frozen=True, slots=True)
class Address:
    """A web address: where it is in the source, and how it reads when it is shown."""

    start: int
    end: int
    text: str


def may_hold_address(text: str) -> bool:
    """Whether a text may hold a web address, by one quick look. False is certain, for a source and for shown text."""
    return _SUSPECT.search(text) is not None


def find(source: str) -> Iterator[Address]:
    """The web addresses in a source of Markdown or of plain text, in their order, without punctuation after them."""
    if not may_hold_address(source):
        return
    shown, places = _read(source)
    for address in find_shown(shown):
        yield Address(places[address.start], places[address.end], address.text)


def find_shown(text: str) -> Iterator[Address]:
    """The web addresses in a text in which entities and escapes are undone already."""
    if not may_hold_address(text):
        return
    for start, end in _words(text):
        if (found := _address_in(text[start:end])) is not None:
            first, last = found
            yield Address(start + first, start + last, text[start + first : start + last])


def _read(source: str) -> tuple[str, list[int]]:
    """The characters that are shown, and the place of each in the source; one place more for the end."""
    shown: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(source):
        character, length = source[at], 1
        if character == "\\" and source[at + 1 : at + 2] in _ESCAPABLE:
            character, length = source[at + 1], 2
        elif character == "&" and (entity := _ENTITY.match(source, at)):
            character, length = html.unescape(entity.group()), len(entity.group())
        for one in character:
            shown.append(one)
            places.append(at)
        at += length
    places.append(len(source))
    return "".join(shown), places


def _words(shown: str) -> Iterator[tuple[int, int]]:
    start = 0
    for at, character in enumerate((*shown, " ")):
        if character.isspace() or character in _ENDS_WORD:
            if at > start:
                yield start, at
            start = at + 1


def _address_in(word: str) -> tuple[int, int] | None:
    """(begin, end) of the first address in a word; None when it has none."""
    end = len(word.rstrip(_TRAILING + _DOTS))
    schemes = (scheme.start() for scheme in _SCHEME.finditer(word, 0, end) if scheme.end() < end)
    scheme = next(schemes, end)
    for begin in (0, *(at + 1 for at, character in enumerate(word[:end]) if character in _BEFORE_HOST)):
        if begin >= scheme:
            break
        host = _HOST.match(word, begin, end)
        of_mail = word[begin - 1 : begin] == "@"
        if host and _is_host(host[1], follows=end - host.end(1) > 1, of_mail=of_mail):
            return begin, end
    return (scheme, end) if scheme < end else None


def _is_host(host: str, *, follows: bool, of_mail: bool) -> bool:
    """Whether this is a host. After an @, something must follow the host, or it is only a mail address."""
    labels = _labels(host)
    if len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)) or (of_mail and not follows):
        return False
    if labels[-1].isdigit():
        return follows and _is_number(labels)
    top = labels[-1].lower()
    if top.startswith("xn--") or labels[0].lower() == "www":
        return True
    if not top.isalpha() or len(top) < _COUNTRY or (not top.isascii() and "." not in host):
        return False  # Chinese sentences end in a dot of their own
    if follows:
        return True
    if len(labels) == 2 and top in _FILES:
        return False
    return top in _TOP or (len(top) == _COUNTRY and top.isascii() and not labels[0].isdigit()) or not top.isascii()


def _labels(host: str) -> list[str]:
    plain = "".join(character for character in host if character not in _SOFT)
    return unicodedata.normalize("NFKC", plain.translate(dict.fromkeys(map(ord, _DOTS), "."))).split(".")


def _is_number(labels: list[str]) -> bool:
    try:
        ipaddress.IPv4Address(".".join(labels))
    except ValueError:
        return False
    return True
