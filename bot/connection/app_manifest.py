"""The app's manifest, in the form in which it is pasted into Slack.

`bot/manifest.yaml` is for one workspace in Socket Mode. In HTTP mode the manifest also has the bot's address. If many
workspaces install the app by OAuth, it also has a redirect address and two events.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

EVENTS: Final = "/slack/events"
REDIRECT: Final = "/slack/oauth_redirect"
UNINSTALL_EVENTS: Final = ("app_uninstalled", "tokens_revoked")
"""What a bot of many workspaces listens to beside the others: a token that ends is deleted."""


class BadAddress(ValueError):
    """Slack would take no such address."""


def packaged() -> dict[str, Any]:
    """`manifest.yaml` as data."""
    loaded: dict[str, Any] = yaml.safe_load(files("bot").joinpath("manifest.yaml").read_text(encoding="utf-8"))
    return loaded


def manifest_text(address: str = "", *, many: bool = False) -> str:
    """The manifest as YAML. `address` is the bot's, as Slack reaches it, in HTTP mode; `many`: workspaces install it.

    Raises BadAddress when it is not `https://HOST`, or when `many` has none.
    """
    if not address:
        if many:
            raise BadAddress("workspaces install the app with a browser: give the address of your bot")
        return files("bot").joinpath("manifest.yaml").read_text(encoding="utf-8")
    manifest, base = packaged(), _base(address)
    settings = manifest["settings"]
    settings["socket_mode_enabled"] = False
    settings["event_subscriptions"] = {"request_url": base + EVENTS, **settings["event_subscriptions"]}
    settings["interactivity"] = {**settings["interactivity"], "request_url": base + EVENTS}
    if many:
        events = settings["event_subscriptions"]
        events["bot_events"] = sorted([*events["bot_events"], *UNINSTALL_EVENTS])
        manifest["oauth_config"] = {"redirect_urls": [base + REDIRECT], **manifest["oauth_config"]}
        settings["token_rotation_enabled"] = True
    return yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=1_000)


def _base(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise BadAddress(f"{address!r} is no address that Slack can post to: it looks like https://bot.example.com")
    return f"https://{parts.netloc}{parts.path.rstrip('/')}"
