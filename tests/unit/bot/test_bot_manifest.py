"""The manifest in the repository fits Slack's schema limits and asks for what the code uses, and for no more."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
import yaml

from bot.buttons import SHORTCUTS
from playground import Options

# Which bot scope stands behind what we do; chat:write is also the one of assistant.threads.setStatus.
USED = {
    "app_mentions:read": "the app_mention event",
    "assistant:write": "the agent view, agents.sessions.setStatus and the agent_session_stopped event",
    "channels:history": "the message.channels event, conversations.replies",
    "channels:read": "part of conversations in public channels",
    "commands": "the shortcut of messages",
    "chat:write": "posts, redraws and the status line",
    "files:read": "downloads and files.info",
    "files:write": "uploads",
    "groups:history": "the message.groups event",
    "groups:read": "part of conversations in private channels",
    "im:history": "the message.im event",
    "im:read": "part of direct messages",
    "im:write": "answers in direct messages",
    "mpim:history": "the message.mpim event",
    "mpim:read": "part of group messages",
    "reactions:read": "the reaction_added event",
    "reactions:write": "the eyes",
    "usergroups:read": "usergroups.users.list, for groups that [access] names",
    "users:read": "names of authors, and whether they are guests",
}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(resources.files("bot").joinpath("manifest.yaml").read_text("utf-8"))
    return loaded


def test_the_manifest_asks_for_exactly_the_scopes_in_use(manifest: dict[str, Any]) -> None:
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == set(USED)


def test_each_message_event_has_its_scope(manifest: dict[str, Any]) -> None:
    for event in manifest["settings"]["event_subscriptions"]["bot_events"]:
        if event.startswith("message."):
            scope = f"{event.removeprefix('message.')}:history"
            assert scope in manifest["oauth_config"]["scopes"]["bot"]


def test_the_manifest_keeps_slacks_limits(manifest: dict[str, Any]) -> None:
    assert len(manifest["display_information"]["name"]) <= 35
    assert len(manifest["display_information"]["description"]) <= 140
    assert len(manifest["features"]["agent_view"]["agent_description"]) <= 300
    assert len(manifest["features"]["bot_user"]["display_name"]) <= 80


def test_the_shortcuts_are_those_that_the_bot_listens_to_and_the_playground_offers(manifest: dict[str, Any]) -> None:
    shortcuts = manifest["features"]["shortcuts"]
    assert [each["callback_id"] for each in shortcuts] == [each.ID for each, _ in SHORTCUTS]
    assert [f"{each['callback_id']}={each['name']}" for each in shortcuts] == list(Options().shortcuts)
    assert all(each["type"] == "message" and len(each["name"]) <= 24 for each in shortcuts)
    assert all(len(each["description"]) <= 150 for each in shortcuts)
    assert len(shortcuts) <= 10


def test_presses_and_socket_mode_are_switched_on(manifest: dict[str, Any]) -> None:
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert manifest["settings"]["interactivity"]["is_enabled"] is True
