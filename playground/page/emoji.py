"""Emoji: names to characters, and which ones are drawn by the page itself so that they look alike everywhere."""

from __future__ import annotations

import re

from markupsafe import Markup

from playground.emoji_names import GLYPHS

DRAWN = {
    "👀": "eyes",
    "✅": "check",
    "✔": "check",
    "❌": "cross",
    "⚠": "warning",
    "⌛": "hourglass",
    "⏳": "hourglass",
    "👍": "thumb-up",
    "👎": "thumb-down",
    "📊": "bars",
    "📈": "rise",
    "📉": "fall",
    "💡": "bulb",
    "🎉": "party",
    "🛑": "stop",
    "📄": "sheet",
    "📎": "clip",
    "🔍": "lens",
    "❤": "heart",
    "🚀": "rocket",
    "⭐": "star",
    "✨": "star",
    "❓": "question",
    "ℹ": "info",
    "🔴": "red",
    "🟡": "yellow",
    "🟢": "green",
}
"""Characters that have a symbol `e-<name>` in icons.html."""

_CHARACTERS = re.compile(f"({'|'.join(DRAWN)})\ufe0f?")


def drawn(character: str) -> Markup:
    """One emoji as HTML: our own drawing when there is one, else the character."""
    symbol = DRAWN.get(character.rstrip("\ufe0f"))
    if symbol is None:
        return Markup('<span class="emoji">{}</span>').format(character)
    return Markup('<svg class="emoji" role="img" aria-label="{}"><use href="#e-{}"/></svg>').format(character, symbol)


def by_name(name: str) -> Markup:
    """The emoji of a name such as "eyes", or ":name:" when it is not known."""
    bare = name.partition("::")[0]
    return drawn(GLYPHS[bare]) if bare in GLYPHS else Markup(":{}:").format(name)


def with_drawings(html: Markup) -> Markup:
    """Finished HTML without tags' attributes in need of care: emoji characters in its text become our drawings."""
    pieces = re.split(r"(<[^>]*>)", str(html))
    return Markup("").join(
        Markup(piece) if piece.startswith("<") else Markup(_CHARACTERS.sub(lambda found: str(drawn(found[1])), piece))  # noqa: S704  already escaped
        for piece in pieces
    )
