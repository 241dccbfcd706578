"""The one place where a SlackWriter is made for a workspace."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from redis import Redis
from slack_sdk import WebClient

from core.errors import OursToFix
from core.installations.tokens import Tokens, opened_tokens
from core.settings import Settings
from core.slack.client import NoToken, team_client, web_client
from core.slack.writing.writer import SlackWriter
from core.store import Store

MOST_WORKSPACES = 200
"""Workspaces whose people and channels are remembered; those of another one are asked again."""

TokenOf = Callable[[], str]
"""Reads a token now. Raises NoToken, an OSError, where there is none."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """What to talk to a workspace with."""

    slack: SlackWriter
    client: WebClient
    token_of: TokenOf


OpenWorkspace = Callable[[str, TokenOf], Workspace]
"""Makes a workspace from its id, and from what reads its token."""


class Workspaces:
    """Slack, by workspace. Safe to share between threads.

    With one token in the environment, `only` is the one for everything. With many workspaces each has its own, with a
    client, rate budgets and names of its own, and its token is read for each call.
    """

    def __init__(self, only: Workspace, tokens: Tokens | None = None, open_workspace: OpenWorkspace | None = None):
        self.only = only
        self.tokens = tokens
        self._open = open_workspace
        self._opened: OrderedDict[str, Workspace] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, team: str) -> Workspace:
        """The workspace with this id. Raises NotInstalled, Undecipherable, StoreUnreachable."""
        tokens = self.tokens
        if tokens is None or self._open is None:
            return self.only
        tokens.token_of(team)
        with self._lock:
            found = self._opened.get(team)
            if found is None:
                found = self._opened[team] = self._open(team, _reading(tokens, team))
            self._opened.move_to_end(team)
            while len(self._opened) > MOST_WORKSPACES:
                self._opened.popitem(last=False)
        return found


def _reading(tokens: Tokens, team: str) -> TokenOf:
    def read() -> str:
        try:
            return tokens.token_of(team)
        except OursToFix as error:  # for the caller it is a call that was not made
            raise NoToken(str(error)) from error

    return read


def opened_workspaces(settings: Settings, store: Store, redis: Redis) -> Workspaces:
    """All workspaces, by the settings of this process. Raises SettingsError."""
    client = web_client(settings, redis)
    token = settings.slack_bot_token
    only = Workspace(SlackWriter(client, store), client, lambda: token.get_secret_value() if token else "")
    if not settings.many_workspaces:
        return Workspaces(only)

    def open_workspace(team: str, token_of: TokenOf) -> Workspace:
        client = team_client(settings, redis, team, token_of)
        return Workspace(SlackWriter(client, store), client, token_of)

    return Workspaces(only, opened_tokens(settings, store), open_workspace)
