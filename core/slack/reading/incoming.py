"""Turns a message in Slack's form into ours, or gives the reason why it is ignored. Pure: names are looked up outside.

The bot reads events with it, the worker reads the talk that the bot was called into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.slack.reading.files import file_refs
from core.slack.reading.forwarded import forwarded_files, forwarded_text
from core.slack.reading.pasted_tables import pasted_tables
from core.slack.text import clip, mentions, plain
from core.values import FileRef, IncomingMessage

MAX_TEXT = 40_000
"""Characters; Slack's own limit for a message."""

_SUBTYPES = (None, "file_share", "thread_broadcast")
_ID = re.compile(r"[A-Z0-9]{1,50}")
_TS = re.compile(r"\d{1,20}\.\d{1,10}")


@dataclass(frozen=True, slots=True)
class Ignored:
    """A message that is not for us, and why, for the log."""

    reason: str


def incoming(
    event: Mapping[str, Any], team: str, name_of: Callable[[str], str], bot_user_id: str = ""
) -> IncomingMessage | Ignored:
    """The message of a person, whoever it is for. Edits, deletions, bots (we too) and malformed events are Ignored.

    Without a `bot_user_id` no message counts as a mention. Messages that the person forwarded with it are quoted at its
    end, and their files count as its own.
    """
    if event.get("subtype") not in _SUBTYPES:
        return Ignored(f"subtype {clip(str(event.get('subtype')), 40)}")
    if event.get("hidden") or event.get("edited"):
        return Ignored("an edit")
    user, channel, ts = event.get("user"), event.get("channel"), event.get("ts")
    if event.get("bot_id") or user in (bot_user_id, "USLACKBOT"):
        return Ignored("a bot")
    root_ts = event.get("thread_ts") or ts
    if not (_matches(_ID, user, channel, team) and _matches(_TS, ts, root_ts)):
        return Ignored("malformed")

    raw = event.get("text")
    text = raw[:MAX_TEXT] if isinstance(raw, str) else ""
    files = files_in(event)
    twin_without_files = event.get("type") == "app_mention" and not files
    return IncomingMessage(
        team=team,
        channel=str(channel),
        channel_type=_channel_type(event),
        ts=str(ts),
        root_ts=str(root_ts),
        user=str(user),
        text=words_in(event, name_of, bot_user_id),
        mention=event.get("type") == "app_mention" or mentions(text, bot_user_id),
        files=files,
        files_known=not twin_without_files,
    )


def words_in(message: Mapping[str, Any], name_of: Callable[[str], str], bot_user_id: str = "") -> str:
    """What a person's message says: its text, the cells pasted into it, the messages forwarded with it."""
    raw = message.get("text")
    text = plain(raw[:MAX_TEXT] if isinstance(raw, str) else "", bot_user_id, name_of)
    table = pasted_tables(message, name_of)[:MAX_TEXT]
    quoted = forwarded_text(message, name_of, lambda words: plain(words, "", name_of))[:MAX_TEXT]
    return "\n\n".join(filter(None, (text, table, quoted)))


def files_in(message: Mapping[str, Any]) -> tuple[FileRef, ...]:
    """The files that came with a message, each once: its own, and those of the messages forwarded with it."""
    found = (*file_refs(message.get("files")), *forwarded_files(message))
    return tuple({file.id: file for file in found}.values())


def listed(message: Mapping[str, Any], channel: str) -> dict[str, Any]:
    """A message of `conversations.replies` as its event would have been. It counts as it reads now, edited or not."""
    kept = {key: value for key, value in message.items() if key != "edited"}
    return {**kept, "type": "message", "channel": channel}


def is_empty(message: IncomingMessage) -> bool:
    """Whether a message has neither text nor a file."""
    return not message.text and not message.files


def _channel_type(event: Mapping[str, Any]) -> str:
    """The type of a channel. Message events carry it. For others, the first letter of the channel's id shows it."""
    given = event.get("channel_type")
    if given in ("im", "mpim", "channel", "group"):
        return str(given)
    return "im" if str(event.get("channel")).startswith("D") else "channel"


def _matches(shape: re.Pattern[str], *values: object) -> bool:
    return all(isinstance(value, str) and shape.fullmatch(value) for value in values)
