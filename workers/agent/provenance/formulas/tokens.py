"""Tokens with which a model binds a figure: `482,310 [=2:482310.40]`, cell 2 and its value, or a formula over such.

They are taken out of the report before anybody reads it. A token that does not hold leaves its figure unsourced.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workers.agent.provenance.formulas.syntax import Formula, Operand, read_formula, read_operand

_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
"""A letter of Chinese or Japanese, which set no blank between words."""
_INSIDE = r"\[=((?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){0,1200})\]"
_TOKEN = re.compile(rf"(?<={_UNSPACED})[ \t]?{_INSIDE}[ \t](?={_UNSPACED})|[ \t]?{_INSIDE}")


class Token(NamedTuple):
    """A token and its place in the report without tokens. Either `operand` or `formula` is set. If the token cannot be
    read, both are None."""

    place: int
    operand: Operand | None
    formula: Formula | None = None


def without_tokens(report: str) -> tuple[str, list[int]]:
    """The report without tokens, and for each of its characters, and for its end, the place in the report."""
    gone = {at for match in _TOKEN.finditer(report) for at in range(*match.span())}
    return _TOKEN.sub("", report), [at for at in range(len(report) + 1) if at not in gone]


def find_tokens(report: str) -> tuple[str, list[Token]]:
    """The report without tokens, and the tokens in order."""
    found: list[Token] = []
    kept: list[str] = []
    at = length = 0
    for match in _TOKEN.finditer(report):
        kept.append(report[at : match.start()])
        length += match.start() - at
        at = match.end()
        inside = match[1] or match[2] or ""
        operand = read_operand(inside)
        found.append(Token(length, operand, None if operand is not None else read_formula(inside)))
    kept.append(report[at:])
    return "".join(kept), found
