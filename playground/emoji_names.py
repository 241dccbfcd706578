"""Which emoji there are, and the characters of those that we are likely to show."""

from __future__ import annotations

from rich.emoji import Emoji, NoEmoji

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
    "no_entry_sign": "🚫",
    "pencil2": "✏️",
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


def is_emoji(name: str) -> bool:
    """Whether an emoji has this name, in the usual set: Slack refuses a reaction with any other."""
    if name in GLYPHS:
        return True
    try:
        Emoji(name)
    except NoEmoji:
        return False
    return True
