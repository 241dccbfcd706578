"""Slack's text format: escapes, links and mentions, in both directions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

TEXT_WITH_BLOCKS = 3_000
"""Characters of the plain text beside blocks: what notifications and screen readers get."""

TEXT_EDITABLE = 3_900
"""chat.update refuses text above 4,000 characters."""

TEXT_POSTED = 39_000
"""chat.postMessage cuts text silently at 40,000 characters."""

_ANGLED = re.compile(r"<([^<>]{1,4000})>")
_PING = re.compile(r"<(?=[!@])")
_HALF_ENTITY = re.compile(r"&(?:a|am|amp|l|lt|g|gt)?…\Z")
"""What a cut leaves of an escaped sign."""


def escape(text: str) -> str:
    """Text as data for mrkdwn: & < > become entities, so that nothing in it is a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """The reverse of `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis when something was left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clip_words(text: str, limit: int) -> str:
    """The same, cut behind a whole word. Text without a space in its second half is cut anywhere."""
    if len(text) <= limit:
        return text
    whole = re.match(rf".{{{limit // 2},{limit - 1}}}(?=\s)", text, re.DOTALL)
    return clip(text, limit) if whole is None else whole[0].rstrip() + "…"


def clip_escaped(text: str, limit: int) -> str:
    """The same for escaped text. An entity that would be cut in two is left out."""
    return text if len(text) <= limit else _HALF_ENTITY.sub("…", clip(text, limit))


def without_pings(text: str) -> str:
    """mrkdwn in which no mention or broadcast works: `<@U..>` and `<!channel>` show as they are written."""
    return _PING.sub("&lt;", text)


def mentions(text: str, user_id: str) -> bool:
    """Whether Slack-formatted text mentions this user."""
    return bool(user_id) and re.search(rf"<@{re.escape(user_id)}(\|[^<>]*)?>", text) is not None


def plain(text: str, bot_user_id: str, name_of: Callable[[str], str] = str) -> str:
    """A person's text as they meant it: mentions of the bot removed, with the mark behind the one that addresses it,
    others as @name, links as text, escapes undone.

    `name_of` turns a user id into a name for mentions that come without one.
    """

    def shown(match: re.Match[str]) -> str:
        target, _, label = match.group(1).partition("|")
        if target.startswith("@"):
            return "@" + (label.lstrip("@") or name_of(target[1:]))
        if target.startswith("#"):
            return "#" + (label.lstrip("#") or target[1:])
        if target.startswith("!"):
            return label if label else "@" + target[1:].partition("^")[0]
        address = target.removeprefix("mailto:").removeprefix("tel:")
        return address if label in ("", address, target) or address.endswith("://" + label) else f"{label} ({address})"

    if bot_user_id:
        mention = rf"<@{re.escape(bot_user_id)}(\|[^<>]*)?>[ \t]*"
        text = re.sub(rf"\A\s*{mention}[:,：，]", "", text)  # “@Threadbook: stop”
        text = re.sub(rf"(?<![ \t])[ \t]*{mention}", " ", text)
    return unescape(_ANGLED.sub(shown, text)).strip()


def text_of_blocks(blocks: list[dict[str, Any]]) -> str:
    """The text of a message's blocks, in order, as mrkdwn: what is posted when Slack refuses the blocks."""
    lines: list[str] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "divider":
            lines.append("———")
        elif kind in ("table", "data_table"):
            rows = block.get("rows", [])
            lines.append("\n".join(" | ".join(_text_in(cell) for cell in row) for row in rows))
        elif kind == "actions":
            lines.append(" / ".join(_text_in(element) for element in block.get("elements", [])))
        else:
            lines.append(_text_in(block))
    return "\n\n".join(line for line in lines if line)


def _text_in(value: Any) -> str:
    if isinstance(value, list):
        parts = [_text_in(item) for item in value]
        return " ".join(part for part in parts if part)
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("text"), str):
        text: str = value["text"]
        return text if value.get("type") == "mrkdwn" else escape(text)
    return " ".join(
        part
        for key in ("title", "text", "caption", "fields", "elements", "tasks", "details", "output", "alt_text")
        if (part := escape(value[key]) if isinstance(value.get(key), str) else _text_in(value.get(key)))
    )
