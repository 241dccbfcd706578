"""Which of Slack's events are messages for the bot. Pure: look-ups are handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.slack.reading.incoming import MAX_TEXT, Ignored, incoming, is_empty
from core.values import IncomingMessage, Standing, ThreadKey

__all__ = ["MAX_TEXT", "EventContext", "Ignored", "addressed", "is_empty", "is_for_us", "read_message"]


@dataclass(frozen=True, slots=True)
class EventContext:
    """What has to be known beside an event: where it happened, who the bot is, and four look-ups."""

    team: str
    bot_user_id: str
    name_of: Callable[[str], str]
    knows_thread: Callable[[ThreadKey], bool]
    is_strict: Callable[[str], bool]
    own_teams: frozenset[str] = frozenset()
    """Other workspaces whose people are no strangers."""
    has_left: Callable[[ThreadKey], bool] = lambda thread: False


def read_message(event: Mapping[str, Any], context: EventContext) -> IncomingMessage | Ignored:
    """The message of a person, whoever it is for. Bots (we too) and malformed events are Ignored.

    So are edits and deletions: `bot/changes.py` reads them.
    """
    message = incoming(event, context.team, context.name_of, context.bot_user_id)
    if isinstance(message, Ignored):
        return message
    return message.model_copy(update={"standing": standing_in(event.get("user_team"), context)})


def standing_in(user_team: object, context: EventContext) -> Standing:
    """What an event tells of its author by the id of their workspace: a stranger, or nothing yet."""
    is_foreign = isinstance(user_team, str) and user_team and user_team not in (context.team, *context.own_teams)
    return "stranger" if is_foreign else ""


def addressed(message: IncomingMessage | Ignored, context: EventContext) -> IncomingMessage | Ignored:
    """What was read of an event, if a person wrote it to us."""
    if isinstance(message, Ignored) or is_for_us(message, context):
        return message
    return Ignored("not addressed to the bot")


def is_for_us(message: IncomingMessage, context: EventContext) -> bool:
    """Whether a person's message is addressed to the bot, by a mention or by its place."""
    if message.mention:
        return True
    is_reply = message.root_ts != message.ts
    if message.channel_type == "im":
        return not (is_reply and context.has_left(message.thread))
    return is_reply and not context.is_strict(message.channel) and context.knows_thread(message.thread)
