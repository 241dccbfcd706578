"""Messages that people delete or change: the Store follows, and a turn that has read them is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.commands import command_of
from bot.intake import EventContext, Ignored, read_message
from core.commands.registry import commands
from core.language_detection import detect
from core.phrases import say
from core.store import Store
from core.store.changes import Touched
from core.store.participation import moment
from core.values import IncomingMessage

_REMEMBERED = 1_000
LATE_S = 3_600
"""The event of a message does not come later than this. One that is still unknown then was not for us, or is purged."""


@dataclass(frozen=True, slots=True)
class Change:
    """A message with this ts was deleted (no `message`) or reads like `message` now. `at` is the ts of the event."""

    team: str
    channel: str
    ts: str
    at: str
    message: IncomingMessage | None


class Deletions:
    """The messages that were deleted last. Events are handled side by side: one of such a message may come later."""

    def __init__(self) -> None:
        self._last: deque[Change] = deque(maxlen=_REMEMBERED)

    def note(self, change: Change) -> None:
        """Remember a message that was deleted."""
        self._last.append(change)

    def of(self, message: IncomingMessage) -> Change | None:
        """The deletion of this message."""
        place = (message.team, message.channel, message.ts)
        return next((each for each in list(self._last) if (each.team, each.channel, each.ts) == place), None)


def deleted_in(event: Mapping[str, Any]) -> str | None:
    """The ts of the message that people deleted, if the event tells of that."""
    kind, inner = event.get("subtype"), event.get("message")
    if kind == "message_deleted" and isinstance(ts := event.get("deleted_ts"), str):
        return ts
    if kind == "message_changed" and isinstance(inner, Mapping) and inner.get("subtype") == "tombstone":
        return str(inner.get("ts"))  # the head of a thread that was deleted while it had replies
    return None


def change_in(event: Mapping[str, Any], context: EventContext) -> Change | None:
    """The change that a `message` event tells of; None when it is a message, or a change of no person's words."""
    kind, channel, at = event.get("subtype"), event.get("channel"), event.get("event_ts") or event.get("ts")
    if not (isinstance(channel, str) and isinstance(at, str)):
        return None
    if (deleted := deleted_in(event)) is not None:
        return Change(context.team, channel, deleted, at, None)
    if kind == "message_changed" and isinstance(inner := event.get("message"), Mapping):
        if not inner.get("edited"):  # Slack unfurled a link, or counted replies
            return None
        place = {"type": "message", "channel": channel, "channel_type": event.get("channel_type")}
        now = {key: value for key, value in inner.items() if key not in ("edited", "hidden")}
        message = read_message({**now, **place}, context)
        return None if isinstance(message, Ignored) else Change(context.team, channel, message.ts, at, message)
    return None


def is_lately_written(change: Change) -> bool:
    """Whether a message was changed so soon that its own event may still be on its way."""
    return moment(change.at)[0] - moment(change.ts)[0] <= LATE_S


def follow(change: Change, store: Store, wake: Callable[[str], None]) -> Touched | None:
    """Do in the Store what was done in Slack. Returns the stored message that was touched.

    A turn that works with a deleted message is stopped; one that works with a changed message reads how it is now, or
    is stopped if that says so. A mention without a word that gets some is a question. A message that nobody has read
    is what it says now: words, or a command.
    """
    if change.message is None:
        touched = store.delete_message(change.team, change.channel, change.ts)
        news, kind = "", "stop"
    else:
        text = change.message.text
        said = _kind_of(change.message)
        touched = store.change_message(change.team, change.channel, change.ts, text, said)
        is_stop = said == "stop"
        news, kind = ("", "stop") if is_stop else (say("message_changed", detect(text), text=text), "text")
    if touched is not None and touched.turn_id is not None:
        store.record_message(_word(change, touched, news, kind))
        wake(touched.thread_id)
    elif touched is not None and touched.was_quiet and change.message is not None:
        wake(touched.thread_id)
    return touched


def _kind_of(message: IncomingMessage) -> str | None:
    """What the words of a changed message are: "text", or a command for a worker; None for a command that the bot sees
    to."""
    name = command_of(message)
    if name is None:
        return "text"
    return name if commands()[name].reaches_worker else None


def _word(change: Change, touched: Touched, text: str, kind: str) -> IncomingMessage:
    return IncomingMessage(
        team=change.team,
        channel=change.channel,
        channel_type=touched.channel_type,
        ts=change.at,
        root_ts=touched.root_ts,
        user=touched.user,
        text=text,
        kind=kind,
        mention=False,  # it calls nobody back into a thread that was left
    )
