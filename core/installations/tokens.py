"""The token of a workspace, read when something is sent: it is never carried along."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from slack_sdk import WebClient
from slack_sdk.errors import SlackTokenRotationError
from slack_sdk.oauth.installation_store import Bot
from slack_sdk.oauth.token_rotation import TokenRotator

from core.errors import OursToFix, SettingsError
from core.installations.cipher import BotTokens, TokenCipher
from core.settings import Settings
from core.slack.client import LOST, web_client
from core.store import Store, StoreUnreachable
from core.store.installations import Installed
from core.telemetry import get_logger

log = get_logger(__name__)

FRESH_S = 15.0
"""How long a token that was read counts. After an uninstallation Slack refuses it at once anyway."""
MOST_TEAMS = 500
REFRESH_MINUTES = 120
"""A token that ends sooner is exchanged; Slack's tokens of this kind count for twelve hours."""
LONGEST = timedelta(hours=13)
"""One that seems to count for longer got its end from a clock that was wrong, so it is exchanged too."""
EXCHANGE_S = 60.0
"""How long one process alone may exchange a token."""


class NotInstalled(OursToFix):
    """The workspace has not installed the app, or has uninstalled it."""


@dataclass(frozen=True, slots=True)
class _Exchanged:
    """What Slack gave for a refresh token, encrypted as it is to be stored."""

    token: str = field(repr=False)
    secret: str = field(repr=False)
    ends: datetime


class Tokens:
    """The tokens of all workspaces. Safe to share between threads. `token_of` is what the rest of the program uses."""

    def __init__(self, store: Store, cipher: TokenCipher, rotator: TokenRotator) -> None:
        self._store = store
        self._cipher = cipher
        self._rotator = rotator
        self._known: OrderedDict[str, tuple[float, Installed, str]] = OrderedDict()
        # By the secret whose place they take. A refresh token counts once: what Slack gave for it may not be lost
        # while the Store is unavailable.
        self._unstored: dict[str, _Exchanged] = {}
        self._lock = threading.Lock()

    def token_of(self, team: str) -> str:
        """The token with which to talk to a workspace. Raises NotInstalled, Undecipherable, StoreUnreachable."""
        return self.find(team)[1]

    def find(self, team: str) -> tuple[Installed, str]:
        """The installation that serves a workspace, with its token. Raises as `token_of` does.

        While the Store is unavailable, what was read last counts.
        """
        with self._lock:
            known = self._known.get(team)
        if known is not None and time.monotonic() - known[0] < FRESH_S:
            return known[1], known[2]
        try:
            installed = self._store.installation_for(team)
            if installed is None:
                self.forget(team)
                raise NotInstalled(f"the app is not installed in {team}")
            token = self.fresh(installed)
        except StoreUnreachable:
            if known is not None:
                return known[1], known[2]
            raise
        with self._lock:
            self._known[team] = (time.monotonic(), installed, token)
            self._known.move_to_end(team)
            while len(self._known) > MOST_TEAMS:
                self._known.popitem(last=False)
        return installed, token

    def forget(self, team: str) -> None:
        """Read this workspace's token again the next time."""
        with self._lock:
            self._known.pop(team, None)

    def fresh(self, installed: Installed) -> str:
        """The token of an installation, exchanged for a new one if it ends soon or its end cannot be right.

        One process at a time exchanges it, because a refresh token counts once. The others use the old one, which is
        good for a while. Raises Undecipherable.
        """
        if (unstored := self._unstored.get(installed.secret)) is not None and self._put(installed, unstored):
            return unstored.token
        tokens = self._cipher.decrypt(installed.enterprise, installed.team, installed.secret)
        now = datetime.now(UTC)
        if installed.expires_at is None or not tokens.refresh:
            return tokens.token
        if now + timedelta(minutes=REFRESH_MINUTES) < installed.expires_at < now + LONGEST:
            return tokens.token
        until = now + timedelta(seconds=EXCHANGE_S)
        if not self._store.claim_refresh(installed.enterprise, installed.team, until):
            return tokens.token
        name = installed.team or installed.enterprise
        try:
            given = self._rotator.perform_bot_token_rotation(
                bot=bot_of(installed, tokens),
                minutes_before_expiration=math.ceil((installed.expires_at - now) / timedelta(minutes=1)) + 1,
            )
        except (SlackTokenRotationError, *LOST) as error:
            log.warning("token_not_exchanged", team=name, error=type(error.__cause__ or error).__name__)
            return tokens.token
        if given is None or given.bot_token_expires_at is None:
            return tokens.token
        new = BotTokens(given.bot_token, given.bot_refresh_token or "")
        secret = self._cipher.encrypt(installed.enterprise, installed.team, new)
        exchanged = _Exchanged(new.token, secret, datetime.fromtimestamp(given.bot_token_expires_at, UTC))
        self._unstored[installed.secret] = exchanged
        if not self._put(installed, exchanged):
            return tokens.token
        log.info("token_exchanged", team=name)
        return new.token

    def _put(self, installed: Installed, exchanged: _Exchanged) -> bool:
        """Store what Slack gave; False when the app was installed again, or uninstalled, meanwhile.

        While the Store is unavailable it counts all the same, and the next reader of the token stores it.
        """
        try:
            put = self._store.replace_secret(installed, exchanged.secret, exchanged.ends)
        except StoreUnreachable as error:
            log.warning("token_not_stored", team=installed.team or installed.enterprise, error=error)
            return True
        self._unstored.pop(installed.secret, None)
        return put


def bot_of(installed: Installed, tokens: BotTokens) -> Bot:
    """An installation in the words of Slack's SDK."""
    about, ends = installed.about, installed.expires_at
    return Bot(
        app_id=about.get("app_id"),
        enterprise_id=installed.enterprise or None,
        enterprise_name=about.get("enterprise_name"),
        team_id=installed.team or None,
        team_name=about.get("team_name"),
        bot_token=tokens.token,
        bot_id=str(about.get("bot_id") or ""),
        bot_user_id=str(about.get("bot_user") or ""),
        bot_scopes=list(about.get("scopes") or ()),
        bot_refresh_token=tokens.refresh or None,
        bot_token_expires_at=int(ends.timestamp()) if ends is not None else None,
        is_enterprise_install=not installed.team,
        installed_at=installed.installed_at.timestamp(),
    )


def cipher_of(settings: Settings) -> TokenCipher:
    """What encrypts the tokens. Raises SettingsError when there is no key."""
    if settings.token_keys is None:
        raise SettingsError(
            "THREADBOOK_TOKEN_KEYS must be set: the tokens of many workspaces are stored encrypted "
            "(docs/many-workspaces.md). With one workspace, SLACK_BOT_TOKEN is all, and SLACK_CLIENT_ID stays unset."
        )
    return TokenCipher(settings.token_keys.get_secret_value())


def check_settings(settings: Settings) -> None:
    """Raise SettingsError when the settings of many workspaces do not fit together."""
    if settings.slack_bot_token is not None:
        raise SettingsError(
            "SLACK_BOT_TOKEN and SLACK_CLIENT_ID are both set. For one workspace, unset SLACK_CLIENT_ID and "
            "SLACK_CLIENT_SECRET; for many workspaces, unset SLACK_BOT_TOKEN."
        )
    if settings.slack_client_secret is None:
        raise SettingsError("SLACK_CLIENT_ID is set, so SLACK_CLIENT_SECRET must be: Slack shows both in one place.")
    cipher_of(settings)


def opened_tokens(settings: Settings, store: Store) -> Tokens:
    """The tokens of all workspaces, by the settings of this process. Raises SettingsError."""
    check_settings(settings)
    secret = settings.slack_client_secret.get_secret_value() if settings.slack_client_secret else ""
    client: WebClient = web_client(settings)
    rotator = TokenRotator(client_id=settings.slack_client_id, client_secret=secret, client=client)
    return Tokens(store, cipher_of(settings), rotator)
