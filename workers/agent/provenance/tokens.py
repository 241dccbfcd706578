"""Tokens with which a model binds a figure to what a cell showed: `482,310 [=2:482310.40]`, cell 2 and its value.

They are taken out of the report before anybody reads it. A token that does not hold leaves its figure unsourced.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"[ \t]?\[=([^\[\]\n]{0,60})\]")
_BODY = re.compile(r"^\s*(?:c|cell ?)?(\d{1,4})\s*[:|,]\s*([-−+]?)\s*(\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*%?\s*$")


class Token(NamedTuple):
    """A token: its place in the report without tokens, the cell, the value, half a unit of its last place.

    `cell` and `value` are None for one that cannot be read.
    """

    place: int
    cell: int | None
    value: float | None
    slack: float


def find_tokens(report: str) -> tuple[str, list[Token]]:
    """The report without tokens, and the tokens in order."""
    found: list[Token] = []
    kept: list[str] = []
    at = length = 0
    for match in _TOKEN.finditer(report):
        kept.append(report[at : match.start()])
        length += match.start() - at
        at = match.end()
        body = _BODY.match(match[1])
        if body is None:
            found.append(Token(length, None, None, 0.0))
            continue
        digits = body[3].replace(",", "")
        decimals = len(digits.partition(".")[2]) if "e" not in digits.lower() else 12
        value = float(digits) * (-1 if body[2] in ("-", "−") else 1)
        found.append(Token(length, int(body[1]), value, 0.5 * 10.0**-decimals))
    kept.append(report[at:])
    return "".join(kept), found
