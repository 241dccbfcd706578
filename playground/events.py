"""Events API payloads: which events a change makes, and their outer envelope."""

from __future__ import annotations

import time
from typing import Any

from playground.identity import new_id
from playground.workspace import Channel, Json, Message, Workspace

SUBSCRIPTION = {"channel": "message.channels", "group": "message.groups", "im": "message.im"}


def event_callback(space: Workspace, event: Json) -> Json:
    """The outer payload around an inner event, with a fresh event_id."""
    return {
        "token": "playground",
        "team_id": space.team_id,
        "context_team_id": space.team_id,
        "context_enterprise_id": None,
        "api_app_id": space.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": new_id("Ev", 10),
        "event_time": int(time.time()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": space.team_id,
                "user_id": space.bot.id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
        "event_context": new_id("4-", 24),
    }


def message_event(channel: Channel, shown: Json) -> Json:
    """The `message` event of a new message; `shown` is its message object. Slack leaves `team` out of file shares."""
    event = {**_without_counts(shown), "channel": channel.id, "event_ts": shown["ts"], "channel_type": channel.kind}
    if event.get("subtype") == "file_share":
        event.pop("team")
        event["display_as_bot"] = False
    return event


def mention_event(channel: Channel, shown: Json, *, files: bool) -> Json:
    """The `app_mention` twin: no channel_type and no subtype, and without its files when `files` is False."""
    event = {**_without_counts(shown), "type": "app_mention", "channel": channel.id, "event_ts": shown["ts"]}
    event.pop("subtype", None)
    if not files:
        event.pop("files", None)
        event.pop("upload", None)
    return event


def with_files_by_id(event: Json) -> Json:
    """The same event with its files as Slack Connect gives them: to be looked up with files.info."""
    if "files" not in event:
        return event
    unseen = {"mode": "file_access", "file_access": "check_file_info"}
    files = [{name: file[name] for name in ("id", "created", "timestamp")} | unseen for file in event["files"]]
    return {**event, "files": files}


def changed_event(channel: Channel, shown: Json, previous: Json, event_ts: str) -> Json:
    """`message_changed`, hidden as in Slack."""
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": shown,
        "previous_message": previous,
        "channel": channel.id,
        "hidden": True,
        "ts": event_ts,
        "event_ts": event_ts,
        "channel_type": channel.kind,
    }


def deleted_event(channel: Channel, previous: Json, event_ts: str) -> Json:
    """`message_deleted`, hidden as in Slack."""
    return {
        "type": "message",
        "subtype": "message_deleted",
        "previous_message": previous,
        "deleted_ts": previous["ts"],
        "channel": channel.id,
        "hidden": True,
        "ts": event_ts,
        "event_ts": event_ts,
        "channel_type": channel.kind,
    }


def reaction_event(kind: str, message: Message, user_id: str, name: str, event_ts: str) -> Json:
    """`reaction_added` or `reaction_removed`."""
    return {
        "type": kind,
        "user": user_id,
        "reaction": name,
        "item": {"type": "message", "channel": message.channel, "ts": message.ts},
        "item_user": message.user,
        "event_ts": event_ts,
    }


def mentions_bot(space: Workspace, message: Message) -> bool:
    """Whether the text addresses the app's bot user."""
    return f"<@{space.bot.id}>" in message.text or f"<@{space.bot.id}|" in message.text


def _without_counts(shown: Json) -> dict[str, Any]:
    counts = {"reply_count", "reply_users_count", "latest_reply", "reply_users", "is_locked", "subscribed", "reactions"}
    return {name: value for name, value in shown.items() if name not in counts}
