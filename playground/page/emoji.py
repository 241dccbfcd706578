"""Emoji: names to characters, and which ones are drawn by the page itself so that they look alike everywhere."""

from __future__ import annotations

import re

from markupsafe import Markup

GLYPHS = {
    "eyes": "👀",
    "white_check_mark": "✅",
    "heavy_check_mark": "✔️",
    "x": "❌",
    "warning": "⚠️",
    "hourglass": "⌛",
    "hourglass_flowing_sand": "⏳",
    "+1": "👍",
    "thumbsup": "👍",
    "-1": "👎",
    "thumbsdown": "👎",
    "bar_chart": "📊",
    "chart_with_upwards_trend": "📈",
    "chart_with_downwards_trend": "📉",
    "bulb": "💡",
    "tada": "🎉",
    "octagonal_sign": "🛑",
    "page_facing_up": "📄",
    "paperclip": "📎",
    "mag": "🔍",
    "wave": "👋",
    "heart": "❤️",
    "raised_hands": "🙌",
    "pray": "🙏",
    "clap": "👏",
    "fire": "🔥",
    "rocket": "🚀",
    "star": "⭐",
    "sparkles": "✨",
    "smile": "😄",
    "slightly_smiling_face": "🙂",
    "thinking_face": "🤔",
    "joy": "😂",
    "wrench": "🔧",
    "gear": "⚙️",
    "lock": "🔒",
    "key": "🔑",
    "link": "🔗",
    "memo": "📝",
    "books": "📚",
    "notebook": "📓",
    "calendar": "📅",
    "clock": "🕒",
    "stopwatch": "⏱️",
    "email": "📧",
    "question": "❓",
    "exclamation": "❗",
    "information_source": "ℹ️",
    "point_right": "👉",
    "arrow_right": "➡️",
    "arrow_up": "⬆️",
    "arrow_down": "⬇️",
    "red_circle": "🔴",
    "large_yellow_circle": "🟡",
    "large_green_circle": "🟢",
    "robot_face": "🤖",
    "speech_balloon": "💬",
    "no_entry": "⛔",
    "repeat": "🔁",
    "floppy_disk": "💾",
    "ok_hand": "👌",
    "100": "💯",
}
"""The names people and bots use most; any other name is shown as :name:."""

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
