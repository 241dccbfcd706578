"""Slack's own error names, method by method, and the shapes of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from playground.api.registry import METHODS
from playground.hub import Playground

Api = Callable[..., dict[str, Any]]
SALES, RANDOM, BOT, ANA = "C0SALES001", "C0RANDOM01", "U0THREADBK", "U0ANA00001"
NOWHERE = "1700000000.000001"


def test_the_methods_are_those_that_are_promised() -> None:
    assert sorted(METHODS) == [
        "agents.sessions.setStatus",
        "apps.connections.open",
        "assistant.threads.setStatus",
        "assistant.threads.setSuggestedPrompts",
        "assistant.threads.setTitle",
        "auth.test",
        "bots.info",
        "chat.delete",
        "chat.getPermalink",
        "chat.postEphemeral",
        "chat.postMessage",
        "chat.update",
        "conversations.history",
        "conversations.info",
        "conversations.join",
        "conversations.members",
        "conversations.open",
        "conversations.replies",
        "files.completeUploadExternal",
        "files.getUploadURLExternal",
        "files.info",
        "reactions.add",
        "reactions.remove",
        "team.info",
        "usergroups.users.list",
        "users.conversations",
        "users.info",
        "users.list",
        "views.open",
        "views.publish",
        "views.push",
        "views.update",
    ]


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("chat.startStream", {}, "unknown_method"),
        ("chat.postMessage", {"text": "a"}, "invalid_arguments"),
        ("chat.postMessage", {"channel": "C0NOWHERE1", "text": "a"}, "channel_not_found"),
        ("chat.postMessage", {"channel": RANDOM, "text": "a"}, "not_in_channel"),
        ("chat.postMessage", {"channel": SALES}, "no_text"),
        ("chat.postMessage", {"channel": SALES, "text": "  "}, "no_text"),
        ("chat.postMessage", {"channel": SALES, "text": "a", "blocks": "["}, "invalid_arguments"),
        ("chat.postMessage", {"channel": SALES, "text": "a", "blocks": {"type": "divider"}}, "invalid_blocks_format"),
        ("chat.postMessage", {"channel": SALES, "text": "a", "thread_ts": "yesterday"}, "invalid_thread_ts"),
        ("chat.postMessage", {"channel": SALES, "text": "a", "thread_ts": NOWHERE}, "thread_not_found"),
        ("chat.postMessage", {"channel": SALES, "text": "a", "markdown_text": "b"}, "markdown_text_conflict"),
        ("chat.postMessage", {"channel": SALES, "markdown_text": "b" * 12_001}, "msg_too_long"),
        (
            "chat.postMessage",
            {"channel": SALES, "text": "a", "metadata": {"event_type": "x"}},
            "invalid_metadata_format",
        ),
        (
            "chat.postMessage",
            {"channel": SALES, "text": "a", "metadata": {"event_type": "x", "event_payload": {"a": "b" * 4_000}}},
            "metadata_too_large",
        ),
        ("chat.postEphemeral", {"channel": SALES, "user": "U0NOBODY01", "text": "a"}, "user_not_found"),
        ("chat.update", {"channel": SALES, "ts": NOWHERE, "text": "a"}, "message_not_found"),
        ("chat.delete", {"channel": SALES, "ts": NOWHERE}, "message_not_found"),
        ("chat.getPermalink", {"channel": SALES, "message_ts": NOWHERE}, "message_not_found"),
        ("conversations.info", {"channel": "C0NOWHERE1"}, "channel_not_found"),
        ("conversations.history", {"channel": RANDOM}, "not_in_channel"),
        ("conversations.history", {"channel": SALES, "cursor": "?"}, "invalid_cursor"),
        ("conversations.history", {"channel": SALES, "limit": "many"}, "invalid_arguments"),
        ("conversations.history", {"channel": SALES, "oldest": "then"}, "invalid_ts_oldest"),
        ("conversations.replies", {"channel": SALES, "ts": NOWHERE}, "thread_not_found"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": "U0NOBODY01"}, "user_not_found"),
        ("conversations.join", {"channel": "C0LEADERS1"}, "method_not_supported_for_channel_type"),
        ("reactions.add", {"channel": SALES, "timestamp": NOWHERE, "name": "eyes"}, "message_not_found"),
        ("reactions.add", {"channel": SALES, "name": "eyes"}, "no_item_specified"),
        ("files.info", {"file": "F0NOWHERE1"}, "file_not_found"),
        ("files.getUploadURLExternal", {"filename": "a.csv"}, "invalid_arguments"),
        ("files.getUploadURLExternal", {"filename": "a.csv", "length": 0}, "missing_argument"),
        ("files.completeUploadExternal", {"files": [{"id": "F0NOWHERE1"}]}, "file_not_found"),
        ("files.completeUploadExternal", {"files": []}, "invalid_arguments"),
        (
            "assistant.threads.setStatus",
            {"channel_id": SALES, "thread_ts": NOWHERE, "status": "x"},
            "invalid_thread_ts",
        ),
        (
            "agents.sessions.setStatus",
            {"channel_id": SALES, "thread_ts": NOWHERE, "status": "busy"},
            "invalid_thread_ts",
        ),
        ("users.info", {"user": "U0NOBODY01"}, "user_not_found"),
        ("bots.info", {"bot": "B0NOBODY01"}, "bot_not_found"),
        ("team.info", {"team": "T0NOWHERE1"}, "team_not_found"),
        ("views.open", {"view": {"type": "modal"}}, "invalid_arguments"),
        ("views.update", {"view_id": "V0NOWHERE1", "view": {"type": "modal"}}, "not_found"),
        ("views.publish", {"user_id": ANA, "view": {"type": "modal"}}, "invalid_arguments"),
    ],
)
def test_a_wrong_call_gets_slacks_own_error(api: Api, method: str, arguments: dict[str, Any], error: str) -> None:
    answer = api(method, **arguments)
    assert (answer["ok"], answer["error"]) == (False, error)


def test_every_missing_argument_is_named(api: Api) -> None:
    assert api("chat.postEphemeral")["response_metadata"]["messages"] == [
        "[ERROR] missing required field: channel",
        "[ERROR] missing required field: user",
    ]


@pytest.mark.parametrize(
    ("method", "token", "error"),
    [
        ("auth.test", "", "not_authed"),
        ("auth.test", "xoxb-other", "invalid_auth"),
        ("auth.test", "xapp-playground", "not_allowed_token_type"),
        ("apps.connections.open", "xoxb-playground", "not_allowed_token_type"),
    ],
)
def test_a_token_opens_only_its_own_doors(door: TestClient, method: str, token: str, error: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = door.post(f"/api/{method}", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (200, error)


def test_a_scope_that_was_taken_away_is_missed_by_name(api: Api, people: Api) -> None:
    people("options", scopes=["chat:write"])
    answer = api("reactions.add", channel=SALES, timestamp=NOWHERE, name="eyes")
    assert answer == {"ok": False, "error": "missing_scope", "needed": "reactions:write", "provided": "chat:write"}


def test_form_query_and_json_arguments_mean_the_same(door: TestClient) -> None:
    headers = {"Authorization": "Bearer xoxb-playground"}
    blocks = [{"type": "divider", "block_id": "d"}]
    form = {"channel": SALES, "text": "a", "blocks": json.dumps(blocks), "unheard_of": "1"}
    answers = [
        door.post("/api/chat.postMessage", headers=headers, data=form),
        door.post("/api/chat.postMessage", headers=headers, params=form),
        door.post("/api/chat.postMessage", headers=headers, json={**form, "blocks": blocks}),
        door.get("/api/chat.postMessage", headers=headers, params=form),
        door.post("/api/chat.postMessage", data={**form, "token": "xoxb-playground"}),
    ]
    assert [each.json()["message"]["blocks"] for each in answers] == [blocks] * 5


def test_a_body_that_is_not_json_is_refused(door: TestClient) -> None:
    headers = {"Authorization": "Bearer xoxb-playground", "Content-Type": "application/json"}
    assert door.post("/api/auth.test", headers=headers, content="{").json()["error"] == "invalid_json"
    assert door.post("/api/auth.test", headers=headers, content="[]").json()["error"] == "json_not_object"
    assert door.post("/api/auth.test", headers=headers, content="").json()["ok"] is True


def test_auth_test_tells_who_the_bot_is_and_its_scopes(door: TestClient) -> None:
    answer = door.post("/api/auth.test", headers={"Authorization": "Bearer xoxb-playground"})
    assert answer.json() == {
        "ok": True,
        "url": "http://testserver/",
        "team": "Playground",
        "user": "threadbook",
        "team_id": "T0PLAYGRND",
        "user_id": BOT,
        "bot_id": "B0THREADBK",
        "is_enterprise_install": False,
    }
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")


def test_timestamps_are_unique_and_rise(api: Api) -> None:
    stamps = [api("chat.postMessage", channel=SALES, text=str(n))["ts"] for n in range(50)]
    assert stamps == sorted(set(stamps))
    assert all(len(each) == 17 and each[10] == "." for each in stamps)


def test_a_reply_makes_its_parent_a_thread(api: Api, people: Api) -> None:
    root = people("messages", channel="#sales", user="ana", text="a")["ts"]
    reply = api("chat.postMessage", channel=SALES, text="b", thread_ts=root)
    assert reply["message"]["thread_ts"] == root
    assert reply["message"]["parent_user_id"] == ANA
    head, below = api("conversations.replies", channel=SALES, ts=root)["messages"]
    assert (head["reply_count"], head["latest_reply"], head["reply_users"]) == (1, reply["ts"], [BOT])
    assert below["ts"] == reply["ts"]
    assert [each["ts"] for each in api("conversations.history", channel=SALES)["messages"]] == [root]


def test_a_reply_cannot_head_a_thread(api: Api) -> None:
    root = api("chat.postMessage", channel=SALES, text="a")["ts"]
    reply = api("chat.postMessage", channel=SALES, text="b", thread_ts=root)["ts"]
    assert api("chat.postMessage", channel=SALES, text="c", thread_ts=reply)["error"] == "cannot_reply_to_message"


def test_one_message_of_a_thread_can_be_asked_for(api: Api) -> None:
    root = api("chat.postMessage", channel=SALES, text="root")["ts"]
    stamps = [api("chat.postMessage", channel=SALES, text=str(n), thread_ts=root)["ts"] for n in range(3)]
    asked = {"channel": SALES, "ts": root, "oldest": stamps[1], "latest": stamps[1], "inclusive": True, "limit": 1}
    assert [each["text"] for each in api("conversations.replies", **asked)["messages"]] == ["root", "1"]


def test_history_is_newest_first_and_paged(api: Api) -> None:
    for each in range(5):
        api("chat.postMessage", channel=SALES, text=str(each))
    first = api("conversations.history", channel=SALES, limit=2)
    second = api("conversations.history", channel=SALES, limit=2, cursor=first["response_metadata"]["next_cursor"])
    third = api("conversations.history", channel=SALES, limit=2, cursor=second["response_metadata"]["next_cursor"])
    assert [[m["text"] for m in each["messages"]] for each in (first, second, third)] == [["4", "3"], ["2", "1"], ["0"]]
    assert [each["has_more"] for each in (first, second, third)] == [True, True, False]


def test_metadata_is_shown_only_when_asked_for(api: Api) -> None:
    metadata = {"event_type": "threadbook", "event_payload": {"outbox": "t1:0"}}
    ts = api("chat.postMessage", channel=SALES, text="a", metadata=metadata)["ts"]
    plain = api("conversations.replies", channel=SALES, ts=ts)["messages"][0]
    full = api("conversations.replies", channel=SALES, ts=ts, include_all_metadata=True)["messages"][0]
    assert ("metadata" in plain, full["metadata"]) == (False, metadata)


def test_an_update_with_text_alone_drops_the_blocks_and_keeps_the_metadata(api: Api) -> None:
    metadata = {"event_type": "threadbook", "event_payload": {"outbox": "t1:0"}}
    blocks = [{"type": "divider"}]
    ts = api("chat.postMessage", channel=SALES, text="a", blocks=blocks, metadata=metadata)["ts"]
    with_blocks = api("chat.update", channel=SALES, ts=ts, text="b", blocks=blocks)["message"]
    assert ("edited" in with_blocks, len(with_blocks["blocks"])) == (False, 1)
    without = api("chat.update", channel=SALES, ts=ts, text="c")["message"]
    assert ("edited" in without, "blocks" in without, without["metadata"]) == (True, False, metadata)


def test_text_may_be_posted_long_but_not_updated_long(api: Api) -> None:
    posted = api("chat.postMessage", channel=SALES, text="x" * 50_000)
    assert len(posted["message"]["text"]) == 40_000
    assert api("chat.update", channel=SALES, ts=posted["ts"], text="x" * 4_001)["error"] == "msg_too_long"


def test_the_bot_changes_and_deletes_only_its_own_messages(api: Api, people: Api) -> None:
    ts = people("messages", channel="#sales", text="mine")["ts"]
    assert api("chat.update", channel=SALES, ts=ts, text="b")["error"] == "cant_update_message"
    assert api("chat.delete", channel=SALES, ts=ts)["error"] == "cant_delete_message"
    own = api("chat.postMessage", channel=SALES, text="a")["ts"]
    assert api("chat.delete", channel=SALES, ts=own)["ok"] is True
    assert api("chat.delete", channel=SALES, ts=own)["error"] == "message_not_found"


def test_reactions_are_added_once_and_removed_once(api: Api) -> None:
    item = {"channel": SALES, "timestamp": api("chat.postMessage", channel=SALES, text="a")["ts"], "name": "eyes"}
    answers = [api(f"reactions.{each}", **item).get("error") for each in ("remove", "add", "add", "remove", "remove")]
    assert answers == ["no_reaction", None, "already_reacted", None, "no_reaction"]
    assert api("reactions.add", **{**item, "name": "no such name"})["error"] == "invalid_name"


def test_a_reaction_with_an_emoji_that_does_not_exist_is_refused(api: Api) -> None:
    item = {"channel": SALES, "timestamp": api("chat.postMessage", channel=SALES, text="a")["ts"]}
    names = ("white_check_mark", "octagonal_sign", "+1::skin-tone-3", "thinking_face", "such_a_thing_is_not")
    assert [api("reactions.add", **item, name=name).get("error") for name in names] == [None] * 4 + ["invalid_name"]


def test_a_message_may_be_nothing_but_attachments(api: Api) -> None:
    sent = api("chat.postMessage", channel=SALES, attachments=json.dumps([{"text": "42", "color": "good"}]))
    assert sent["ok"] is True
    assert sent["message"]["attachments"] == [{"text": "42", "color": "good"}]
    assert api("chat.postMessage", channel=SALES, attachments="[]")["error"] == "no_text"
    assert api("chat.postMessage", channel=SALES, attachments='["x"]')["error"] == "invalid_attachments"


def test_an_ephemeral_message_is_in_no_history(api: Api) -> None:
    ts = api("chat.postEphemeral", channel=SALES, user=ANA, text="psst")["message_ts"]
    assert api("conversations.history", channel=SALES)["messages"] == []
    assert api("chat.update", channel=SALES, ts=ts, text="b")["error"] == "message_not_found"


def test_a_status_fades_with_the_bots_next_message(api: Api, people: Api, door: TestClient) -> None:
    root = people("messages", channel="#sales", text="a")["ts"]
    api("assistant.threads.setStatus", channel_id=SALES, thread_ts=root, status="is reading sales.csv …")
    thread = {"channel": SALES, "thread_ts": root}
    assert door.get("/control/messages", params=thread).json()["status"] == "is reading sales.csv …"
    api("chat.postMessage", channel=SALES, thread_ts=root, text="done")
    assert door.get("/control/messages", params=thread).json()["status"] == ""


def test_the_bot_joins_a_public_channel_once(api: Api) -> None:
    assert api("conversations.join", channel=RANDOM)["channel"]["is_member"] is True
    assert api("conversations.join", channel=RANDOM)["warning"] == "already_in_channel"
    assert BOT in api("conversations.members", channel=RANDOM)["members"]
    assert api("chat.postMessage", channel=RANDOM, text="hello")["ok"] is True


def test_a_direct_message_opens_by_user(api: Api) -> None:
    channel = api("conversations.open", users=ANA)["channel"]["id"]
    assert api("conversations.info", channel=channel)["channel"]["user"] == ANA
    assert api("chat.postMessage", channel=ANA, text="hi")["channel"] == channel


def test_a_permalink_leads_to_the_message(api: Api, door: TestClient) -> None:
    ts = api("chat.postMessage", channel=SALES, text="find me")["ts"]
    link = api("chat.getPermalink", channel=SALES, message_ts=ts)["permalink"]
    assert "find me" in door.get(link).text


def test_a_modal_needs_a_fresh_unused_trigger(api: Api, hub: Playground, people: Api) -> None:
    view = {"type": "modal", "title": {"type": "plain_text", "text": "Hi"}, "blocks": []}
    trigger = hub.space.new_trigger(ANA)
    opened = api("views.open", trigger_id=trigger, view=view)
    assert opened["view"]["state"] == {"values": {}}
    assert api("views.open", trigger_id=trigger, view=view)["error"] == "exchanged_trigger_id"
    assert api("views.open", trigger_id="1.2.3", view=view)["error"] == "invalid_trigger_id"
    people("options", trigger_ttl_s=0)
    assert api("views.open", trigger_id=hub.space.new_trigger(ANA), view=view)["error"] == "expired_trigger_id"


def test_a_view_changes_only_by_its_last_hash(api: Api, hub: Playground) -> None:
    view = {"type": "modal", "title": {"type": "plain_text", "text": "Hi"}, "blocks": [], "external_id": "one"}
    opened = api("views.open", trigger_id=hub.space.new_trigger(ANA), view=view)["view"]
    assert api("views.open", trigger_id=hub.space.new_trigger(ANA), view=view)["error"] == "duplicate_external_id"
    changed = api("views.update", view_id=opened["id"], hash=opened["hash"], view=view)["view"]
    assert changed["hash"] != opened["hash"]
    assert api("views.update", external_id="one", hash=opened["hash"], view=view)["error"] == "hash_conflict"


def test_at_most_three_modals_are_on_top_of_each_other(api: Api, hub: Playground, people: Api) -> None:
    view = {"type": "modal", "title": {"type": "plain_text", "text": "Hi"}, "blocks": []}
    assert api("views.push", trigger_id=hub.space.new_trigger(ANA), view=view)["error"] == "not_found"
    first = api("views.open", trigger_id=hub.space.new_trigger(ANA), view=view)["view"]
    assert (first["root_view_id"], first["previous_view_id"]) == (first["id"], None)
    ids = [first["id"]]
    for _ in range(2):
        pushed = api("views.push", trigger_id=hub.space.new_trigger(ANA, ids[-1]), view=view)["view"]
        assert (pushed["root_view_id"], pushed["previous_view_id"]) == (first["id"], ids[-1])
        ids.append(pushed["id"])
    assert api("views.push", trigger_id=hub.space.new_trigger(ANA, ids[-1]), view=view)["error"] == "push_limit_reached"
    people(f"views/{ids[-1]}/close")
    assert api("views.push", trigger_id=hub.space.new_trigger(ANA, ids[-1]), view=view)["error"] == "not_found"
    assert api("views.push", trigger_id=hub.space.new_trigger(ANA, ids[1]), view=view)["ok"] is True


BUTTON = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
ACTIONS = [{"type": "actions", "elements": [BUTTON]}]


def test_a_message_for_one_person_is_pressed_by_nobody_else(api: Api, people: Api) -> None:
    ts = api("chat.postEphemeral", channel=SALES, user=ANA, text="Only you", blocks=ACTIONS)["message_ts"]
    press = {"channel": SALES, "ts": ts, "action_id": "go"}
    assert people("press", user="ben", **press)["error"] == "message_not_found"
    assert people("press", user="ana", **press).get("error") != "message_not_found"


def test_only_members_of_a_channel_press_there(api: Api, hub: Playground, people: Api) -> None:
    ts = api("chat.postMessage", channel=SALES, text="Go?", blocks=ACTIONS)["ts"]
    channel = hub.space.channels[SALES]
    channel.members = [each for each in channel.members if each != ANA]
    assert people("press", channel=SALES, ts=ts, action_id="go", user="ana")["error"] == "not_in_channel"


def test_a_home_is_published_only_by_its_last_hash(api: Api) -> None:
    view = {"type": "home", "blocks": []}
    first = api("views.publish", user_id=ANA, view=view)["view"]
    second = api("views.publish", user_id=ANA, view=view, hash=first["hash"])["view"]
    assert second["hash"] != first["hash"]
    assert api("views.publish", user_id=ANA, view=view, hash=first["hash"])["error"] == "hash_conflict"
    assert api("views.publish", user_id=ANA, view=view)["ok"] is True


def test_a_published_home_is_kept_per_person(api: Api, door: TestClient) -> None:
    view = {"type": "home", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Your runs"}}]}
    assert api("views.publish", user_id=ANA, view=view)["ok"] is True
    assert list(door.get("/control/views").json()["homes"]) == [ANA]
    assert "Your runs" in door.get("/home").text
