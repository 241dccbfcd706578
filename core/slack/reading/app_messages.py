"""What a message of another app says beside its text: many apps put all of it into blocks or attachments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.slack.reading.pasted_tables import TABLES
from core.slack.text import text_of_blocks

MAX_ATTACHMENTS = 20
_MAX_FIELDS = 50


def app_text(message: Mapping[str, Any]) -> str:
    """The words of an app's message beside its text and its tables, in Slack's form; "" for a message of a person.

    The text of a message says what its blocks say, so the blocks count only without one.
    """
    if not message.get("bot_id"):
        return ""
    blocks = "" if message.get("text") else _in_blocks(message)
    attachments = [each for each in _list(message.get("attachments")) if isinstance(each, Mapping)]
    return "\n\n".join(filter(None, (blocks, *map(_attached, attachments[:MAX_ATTACHMENTS]))))


def _attached(attachment: Mapping[str, Any]) -> str:
    if attachment.get("is_share") is True:  # read as a forwarded message
        return ""
    lines = [*_lines(attachment), _in_blocks(attachment)]
    return "\n".join(filter(None, lines)) or _words(attachment, "fallback")


def _lines(attachment: Mapping[str, Any]) -> Iterator[str]:
    yield from (_words(attachment, name) for name in ("pretext", "title", "text"))
    for field in _list(attachment.get("fields"))[:_MAX_FIELDS]:
        if isinstance(field, Mapping):
            yield ": ".join(filter(None, (_words(field, "title"), _words(field, "value"))))


def _in_blocks(holder: Mapping[str, Any]) -> str:
    blocks = [block for block in _list(holder.get("blocks")) if isinstance(block, dict)]
    # The cells of tables are read as a person's pasted ones are.
    return text_of_blocks([block for block in blocks if block.get("type") not in TABLES])


def _words(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value.strip() if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
