"""What Bolt's OAuth keeps: installations and states, in our Store (the interfaces of slack_sdk.oauth)."""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import UTC, datetime, timedelta
from logging import Logger
from typing import Any

from slack_sdk.oauth import InstallationStore, OAuthStateStore
from slack_sdk.oauth.installation_store import Bot, Installation

from core.installations.cipher import BotTokens, TokenCipher
from core.installations.tokens import NotInstalled, Tokens, bot_of
from core.store import Store
from core.store.installations import Installed

STATE_S = 600
_NAME_CHARS = 200
_UNINSTALL = "uninstall"
"""What the audit calls it."""


class StoredInstallations(InstallationStore):
    """Installations with encrypted tokens.

    Bolt never gets a refresh token from here: `Tokens` alone exchanges tokens, one process at a time. The app asks for
    no tokens of people, so none is kept.
    """

    def __init__(self, store: Store, cipher: TokenCipher, tokens: Tokens) -> None:
        self._store = store
        self._cipher = cipher
        self._tokens = tokens

    @property
    def logger(self) -> Logger:
        """Where Bolt writes to about installations."""
        return logging.getLogger(__name__)

    def save(self, installation: Installation) -> None:
        """Keep what Slack gave; in place of what was kept of the same workspace. Raises StoreUnreachable."""
        self.save_bot(installation.to_bot(), installer=installation.user_id)

    def save_bot(self, bot: Bot, installer: str = "") -> None:
        """The same of the bot alone."""
        enterprise, team = _ids(bot.enterprise_id, bot.team_id, bool(bot.is_enterprise_install))
        tokens = BotTokens(bot.bot_token, bot.bot_refresh_token or "")
        ends = bot.bot_token_expires_at
        about: dict[str, Any] = {
            "app_id": bot.app_id,
            "enterprise_name": (bot.enterprise_name or "")[:_NAME_CHARS],
            "team_name": (bot.team_name or "")[:_NAME_CHARS],
            "bot_id": bot.bot_id,
            "bot_user": bot.bot_user_id,
            "scopes": list(bot.bot_scopes or ()),
            "installer": installer,
        }
        self._store.save_installation(
            Installed(
                enterprise,
                team,
                self._cipher.encrypt(enterprise, team, tokens),
                datetime.fromtimestamp(bot.installed_at, UTC),
                datetime.fromtimestamp(ends, UTC) if ends is not None else None,
                about,
            )
        )
        self._tokens.forget(team)
        self._store.audit(installer or "slack", "install", team or enterprise, "done")

    def find_bot(
        self, *, enterprise_id: str | None, team_id: str | None, is_enterprise_install: bool | None = False
    ) -> Bot | None:
        """The bot of exactly this workspace or organisation. Raises Undecipherable, StoreUnreachable."""
        installed = self._store.installation(*_ids(enterprise_id, team_id, bool(is_enterprise_install)))
        return bot_of(installed, BotTokens(self._tokens.fresh(installed))) if installed is not None else None

    def find_installation(
        self,
        *,
        enterprise_id: str | None,
        team_id: str | None,
        user_id: str | None = None,
        is_enterprise_install: bool | None = False,
    ) -> Installation | None:
        """The same, as Slack's SDK has it with whoever installed it; that of a person is never kept."""
        bot = self.find_bot(enterprise_id=enterprise_id, team_id=team_id, is_enterprise_install=is_enterprise_install)
        if bot is None or user_id is not None:
            return None
        return Installation(
            app_id=bot.app_id,
            enterprise_id=bot.enterprise_id,
            enterprise_name=bot.enterprise_name,
            team_id=bot.team_id,
            team_name=bot.team_name,
            bot_token=bot.bot_token,
            bot_id=bot.bot_id,
            bot_user_id=bot.bot_user_id,
            bot_scopes=bot.bot_scopes,
            bot_token_expires_at=bot.bot_token_expires_at,
            user_id="",
            is_enterprise_install=bot.is_enterprise_install,
            installed_at=bot.installed_at,
        )

    def delete_bot(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        """Delete what is kept of a workspace or, without one, of an organisation."""
        self.delete(enterprise_id or "", team_id or "", datetime.now(UTC))

    def delete_installation(
        self, *, enterprise_id: str | None, team_id: str | None, user_id: str | None = None
    ) -> None:
        """The same; nothing is kept of a single person."""
        if user_id is None:
            self.delete(enterprise_id or "", team_id or "", datetime.now(UTC))

    def delete_all(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        """The same."""
        self.delete(enterprise_id or "", team_id or "", datetime.now(UTC))

    def delete(self, enterprise: str, team: str, at: datetime, since: datetime | None = None) -> list[str]:
        """Delete an installation unless it is newer than `at`; returns the workspaces that have none any more.

        Called again, it also returns a workspace that had none before. What was deleted after `since` was deleted for
        the same uninstallation: an installation that is newer than that stays, too.
        """
        if since is not None:
            lines = self._store.audit_lines(since=since, resource=team or enterprise)
            at = min([at, *(line.at for line in lines if line.action == _UNINSTALL)])
        gone = set(self._store.forget_installation(enterprise, team, at))
        if team and self._store.installation_for(team) is None:
            gone.add(team)
        for each in gone:
            self._tokens.forget(each)
        if gone:
            self._store.audit("slack", _UNINSTALL, team or enterprise, "done")
        return sorted(gone)

    def serving(self, enterprise: str, team: str) -> tuple[Installed, str] | None:
        """The installation that serves a workspace of an organisation, with its token; None when there is none.

        `enterprise` is what Slack says now. An organisation's installation serves a workspace from its first event on.
        """
        if not team:
            return None
        try:
            found = self._tokens.find(team)
        except NotInstalled:
            found = None
        if found is not None and (found[0].team or found[0].enterprise == enterprise):
            return found
        if not enterprise or self._store.installation(enterprise, "") is None:
            return None
        self._store.note_org_team(team, enterprise)
        self._tokens.forget(team)
        return self._tokens.find(team)


def _ids(enterprise: str | None, team: str | None, is_org: bool) -> tuple[str, str]:
    return enterprise or "", "" if is_org else team or ""


class StoredStates(OAuthStateStore):
    """States of installations on their way: each counts once, for ten minutes. The Store has their hashes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def logger(self) -> Logger:
        """Where Bolt writes to about states."""
        return logging.getLogger(__name__)

    def issue(self, *_: Any, **__: Any) -> str:
        """A new state."""
        state = secrets.token_urlsafe(32)
        self._store.issue_state(_hash(state), datetime.now(UTC) + timedelta(seconds=STATE_S))
        return state

    def consume(self, state: str) -> bool:
        """Whether the state counts; it does not a second time."""
        return self._store.use_state(_hash(state))


def _hash(state: str) -> str:
    return hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()
