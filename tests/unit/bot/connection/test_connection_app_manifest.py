"""The manifest to paste: for one workspace in Socket Mode, for HTTP mode, and for many workspaces."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from bot.connection.app_manifest import BadAddress, manifest_text, packaged
from threadbook import app

ADDRESS = "https://bot.example.com"


def read(*arguments: Any, **options: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(manifest_text(*arguments, **options))
    return loaded


def test_without_an_address_it_is_the_packaged_one() -> None:
    assert read() == packaged()


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/", f"{ADDRESS}:8443", f"{ADDRESS}/threadbook/"])
def test_in_http_mode_slack_posts_to_the_address_and_nothing_else_changes(address: str) -> None:
    manifest, plain = read(address), packaged()
    base = address.rstrip("/")
    settings = manifest["settings"]
    assert settings["socket_mode_enabled"] is False
    assert settings["event_subscriptions"].pop("request_url") == f"{base}/slack/events"
    assert settings["interactivity"].pop("request_url") == f"{base}/slack/events"
    settings["socket_mode_enabled"] = True
    assert manifest == plain


def test_for_many_workspaces_it_comes_back_rotates_tokens_and_hears_of_their_end() -> None:
    manifest, plain = read(ADDRESS, many=True), packaged()
    assert manifest["oauth_config"]["redirect_urls"] == [f"{ADDRESS}/slack/oauth_redirect"]
    assert manifest["oauth_config"]["scopes"] == plain["oauth_config"]["scopes"]
    assert manifest["settings"]["token_rotation_enabled"] is True
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert set(events) - set(plain["settings"]["event_subscriptions"]["bot_events"]) == {
        "app_uninstalled",
        "tokens_revoked",
    }
    assert events == sorted(set(events))


@pytest.mark.parametrize(
    "address",
    ["http://bot.example.com", "bot.example.com", "https://", "https://u:p@h", "https://h/?q=1", "https://h#x"],
)
def test_an_address_that_slack_would_not_take_is_refused_with_one_that_it_takes(address: str) -> None:
    with pytest.raises(BadAddress, match=r"https://bot\.example\.com"):
        manifest_text(address)


def test_the_command_prints_what_can_be_pasted() -> None:
    told = CliRunner().invoke(app, ["manifest", "--many", "--address", ADDRESS])
    assert told.exit_code == 0
    assert yaml.safe_load(told.stdout) == read(ADDRESS, many=True)


def test_the_command_says_that_many_workspaces_need_an_address() -> None:
    told = CliRunner().invoke(app, ["manifest", "--many"])
    assert told.exit_code == 2
    assert "give the address of your bot" in told.stderr
