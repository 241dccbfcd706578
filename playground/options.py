"""What a test or an owner may change about this Slack: tokens, clocks, behaviour. A change makes a new value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:join",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "reactions:read",
    "reactions:write",
    "team:read",
    "usergroups:read",
    "users:read",
)
"""The scopes that the playground's bot token has until a test takes some away."""


@dataclass(frozen=True)
class Options:
    """Times are seconds. The defaults are Slack's own; tests shorten them.

    `retry_delays_s` are the pauses before the second, third and fourth delivery of an event that was not acknowledged.
    `share_delay_s` is how long a completed upload stays without mimetype and shares. `mention_first` swaps the order of
    the twins `message` and `app_mention`; `mention_files` False leaves the files out of `app_mention`. `connect_files`
    gives files in events as Slack Connect does: an id to look up and nothing else. `revoked`: the bot token is.
    With a `request_url` the app is in HTTP mode: events and presses are posted there, signed with `signing_secret`.
    With a `client_id` the app is installed by OAuth: at `/oauth/v2/authorize` a person consents, and the code of
    `redirect_url` gives a token; `rotates_tokens` makes it one that is exchanged. Then `bot_token` is worth nothing.
    `keeps_metadata` False: messages lose their metadata. `most_replies` is the longest page of a thread that is given;
    Slack gives some apps 15. `shortcuts` are what the app offers on every message, as "callback_id=name"; they need the
    scope `commands`.
    """

    bot_token: str = "xoxb-playground"  # noqa: S105  the playground's public default, worth nothing elsewhere
    app_token: str = "xapp-playground"  # noqa: S105  as above
    request_url: str = ""
    signing_secret: str = "playground-signing-secret"  # noqa: S105  as above
    client_id: str = ""
    client_secret: str = "playground-client-secret"  # noqa: S105  as above
    redirect_url: str = ""
    rotates_tokens: bool = False
    scopes: tuple[str, ...] = SCOPES
    ack_timeout_s: float = 3.0
    retry_delays_s: tuple[float, ...] = (0.0, 60.0, 300.0)
    share_delay_s: float = 0.4
    trigger_ttl_s: float = 3.0
    status_ttl_s: float = 120.0
    ticket_ttl_s: float = 30.0
    max_connections: int = 10
    max_file_mb: int = 1024
    mention_first: bool = False
    mention_files: bool = True
    share_files: bool = True
    keeps_metadata: bool = True
    most_replies: int = 1000
    connect_files: bool = False
    revoked: bool = False
    shortcuts: tuple[str, ...] = ("threadbook_menu=Threadbook…",)
    subscriptions: tuple[str, ...] = (
        "app_mention",
        "message.channels",
        "message.groups",
        "message.im",
        "app_home_opened",
        "agent_session_stopped",
        "reaction_added",
        "app_uninstalled",
        "tokens_revoked",
    )

    def changed(self, changes: Mapping[str, Any]) -> Options:
        """A copy with the changes. Raises ValueError for a name or a type that is not one of ours."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        clean: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"unknown option {name!r}; known are {', '.join(sorted(known))}")
            clean[name] = _like(known[name], value, name)
        return replace(self, **clean)


def _like(sample: object, value: object, name: str) -> object:
    match sample:
        case bool() if isinstance(value, bool):
            return value
        case float() if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return float(value)
        case int() if isinstance(value, int) and not isinstance(value, bool) and not isinstance(sample, bool):
            return value
        case str() if isinstance(value, str) and value:
            return value
        case tuple() if isinstance(value, list | tuple):
            if name == "retry_delays_s":
                return tuple(float(each) for each in value)
            return tuple(str(each) for each in value)
    raise ValueError(f"option {name!r} cannot be {value!r}")
