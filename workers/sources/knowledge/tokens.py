"""How many tokens a text takes, estimated without a tokenizer: ours must serve any model, and loads no vocabulary."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]+|\d+|\n|[^\sA-Za-z\d]")


def estimated_tokens(text: str) -> int:
    """A careful estimate: four letters or three digits to a token, one for every other sign and line.

    Names and types give more tokens than prose, so four characters to a token would promise too little.
    """
    return sum(_cost(piece) for piece in _PIECE.findall(text))


def _cost(piece: str) -> int:
    if piece.isascii() and piece.isalpha():
        return -(-len(piece) // 4)
    return -(-len(piece) // 3) if piece.isdigit() else 1
