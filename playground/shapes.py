"""Workspace state as the JSON objects that Slack's API and events carry."""

from __future__ import annotations

from urllib.parse import quote

from playground.workspace import Channel, File, Json, Message, User, View, Workspace

PRETTY = {
    "csv": "CSV",
    "png": "PNG",
    "json": "JSON",
    "xlsx": "Excel Spreadsheet",
    "py": "Python",
    "md": "Markdown",
    "pdf": "PDF",
}
TINT_COLOURS = {"rose": "d6336c", "sky": "1c7ed6", "jade": "0ca678", "amber": "e67700", "book": "4a3aff"}


def user_object(space: Workspace, user: User) -> Json:
    """The object of users.info."""
    first, _, last = user.real_name.partition(" ")
    profile = {
        "title": user.title,
        "real_name": user.real_name,
        "real_name_normalized": user.real_name,
        "display_name": "" if user.is_bot else user.name,
        "first_name": first,
        "last_name": last,
        "status_text": "",
        "status_emoji": "",
        "team": space.team_id,
    }
    if user.is_bot:
        profile |= {"bot_id": space.bot_id, "api_app_id": space.app_id}
    return {
        "id": user.id,
        "team_id": space.team_id,
        "name": user.name,
        "deleted": False,
        "color": TINT_COLOURS.get(user.tint, "495057"),
        "real_name": user.real_name,
        "tz": "Etc/UTC",
        "tz_label": "Coordinated Universal Time",
        "tz_offset": 0,
        "locale": user.locale,
        "profile": profile,
        "is_admin": False,
        "is_owner": False,
        "is_restricted": False,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "updated": 1_700_000_000,
        **space.flags.get(user.id, {}),
    }


def channel_object(space: Workspace, channel: Channel) -> Json:
    """The object of conversations.info."""
    flags = {
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_im": channel.kind == "im",
        "is_mpim": False,
        "is_private": channel.kind != "channel",
        "is_archived": channel.archived,
        "is_member": space.bot.id in channel.members,
    }
    common: Json = {"id": channel.id, "created": channel.created, "context_team_id": space.team_id, **flags}
    if channel.kind == "im":
        return {**common, "user": channel.peer, "is_user_deleted": False, "is_open": True}
    return {
        **common,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_general": channel.name == "general",
        "creator": channel.members[0],
        "topic": {"value": channel.topic, "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
        "num_members": len(channel.members),
    }


def bot_profile(space: Workspace) -> Json:
    """The `bot_profile` that messages of the app carry."""
    return {
        "id": space.bot_id,
        "app_id": space.app_id,
        "user_id": space.bot.id,
        "name": space.bot.real_name,
        "deleted": False,
        "updated": 1_700_000_000,
        "icons": {},
        "team_id": space.team_id,
    }


def file_object(space: Workspace, file: File, base_url: str) -> Json:
    """The file object. A file still being scanned has neither mimetype nor shares, as in Slack."""
    scanned = file.state == "ready"
    extension = file.name.rpartition(".")[2].lower() if "." in file.name else ""
    place = f"{base_url}/files-pri/{space.team_id}-{file.id}"
    name = quote(file.name, safe="")
    shown: Json = {
        "id": file.id,
        "created": file.created,
        "timestamp": file.created,
        "name": file.name,
        "title": file.title,
        "mimetype": file.mimetype if scanned else "",
        "filetype": extension if scanned else "",
        "pretty_type": PRETTY.get(extension, extension.upper()) if scanned else "",
        "user": file.user,
        "user_team": space.team_id,
        "editable": False,
        "size": max(file.size, 0),
        "mode": "hosted",
        "is_external": False,
        "is_public": True,
        "file_access": "visible",
        "url_private": f"{place}/{name}",
        "url_private_download": f"{place}/download/{name}",
        "permalink": f"{base_url}/files/{file.user}/{file.id}/{name}",
        "channels": [],
        "groups": [],
        "ims": [],
    }
    if scanned and file.width:
        shown |= {"original_w": file.width, "original_h": file.height}
    if scanned:
        shown |= _shares(space, file)
    return shown


def _shares(space: Workspace, file: File) -> Json:
    shares: dict[str, dict[str, list[Json]]] = {}
    listed: dict[str, list[str]] = {"channels": [], "groups": [], "ims": []}
    for channel_id, all_ts in file.shares.items():
        channel = space.channels[channel_id]
        listed[{"channel": "channels", "group": "groups", "im": "ims"}[channel.kind]].append(channel_id)
        audience = "public" if channel.kind == "channel" else "private"
        entries = []
        for ts in all_ts:
            message = channel.messages.get(ts)
            entry: Json = {"ts": ts, "team_id": space.team_id, "share_user_id": file.user, "channel_name": channel.name}
            entries.append(entry | {"thread_ts": message.thread_ts} if message and message.thread_ts else entry)
        shares.setdefault(audience, {})[channel_id] = entries
    return {"shares": shares, **listed}


def message_object(space: Workspace, message: Message, base_url: str, *, metadata: bool = True) -> Json:
    """The message as history, replies, replies to a post, and the block_actions payload show it."""
    shown: Json = {
        "type": "message",
        "user": message.user,
        "ts": message.ts,
        "text": message.text,
        "team": space.team_id,
    }
    if message.subtype:
        shown["subtype"] = message.subtype
        if message.subtype == "tombstone":
            shown["hidden"] = True
    if message.client_msg_id:
        shown["client_msg_id"] = message.client_msg_id
    if message.bot_id:
        shown |= {"bot_id": message.bot_id, "app_id": space.app_id, "bot_profile": bot_profile(space)}
    if message.username:
        shown["username"] = message.username
    if message.blocks:
        shown["blocks"] = message.blocks
    if message.attachments:
        shown["attachments"] = message.attachments
    if message.files:
        shown |= {"files": [file_object(space, space.files[each], base_url) for each in message.files], "upload": False}
    if message.reactions:
        shown["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)} for name, users in message.reactions.items()
        ]
    if message.edited_ts:
        shown["edited"] = {"user": message.user, "ts": message.edited_ts}
    if message.metadata and metadata:
        shown["metadata"] = message.metadata
    return shown | _thread_fields(space, message)


def _thread_fields(space: Workspace, message: Message) -> Json:
    channel = space.channels[message.channel]
    if message.is_reply:
        head = channel.messages.get(message.thread_ts)
        return {"thread_ts": message.thread_ts, **({"parent_user_id": head.user} if head else {})}
    replies = [each for each in space.replies(channel, message.ts) if not each.only_for]
    if not replies:
        return {}
    users = list(dict.fromkeys(each.user for each in replies))
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "reply_users_count": len(users),
        "latest_reply": replies[-1].ts,
        "reply_users": users[:5],
        "is_locked": False,
        "subscribed": True,
    }


def view_object(space: Workspace, view: View) -> Json:
    """The view object that views.* answer and that interaction payloads carry."""
    given, stack = view.payload, space.stack(view)
    return {
        "id": view.id,
        "team_id": space.team_id,
        "type": given.get("type", "modal"),
        "blocks": given.get("blocks", []),
        "private_metadata": given.get("private_metadata", ""),
        "callback_id": given.get("callback_id", ""),
        "external_id": given.get("external_id", ""),
        "title": given.get("title"),
        "submit": given.get("submit"),
        "close": given.get("close"),
        "clear_on_close": bool(given.get("clear_on_close", False)),
        "notify_on_close": bool(given.get("notify_on_close", False)),
        "state": {"values": {}},
        "hash": view.hash,
        "root_view_id": stack[0].id if stack else view.id,
        "previous_view_id": view.below or None,
        "app_id": space.app_id,
        "bot_id": space.bot_id,
        "app_installed_team_id": space.team_id,
    }
