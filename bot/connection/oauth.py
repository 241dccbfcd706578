"""Many workspaces: they install the app at `/slack/install` by Bolt's OAuth, and leave again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from slack_bolt import App, BoltContext
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.authorize import Authorize, CallableAuthorize
from slack_bolt.oauth.oauth_settings import OAuthSettings

from bot.connection.app_manifest import UNINSTALL_EVENTS, packaged
from core.errors import SettingsError
from core.installations.stores import STATE_S, StoredInstallations, StoredStates
from core.installations.tokens import Tokens, cipher_of
from core.settings import Settings
from core.store import Store
from core.telemetry import get_logger

log = get_logger(__name__)

INSTALL, REDIRECT = "/slack/install", "/slack/oauth_redirect"
SLACK_CONSENT = "https://slack.com/oauth/v2/authorize"

Ended = Callable[[str], None]
"""Called with the id of a workspace that has uninstalled the app."""


class Installing:
    """The installations of many workspaces, for a Bolt app."""

    def __init__(self, settings: Settings, store: Store, tokens: Tokens, ended: Ended) -> None:
        if settings.slack_client_secret is None:
            raise SettingsError("SLACK_CLIENT_SECRET must be set.")
        self.installations = StoredInstallations(store, cipher_of(settings), tokens)
        self._ended = ended
        self.oauth = OAuthSettings(
            client_id=settings.slack_client_id,
            client_secret=settings.slack_client_secret.get_secret_value(),
            scopes=scopes(),
            user_scopes=[],
            redirect_uri=settings.slack_redirect_uri or None,
            install_path=INSTALL,
            redirect_uri_path=REDIRECT,
            authorization_url=consent_address(settings),
            installation_store=self.installations,
            installation_store_bot_only=True,
            state_store=StoredStates(store),
            state_expiration_seconds=STATE_S,
        )

    def authorize(self) -> Authorize:
        """For Bolt: whose event it is, and with which token it is answered. What nobody installed is left alone."""

        def authorized(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult | None:
            found = self.installations.serving(enterprise_id or "", team_id or "")
            if found is None:
                log.info("workspace_not_installed", team=team_id)
                return None
            installed, token = found
            return AuthorizeResult(
                enterprise_id=enterprise_id,
                team_id=team_id,
                bot_user_id=installed.about.get("bot_user"),
                bot_id=installed.about.get("bot_id"),
                bot_token=token,
            )

        return CallableAuthorize(logger=logging.getLogger(__name__), func=authorized)  # type: ignore[arg-type]  # Bolt documents None, its type does not

    def listen(self, app: App) -> None:
        """Hear of workspaces that leave."""

        def on_uninstalled(body: dict[str, Any], context: BoltContext) -> None:
            self._forget(body, context)

        def on_revoked(event: dict[str, Any], body: dict[str, Any], context: BoltContext) -> None:
            given = event.get("tokens")
            if isinstance(given, Mapping) and given.get("bot"):  # those of people are not ours
                self._forget(body, context)

        for event, listener in zip(UNINSTALL_EVENTS, (on_uninstalled, on_revoked), strict=True):
            app.event(event)(listener)

    def _forget(self, body: Mapping[str, Any], context: BoltContext) -> None:
        """Delete the token. Slack may say it again, late: then a newer installation stays.

        Slack tells of an uninstallation by two events, with its second. A workspace that installs again in that
        second would lose it to the second event, were it not known what the first one did.
        """
        try:
            since = datetime.fromtimestamp(float(body["event_time"]), UTC)
            at = since + timedelta(seconds=1)
        except (KeyError, TypeError, ValueError, OverflowError, OSError):
            since = at = datetime.now(UTC)
        team = "" if context.is_enterprise_install else context.team_id or ""
        gone = self.installations.delete(context.enterprise_id or "", team, at, since)
        log.info("workspace_uninstalled", teams=len(gone), organisation=not team)
        for each in gone:
            self._ended(each)


def scopes() -> list[str]:
    """The scopes of the app's manifest."""
    return [str(scope) for scope in packaged()["oauth_config"]["scopes"]["bot"]]


def consent_address(settings: Settings) -> str:
    """Where Slack asks whether the app may be installed; a playground asks beside its Web API."""
    if settings.is_real_slack:
        return SLACK_CONSENT
    own = urlsplit(settings.slack_api_url)
    return f"{own.scheme}://{own.netloc}/oauth/v2/authorize"
