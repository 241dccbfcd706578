"""A long Markdown text in pieces, as messages take them one after the other."""

from __future__ import annotations

from core.slack.markdown import cut_markdown


def split_markdown(text: str, limit: int) -> list[str]:
    """The text in pieces of at most `limit` characters."""
    pieces: list[str] = []
    rest = text
    while len(rest) > limit:
        piece, rest = cut_markdown(rest, limit)
        pieces.append(piece)
    return [*pieces, rest] if rest else pieces
