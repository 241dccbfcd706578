"""chat.*: posting, changing and deleting messages of the bot."""

from __future__ import annotations

import json
from typing import Any

from playground.api.call import Call
from playground.blocks import check_blocks, filled
from playground.errors import SlackError
from playground.identity import is_ts
from playground.workspace import Channel, Json, Message

POSTED_TEXT = 40_000  # longer text is cut off, not refused
UPDATED_TEXT = 4_000
MARKDOWN_TEXT = 12_000
METADATA_BYTES = 4_000


def post_message(call: Call) -> Json:
    """Posts as the bot."""
    channel = call.room()
    message = _new(call, channel)
    if call.flag("reply_broadcast") and message.is_reply:
        message.subtype = "thread_broadcast"
    call.hub.post(message)
    return {"channel": channel.id, "ts": message.ts, "message": call.hub.shown(message)}


def post_ephemeral(call: Call) -> Json:
    """Posts for one person's eyes."""
    channel = call.room()
    user = call.hub.space.user(call.text("user"))
    if user.id not in channel.members:
        raise SlackError("user_not_in_channel")
    message = _new(call, channel)
    message.only_for = user.id
    call.hub.post(message)
    return {"message_ts": message.ts}


def update(call: Call) -> Json:
    """Changes a message of the bot. Text without blocks drops the old blocks; metadata stays when not given."""
    hub, channel = call.hub, call.channel()
    message = call.message(channel)
    if message.bot_id != hub.space.bot_id:
        raise SlackError("cant_update_message")
    if len(call.text("text")) > UPDATED_TEXT:
        raise SlackError("msg_too_long")
    text, blocks = _content(call, or_files="file_ids" in call.args)
    changes: dict[str, Any] = {"text": text, "blocks": blocks}
    if "attachments" in call.args:
        changes["attachments"] = _attachments(call)
    if "metadata" in call.args:
        changes["metadata"] = _metadata(call)
    if "file_ids" in call.args:
        changes["files"] = tuple(hub.space.file(each).id for each in _file_ids(call))
    if not blocks:
        changes["edited_ts"] = hub.space.clock.next()
    hub.edit(message, **changes)
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": hub.shown(message)}


def delete(call: Call) -> Json:
    """Deletes a message of the bot."""
    channel = call.channel()
    message = call.message(channel)
    if message.bot_id != call.hub.space.bot_id:
        raise SlackError("cant_delete_message")
    call.hub.delete(message)
    return {"channel": channel.id, "ts": message.ts}


def permalink(call: Call) -> Json:
    """A link that a browser can open."""
    channel = call.channel()
    message = call.message(channel, "message_ts")
    link = f"{call.hub.base_url}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    if message.is_reply:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def _new(call: Call, channel: Channel) -> Message:
    space = call.hub.space
    text, blocks = _content(call)
    if call.text("thread_ts") and not is_ts(call.text("thread_ts")):
        raise SlackError("invalid_thread_ts")
    thread_ts = call.thread_root(channel)
    if thread_ts and thread_ts != call.text("thread_ts"):
        raise SlackError("cannot_reply_to_message")
    return Message(
        space.clock.next(),
        channel.id,
        space.bot.id,
        text[:POSTED_TEXT],
        blocks,
        thread_ts=thread_ts,
        subtype="bot_message" if call.text("username") else "",
        username=call.text("username"),
        bot_id=space.bot_id,
        metadata=_metadata(call),
        attachments=_attachments(call),
    )


def _attachments(call: Call) -> list[Json]:
    given = call.args.get("attachments") or []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise SlackError("invalid_attachments")
    return given


def _content(call: Call, *, or_files: bool = False) -> tuple[str, list[Json]]:
    text, markdown, blocks = call.text("text"), call.text("markdown_text"), call.args.get("blocks")
    if markdown:
        if text or blocks:
            raise SlackError("markdown_text_conflict")
        if len(markdown) > MARKDOWN_TEXT:
            raise SlackError("msg_too_long")
        return markdown, filled([{"type": "markdown", "text": markdown}])
    if blocks:
        check_blocks(blocks, lambda file: is_ready_image(call, file))
    if not text.strip() and not blocks and not _attachments(call) and not or_files:
        raise SlackError("no_text")
    return text, filled(blocks or [])


def is_ready_image(call: Call, wanted: str) -> bool:
    """Whether a `slack_file` id or URL names a scanned png, jpeg or gif."""
    for file in call.hub.space.files.values():
        if file.id == wanted or f"-{file.id}/" in wanted:
            return file.state == "ready" and file.mimetype in {"image/png", "image/jpeg", "image/gif"}
    return False


def _metadata(call: Call) -> Json | None:
    given = call.args.get("metadata")
    if not given or not call.hub.options.keeps_metadata:
        return None
    fits = (
        isinstance(given, dict)
        and isinstance(given.get("event_type"), str)
        and isinstance(given.get("event_payload"), dict)
    )
    if not fits:
        raise SlackError("invalid_metadata_format")
    if len(json.dumps(given).encode()) > METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return {"event_type": given["event_type"], "event_payload": given["event_payload"]}


def _file_ids(call: Call) -> list[str]:
    given = call.args["file_ids"]
    return [str(each) for each in given] if isinstance(given, list) else []
