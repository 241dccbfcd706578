"""Every method this Slack offers. What is not in the table answers `unknown_method`."""

from __future__ import annotations

from playground.api import chat, conversations, files, marks, people, views
from playground.api.call import Arg, Method

CHANNEL = Arg("channel", required=True)
CONTENT = (
    Arg("text"),
    Arg("blocks", "json"),
    Arg("attachments", "json"),
    Arg("markdown_text"),
    Arg("metadata", "json"),
)
PAGE = (Arg("limit", "int"), Arg("cursor"))
SPAN = (Arg("oldest"), Arg("latest"), Arg("inclusive", "bool"), Arg("include_all_metadata", "bool"), *PAGE)
ITEM = (Arg("channel"), Arg("timestamp"), Arg("name", required=True))
THREAD = (Arg("channel_id", required=True), Arg("thread_ts", required=True))
VIEW = Arg("view", "json", required=True)

METHODS: dict[str, Method] = {
    "agents.sessions.setStatus": Method(
        marks.set_session_status,
        (*THREAD, Arg("status", required=True), Arg("title"), Arg("initiator_user_id")),
        "chat:write",
    ),
    "apps.connections.open": Method(people.connections_open, caller="app"),
    "assistant.threads.setStatus": Method(
        marks.set_thread_status, (*THREAD, Arg("status"), Arg("loading_messages", "json")), "chat:write"
    ),
    "assistant.threads.setSuggestedPrompts": Method(
        marks.set_suggested_prompts,
        (Arg("channel_id", required=True), Arg("thread_ts"), Arg("title"), Arg("prompts", "json", required=True)),
        "assistant:write",
    ),
    "assistant.threads.setTitle": Method(
        marks.set_thread_title, (*THREAD, Arg("title", required=True)), "assistant:write"
    ),
    "auth.test": Method(people.auth_test),
    "bots.info": Method(people.bots_info, (Arg("bot"),), "users:read"),
    "chat.delete": Method(chat.delete, (CHANNEL, Arg("ts", required=True)), "chat:write"),
    "chat.getPermalink": Method(chat.permalink, (CHANNEL, Arg("message_ts", required=True))),
    "chat.postEphemeral": Method(
        chat.post_ephemeral,
        (CHANNEL, Arg("user", required=True), *CONTENT, Arg("thread_ts"), Arg("username")),
        "chat:write",
    ),
    "chat.postMessage": Method(
        chat.post_message,
        (CHANNEL, *CONTENT, Arg("thread_ts"), Arg("reply_broadcast", "bool"), Arg("username")),
        "chat:write",
    ),
    "chat.update": Method(
        chat.update, (CHANNEL, Arg("ts", required=True), *CONTENT, Arg("file_ids", "json")), "chat:write"
    ),
    "conversations.history": Method(conversations.history, (CHANNEL, *SPAN), "channels:history"),
    "conversations.info": Method(conversations.info, (CHANNEL,), "channels:read"),
    "conversations.join": Method(conversations.join, (CHANNEL,), "channels:join"),
    "conversations.members": Method(conversations.members, (CHANNEL, *PAGE), "channels:read"),
    "conversations.open": Method(
        conversations.opened, (Arg("channel"), Arg("users"), Arg("return_im", "bool")), "im:write"
    ),
    "conversations.replies": Method(
        conversations.replies, (CHANNEL, Arg("ts", required=True), *SPAN), "channels:history"
    ),
    "files.completeUploadExternal": Method(
        files.complete_upload,
        (
            Arg("files", "json", required=True),
            Arg("channel_id"),
            Arg("channels"),
            Arg("thread_ts"),
            Arg("initial_comment"),
        ),
        "files:write",
    ),
    "files.getUploadURLExternal": Method(
        files.get_upload_url, (Arg("filename", required=True), Arg("length", "int", required=True)), "files:write"
    ),
    "files.info": Method(files.info, (Arg("file", required=True),), "files:read"),
    "reactions.add": Method(marks.add_reaction, ITEM, "reactions:write"),
    "reactions.remove": Method(marks.remove_reaction, ITEM, "reactions:write"),
    "team.info": Method(people.team_info, (Arg("team"),), "team:read"),
    "usergroups.users.list": Method(people.usergroup_members, (Arg("usergroup", required=True),), "usergroups:read"),
    "users.conversations": Method(
        conversations.of_user, (Arg("user"), Arg("types"), Arg("exclude_archived", "bool"), *PAGE), "channels:read"
    ),
    "users.list": Method(people.users_list, PAGE, "users:read"),
    "users.info": Method(people.users_info, (Arg("user", required=True),), "users:read"),
    "views.open": Method(views.open_view, (Arg("trigger_id"), Arg("interactivity_pointer"), VIEW)),
    "views.publish": Method(views.publish_view, (Arg("user_id", required=True), VIEW, Arg("hash"))),
    "views.push": Method(views.push_view, (Arg("trigger_id"), Arg("interactivity_pointer"), VIEW)),
    "views.update": Method(views.update_view, (Arg("view_id"), Arg("external_id"), VIEW, Arg("hash"))),
}
