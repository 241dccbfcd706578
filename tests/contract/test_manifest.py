"""The app asks Slack for what it uses and for nothing else, as the code itself says it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_docs import slack_methods_called

from bot.app import HOME_OPENED, MESSAGE_EVENTS, OTHER_EVENTS
from tryout.commands.doctor import SCOPES

KINDS = ("channels", "groups", "im", "mpim")
READ = frozenset(f"{kind}:read" for kind in KINDS)
OF_METHODS: dict[str, frozenset[str]] = {
    "agents.sessions.setStatus": frozenset({"chat:write", "assistant:write"}),
    "assistant.threads.setStatus": frozenset({"chat:write"}),
    "assistant.threads.setSuggestedPrompts": frozenset({"assistant:write"}),
    "assistant.threads.setTitle": frozenset({"assistant:write"}),
    "auth.test": frozenset(),
    "chat.delete": frozenset({"chat:write"}),
    "chat.getPermalink": frozenset(),
    "chat.postEphemeral": frozenset({"chat:write"}),
    "chat.postMessage": frozenset({"chat:write"}),
    "chat.update": frozenset({"chat:write"}),
    "conversations.info": READ,
    "conversations.members": READ,
    "conversations.open": frozenset({"im:write"}),  # with one person; several would need mpim:write
    "conversations.replies": frozenset(f"{kind}:history" for kind in KINDS),
    "files.completeUploadExternal": frozenset({"files:write"}),
    "files.getUploadURLExternal": frozenset({"files:write"}),
    "files.info": frozenset({"files:read"}),
    "reactions.add": frozenset({"reactions:write"}),
    "reactions.remove": frozenset({"reactions:write"}),
    "usergroups.users.list": frozenset({"usergroups:read"}),
    "users.conversations": READ,
    "users.info": frozenset({"users:read"}),
    "users.list": frozenset({"users:read"}),
    "views.open": frozenset(),
    "views.publish": frozenset(),
    "views.update": frozenset(),
}
"""Method → the bot scopes that Slack wants for it, over every kind of conversation that the bot may be in."""
OF_EVENTS: dict[str, frozenset[str]] = {
    "agent_session_stopped": frozenset({"assistant:write"}),
    "app_home_opened": frozenset(),
    "app_mention": frozenset({"app_mentions:read"}),
    "message.channels": frozenset({"channels:history"}),
    "message.groups": frozenset({"groups:history"}),
    "message.im": frozenset({"im:history"}),
    "message.mpim": frozenset({"mpim:history"}),
    "reaction_added": frozenset({"reactions:read"}),
}
OF_FEATURES: dict[str, frozenset[str]] = {
    "agent_view": frozenset({"assistant:write"}),
    "app_home": frozenset(),
    "bot_user": frozenset(),
    "shortcuts": frozenset({"commands"}),
    "slash_commands": frozenset({"commands"}),
}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(resources.files("bot").joinpath("manifest.yaml").read_text("utf-8"))
    return loaded


def needed(manifest: dict[str, Any]) -> dict[str, set[str]]:
    """Scope → the methods, events and features that need it. A KeyError names what has no line above yet."""
    reasons: dict[str, set[str]] = {}
    uses = {method: OF_METHODS[method] for method in slack_methods_called()}
    uses |= {event: OF_EVENTS[event] for event in manifest["settings"]["event_subscriptions"]["bot_events"]}
    uses |= {feature: OF_FEATURES[feature] for feature in manifest["features"]}
    for use, scopes in uses.items():
        for scope in scopes:
            reasons.setdefault(scope, set()).add(use)
    return reasons


def test_each_scope_is_needed_by_a_method_an_event_or_a_feature_and_nothing_lacks_its_scope(
    manifest: dict[str, Any],
) -> None:
    asked = manifest["oauth_config"]["scopes"]["bot"]
    assert sorted(set(asked)) == asked, "in order, each once"
    assert set(asked) == needed(manifest).keys()


def test_no_scope_of_a_person_is_asked_for(manifest: dict[str, Any]) -> None:
    assert manifest["oauth_config"]["scopes"].keys() == {"bot"}


def test_the_events_that_are_subscribed_are_the_ones_that_have_a_listener(manifest: dict[str, Any]) -> None:
    subscribed = {event.partition(".")[0] for event in manifest["settings"]["event_subscriptions"]["bot_events"]}
    assert subscribed == {HOME_OPENED, *MESSAGE_EVENTS, *(event for event, _ in OTHER_EVENTS)}


def test_the_home_tab_is_on_only_if_something_is_put_there(manifest: dict[str, Any]) -> None:
    fills = "views.publish" in slack_methods_called()
    assert manifest["features"]["app_home"]["home_tab_enabled"] is fills


def test_the_doctor_misses_no_scope_that_the_manifest_does_not_ask_for(manifest: dict[str, Any]) -> None:
    assert set(manifest["oauth_config"]["scopes"]["bot"]) >= SCOPES


def test_the_agent_view_is_on_only_if_its_prompts_and_status_are_set(manifest: dict[str, Any]) -> None:
    sets = {"assistant.threads.setSuggestedPrompts", "agents.sessions.setStatus"} <= slack_methods_called()
    assert bool(manifest["features"]["agent_view"]["agent_description"].strip()) is sets


def test_it_is_installed_to_one_workspace_at_a_time_as_the_page_says(manifest: dict[str, Any]) -> None:
    """An organisation's token wants a team_id in methods that are called without one."""
    assert manifest["settings"]["org_deploy_enabled"] is False
    assert "`org_deploy_enabled: false`" in (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(
        encoding="utf-8"
    )
