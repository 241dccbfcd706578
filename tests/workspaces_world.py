"""Whole turns in two workspaces of one Threadbook: two Slacks that share the Store, Redis and the session host.

Each Slack takes calls with the token of its own installation alone. Nothing is answered without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from cryptography.fernet import Fernet
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.token_rotation import TokenRotator
from slack_sdk.web import SlackResponse
from turn_world import World

from core.installations.stores import StoredInstallations
from core.installations.tokens import Tokens, cipher_of
from core.installations.workspaces import TokenOf, Workspace, Workspaces
from core.settings import load_settings
from core.slack.client import CountedClient
from core.slack.fake import API_URL, TOKEN, FakeSlack
from core.slack.writing.writer import SlackWriter
from core.values import ThreadKey
from workers.service.context import WorkerContext

A, B = "T0AAAAAAA1", "T0BBBBBBB1"
MANY = {
    "SLACK_CLIENT_ID": "1.2",
    "SLACK_CLIENT_SECRET": "secret-of-the-app",
    "THREADBOOK_TOKEN_KEYS": Fernet.generate_key().decode(),
}


class GuardedClient(CountedClient):
    """A client of one workspace's Slack, which refuses other tokens."""

    def __init__(self, inner: CountedClient, token_of: TokenOf, accepts: Callable[[str], bool]) -> None:
        super().__init__(base_url=API_URL)
        self.transport = inner.transport
        self._inner, self._token_of, self._accepts = inner, token_of, accepts
        if inner.repeats is not None:
            self.repeats = GuardedClient(inner.repeats, token_of, accepts)  # type: ignore[arg-type]

    def api_call(self, api_method: str, **arguments: Any) -> SlackResponse:
        if not self._accepts(self._token_of()):
            raise SlackApiError("refused", {"ok": False, "error": "token_revoked"})
        return self._inner.api_call(api_method, **arguments)


class TwoWorkspaces:
    """`world` with two workspaces: `at(A)` is what people and `seen` things there mean."""

    def __init__(self, world: World, team: str = "") -> None:
        """`team` stands in threadbook.toml."""
        self.world = world
        self.slacks = {A: FakeSlack(team=A), B: FakeSlack(team=B)}
        self.valid: dict[str, str] = {}
        """The token that each Slack accepts."""
        self.seen_tokens: list[tuple[str, str]] = []
        """The workspace and the token of each call and each download."""
        home = Path(world.settings.home)
        environment = {
            "THREADBOOK_HOME": str(home),
            "THREADBOOK_NODE_ID": "here",
            "DATABASE_URL": world.settings.database_url,
            **MANY,
        }
        if team:
            with (home / "threadbook.toml").open("a", encoding="utf-8") as file:
                file.write(team)
        world.settings = load_settings(environment, home)
        self.nobody = FakeSlack(team="T0NOBODY01")
        self.nobody.transport = httpx.MockTransport(self._download)
        make = world.worker

        def worker(node: str = "here") -> WorkerContext:
            with self.at_nobody():
                made = make(node)
            return replace(made, workspaces=self.workspaces())

        world.worker = worker  # type: ignore[method-assign]
        self.at(A)

    def tokens(self) -> Tokens:
        """The tokens as a process that has just started reads them."""
        rotator = TokenRotator(client_id="1.2", client_secret="s")
        return Tokens(self.world.store, cipher_of(self.world.settings), rotator)

    def workspaces(self) -> Workspaces:
        """The workspaces of such a process."""
        store = self.world.store

        def open_workspace(team: str, token_of: TokenOf) -> Workspace:
            def accepts(token: str) -> bool:
                self.seen_tokens.append((team, token))
                return self.valid.get(team) == token

            client = GuardedClient(self.slacks[team].client(), token_of, accepts)
            return Workspace(SlackWriter(client, store), client, token_of)

        client = self.nobody.client()
        only = Workspace(SlackWriter(client, store), client, lambda: "")
        return Workspaces(only, self.tokens(), open_workspace)

    @property
    def installations(self) -> StoredInstallations:
        return StoredInstallations(self.world.store, cipher_of(self.world.settings), self.tokens())

    def install(self, team: str, token: str = "", **more: Any) -> None:
        """A workspace installs the app."""
        self.valid[team] = token or f"xoxb-of-{team}"
        given = Installation(team_id=team, bot_token=self.valid[team], user_id="U0ANA00001", **more)
        with self.world._unwatched():
            self.installations.save(given)

    def uninstall(self, team: str) -> None:
        """It uninstalls the app: the token is worth nothing, and the bot has heard of it."""
        self.valid.pop(team)
        with self.world._unwatched():
            self.installations.delete("", team, datetime.now(UTC) + timedelta(seconds=2))

    def at(self, team: str) -> World:
        """The world, with what people do and see in this workspace."""
        self.world.slack = self.slacks[team]
        self.world._bot = SlackWriter(self.slacks[team].client(), self.world.store)
        return self.world

    @contextmanager
    def at_nobody(self) -> Iterator[None]:
        before, self.world.slack = self.world.slack, self.nobody
        try:
            yield
        finally:
            self.world.slack = before

    def _download(self, request: httpx.Request) -> httpx.Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        for team, valid in self.valid.items():
            if valid == token:
                self.seen_tokens.append((team, token))
                return self.slacks[team]._serve_bytes(
                    httpx.Request("GET", request.url, headers={"authorization": f"Bearer {TOKEN}"})
                )
        return httpx.Response(403)


def texts(slack: FakeSlack, key: ThreadKey) -> str:
    """All that stands in a thread of this Slack."""
    return "\n".join(str(message) for message in slack.thread(key.root_ts, key.channel))
