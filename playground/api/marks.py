"""reactions.*, assistant.threads.*, agents.sessions.setStatus: reactions, status lines, titles, prompts."""

from __future__ import annotations

import re

from playground.api.call import Call
from playground.emoji_names import is_emoji
from playground.errors import SlackError, invalid_arguments
from playground.identity import is_ts
from playground.workspace import Channel, Json, Message

_EMOJI = re.compile(r"[a-z0-9_+'\-]{1,100}(::skin-tone-[2-6])?")
SESSION_STATES = ("active", "processing", "suspended", "closed")
LOADING_MESSAGES = 10
PROMPTS = 4


def add_reaction(call: Call) -> Json:
    """Adds the bot's reaction."""
    call.hub.react(_reacted(call), call.hub.space.bot.id, _name(call))
    return {}


def remove_reaction(call: Call) -> Json:
    """Takes the bot's reaction away."""
    call.hub.react(_reacted(call), call.hub.space.bot.id, _name(call), remove=True)
    return {}


def _name(call: Call) -> str:
    name = call.text("name").strip(":")
    if not _EMOJI.fullmatch(name) or not is_emoji(name.partition("::")[0]):
        raise SlackError("invalid_name")
    return name


def _reacted(call: Call) -> Message:
    if not call.text("channel") or not call.text("timestamp"):
        raise SlackError("no_item_specified")
    return call.message(call.room(), "timestamp")


def set_thread_status(call: Call) -> Json:
    """Shows "Threadbook is ..." under a thread until the bot's next message or two minutes; "" clears it."""
    channel, thread_ts = _thread(call)
    loading = call.args.get("loading_messages", [])
    if not isinstance(loading, list) or len(loading) > LOADING_MESSAGES:
        raise invalid_arguments(f"no more than {LOADING_MESSAGES} items allowed [json-pointer:/loading_messages]")
    call.hub.set_status(channel.id, thread_ts, call.text("status"))
    return {}


def set_session_status(call: Call) -> Json:
    """The state of an agent session in a thread."""
    channel, thread_ts = _thread(call)
    status = call.text("status")
    if status not in SESSION_STATES:
        raise invalid_arguments(f"value must be one of {', '.join(SESSION_STATES)} [json-pointer:/status]")
    sessions = call.hub.space.sessions
    known = sessions.get((channel.id, thread_ts), {"title": call.text("title")[:200]})
    sessions[channel.id, thread_ts] = {**known, "status": status, "initiator": call.text("initiator_user_id")}
    call.hub.feed.tell("session", channel=channel.id, thread_ts=thread_ts, status=status)
    return {"status": status, "title": known["title"]}


def set_thread_title(call: Call) -> Json:
    """What the list of a direct message calls a conversation."""
    channel, thread_ts = _direct_thread(call)
    call.hub.space.titles[channel.id, thread_ts] = call.text("title")
    return {}


def set_suggested_prompts(call: Call) -> Json:
    """The prompts that a direct message offers, in a thread or for a new conversation."""
    channel = call.room("channel_id")
    if channel.kind != "im":
        raise SlackError("channel_type_not_supported")
    thread_ts = _direct_thread(call)[1] if call.text("thread_ts") else ""
    prompts = call.args.get("prompts")
    if not isinstance(prompts, list) or not 0 < len(prompts) <= PROMPTS:
        raise invalid_arguments(f"no more than {PROMPTS} items allowed [json-pointer:/prompts]")
    for place, each in enumerate(prompts):
        given = each if isinstance(each, dict) else {}
        if not all(isinstance(given.get(name), str) and given[name] for name in ("title", "message")):
            raise invalid_arguments(f"missing required field: title or message [json-pointer:/prompts/{place}]")
    shown = [{"title": p["title"], "message": p["message"]} for p in prompts]
    call.hub.space.prompts[channel.id, thread_ts] = shown
    call.hub.feed.tell("prompts", channel=channel.id, thread_ts=thread_ts, prompts=shown)
    return {}


def _direct_thread(call: Call) -> tuple[Channel, str]:
    channel, thread_ts = _thread(call)
    if channel.kind != "im":
        raise SlackError("channel_type_not_supported")
    return channel, thread_ts


def _thread(call: Call) -> tuple[Channel, str]:
    channel = call.room("channel_id")
    ts = call.text("thread_ts")
    if not is_ts(ts):
        raise SlackError("invalid_thread_ts")
    return channel, call.thread_root(channel, missing="invalid_thread_ts")
