"""`--workspace TEAM`: which of many workspaces a command is about."""

from __future__ import annotations

from contextlib import closing

from core.errors import SettingsError
from core.settings import Settings
from core.store import Store

_LISTED = "`threadbook installations list` shows them."


def of_workspace(settings: Settings, team: str) -> Settings:
    """What holds in this workspace; with one token that is everything. Raises SettingsError, StoreUnreachable.

    A workspace that has uninstalled the app is known as long as its folder is there.
    """
    if not settings.many_workspaces:
        if team:
            raise SettingsError("--workspace is for many workspaces (docs/many-workspaces.md). Leave it out.")
        return settings
    if not team:
        raise SettingsError(f"Say which workspace is meant: --workspace T0123456789. {_LISTED}")
    own = settings.for_workspace(team)
    if not own.memory_folder.is_dir():
        with closing(Store(settings.database_url)) as store:
            if store.installation_for(team) is None:
                raise SettingsError(f"No workspace {team} has installed the app. {_LISTED}")
    return own
