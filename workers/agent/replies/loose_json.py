"""Reads JSON as models really write it. It is tolerant, but never takes a cut-off text for a whole one."""

from __future__ import annotations

import json
import re
from typing import Any

from core import python_source

MAX_CHARS = 400_000
_FENCE = re.compile(r"\A\s*```(?:json|JSON)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_CLOSERS = {"{": "}", "[": "]"}
_PARSE_ERRORS = (ValueError, SyntaxError, RecursionError, MemoryError)


class Unreadable(ValueError):
    """The text is not JSON in any shape that we know. `cut` is True when it ends in the middle of a string."""

    def __init__(self, cut: bool = False) -> None:
        super().__init__("cut off" if cut else "not JSON")
        self.cut = cut


def read_json(text: str, *, in_prose: bool = False) -> Any:
    """Reads a model's JSON: plain, fenced, with raw line breaks in strings, with trailing commas, as a Python literal,
    without its last brackets, or with rubbish behind it. `in_prose` also finds an object among words.

    Raises Unreadable.
    """
    text = text.strip()
    if len(text) > MAX_CHARS:
        raise Unreadable
    if fenced := _FENCE.match(text):
        text = fenced.group(1).strip()
    for candidate in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            return json.loads(candidate, strict=False)
        except _PARSE_ERRORS:
            continue
    if text[:1] in _CLOSERS:
        return _read_damaged(text)
    if in_prose:
        return _first_object(text)
    raise Unreadable


def _read_damaged(text: str) -> Any:
    """A text that starts like JSON and is not: a Python literal, closing brackets missing, or words behind it."""
    try:
        return python_source.literal(text)
    except _PARSE_ERRORS:
        pass
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except _PARSE_ERRORS:
        pass
    closers, in_string = _open_at_the_end(text)
    if in_string:
        raise Unreadable(cut=True)
    try:
        return json.loads(_TRAILING_COMMA.sub(r"\1", text.rstrip(", \n") + closers), strict=False)
    except _PARSE_ERRORS:
        raise Unreadable from None


def _open_at_the_end(text: str) -> tuple[str, bool]:
    """The brackets that are missing at the end, and whether the text ends inside a string."""
    missing: list[str] = []
    in_string = escaped = False
    for char in text:
        if escaped:
            escaped = False
        elif in_string:
            escaped = char == "\\"
            in_string = char != '"'
        elif char == '"':
            in_string = True
        elif char in _CLOSERS:
            missing.append(_CLOSERS[char])
        elif missing and char == missing[-1]:
            missing.pop()
    return "".join(reversed(missing)), in_string


def _first_object(text: str) -> Any:
    """The first JSON object inside prose. Raises Unreadable."""
    decoder = json.JSONDecoder(strict=False)
    for start in [match.start() for match in re.finditer(r"\{", text)][:20]:
        try:
            return decoder.raw_decode(text, start)[0]
        except _PARSE_ERRORS:
            continue
    raise Unreadable
