"""From Slack's event to our message, or to the reason why it is none. Pure: everything it asks for is handed in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.pasted import pasted_tables
from core.slack_files import file_refs
from core.slack_text import clip, mentions, plain
from core.values import IncomingMessage, ThreadKey

MAX_TEXT = 40_000
"""Characters; Slack's own limit for a message."""

_SPOKEN = (None, "file_share", "thread_broadcast")
_ID = re.compile(r"[A-Z0-9]{1,50}")
_TS = re.compile(r"\d{1,20}\.\d{1,10}")


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that is no message for us, and why, for the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What has to be known around an event: where it happened, who we are, and three questions to ask."""

    team: str
    bot_user_id: str
    name_of: Callable[[str], str]
    knows_thread: Callable[[ThreadKey], bool]
    is_strict: Callable[[str], bool]


def to_message(event: Mapping[str, Any], around: Surroundings) -> IncomingMessage | Ignored:
    """The message of a `message` or `app_mention` event, if a person said it to us."""
    message = read_message(event, around)
    if isinstance(message, Ignored):
        return message
    return message if _is_for_us(message, around) else Ignored("not addressed to the bot")


def read_message(event: Mapping[str, Any], around: Surroundings) -> IncomingMessage | Ignored:
    """What a person said, to whomever. Edits, deletions, bots (we too) and malformed events are Ignored."""
    if event.get("subtype") not in _SPOKEN:
        return Ignored(f"subtype {clip(str(event.get('subtype')), 40)}")
    if event.get("hidden") or event.get("edited"):
        return Ignored("an edit")
    user, channel, ts = event.get("user"), event.get("channel"), event.get("ts")
    if event.get("bot_id") or user in (around.bot_user_id, "USLACKBOT"):
        return Ignored("a bot")
    root_ts = event.get("thread_ts") or ts
    if not (_matches(_ID, user, channel, around.team) and _matches(_TS, ts, root_ts)):
        return Ignored("malformed")

    raw = event.get("text")
    text = raw[:MAX_TEXT] if isinstance(raw, str) else ""
    table = pasted_tables(event)[:MAX_TEXT]
    files = file_refs(event.get("files"))
    twin_without_files = event.get("type") == "app_mention" and not files
    return IncomingMessage(
        team=around.team,
        channel=str(channel),
        channel_type=_channel_type(event),
        ts=str(ts),
        root_ts=str(root_ts),
        user=str(user),
        text="\n\n".join(filter(None, (plain(text, around.bot_user_id, around.name_of), table))),
        mention=event.get("type") == "app_mention" or mentions(text, around.bot_user_id),
        files=files,
        files_known=not twin_without_files,
    )


def _is_for_us(message: IncomingMessage, around: Surroundings) -> bool:
    if message.mention or message.channel_type == "im":
        return True
    if message.root_ts == message.ts or around.is_strict(message.channel):
        return False
    return around.knows_thread(message.thread)


def _channel_type(event: Mapping[str, Any]) -> str:
    """Messages say it; app_mention does not, there the channel's id tells direct messages from the rest."""
    said = event.get("channel_type")
    if said in ("im", "mpim", "channel", "group"):
        return str(said)
    return "im" if str(event.get("channel")).startswith("D") else "channel"


def _matches(shape: re.Pattern[str], *values: object) -> bool:
    return all(isinstance(value, str) and shape.fullmatch(value) for value in values)


def is_empty(message: IncomingMessage) -> bool:
    """Whether a message asks nothing: no words and no file."""
    return not message.text and not message.files
