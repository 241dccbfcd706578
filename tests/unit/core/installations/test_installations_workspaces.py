"""One place makes what talks to a workspace, and the token is read for each call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fakeredis
import pytest
from cryptography.fernet import Fernet
from slack_sdk.oauth.installation_store import Installation

from core.errors import SlackUnreachable
from core.installations import workspaces as workspaces_module
from core.installations.stores import StoredInstallations
from core.installations.tokens import NotInstalled, cipher_of
from core.installations.workspaces import Workspaces, opened_workspaces
from core.settings import load_settings
from core.slack.client import NoToken, ours, rates_of, repeating
from core.store import Store
from core.values import ThreadKey

ENVIRONMENT = {
    "SLACK_CLIENT_ID": "1.2",
    "SLACK_CLIENT_SECRET": "secret",
    "THREADBOOK_TOKEN_KEYS": Fernet.generate_key().decode(),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    yield opened
    opened.close()


def opened(store: Store, tmp_path: Path, **changes: str) -> Workspaces:
    redis = fakeredis.FakeRedis(server=fakeredis.FakeServer())
    return opened_workspaces(load_settings(changes or ENVIRONMENT, tmp_path), store, redis)


def install(found: Workspaces, store: Store, tmp_path: Path, team: str, token: str) -> StoredInstallations:
    assert found.tokens is not None
    kept = StoredInstallations(store, cipher_of(load_settings(ENVIRONMENT, tmp_path)), found.tokens)
    kept.save(Installation(team_id=team, bot_token=token, user_id="U1"))
    return kept


def test_with_one_token_there_is_one_workspace_for_everything(store: Store, tmp_path: Path) -> None:
    found = opened(store, tmp_path, SLACK_BOT_TOKEN="xoxb-1")
    assert found.tokens is None
    assert found.of("T1") is found.of("T2") is found.only
    assert found.only.client.token == found.only.token_of() == "xoxb-1"


def test_each_workspace_has_a_client_budgets_and_names_of_its_own(store: Store, tmp_path: Path) -> None:
    found = opened(store, tmp_path)
    install(found, store, tmp_path, "T1", "xoxb-one")
    install(found, store, tmp_path, "T2", "xoxb-two")
    one, two = found.of("T1"), found.of("T2")
    assert one is found.of("T1")
    assert one.slack is not two.slack
    assert (one.client.token, two.client.token) == ("xoxb-one", "xoxb-two")
    assert repeating(one.client).token == "xoxb-one"
    rates = rates_of(one.client)
    assert rates is not None
    rates.pause("chat.update", "C1", 60)
    other = rates_of(two.client)
    assert other is not None
    assert rates.delay("chat.update", "C1") > 0
    assert other.delay("chat.update", "C1") == 0


def test_a_token_that_changed_is_used_by_the_next_call_and_stands_in_no_object(store: Store, tmp_path: Path) -> None:
    found = opened(store, tmp_path)
    install(found, store, tmp_path, "T1", "xoxb-one")
    client = found.of("T1").client
    assert client.token == "xoxb-one"
    install(found, store, tmp_path, "T1", "xoxb-newer")
    assert client.token == "xoxb-newer"
    kept: list[Any] = [vars(client), vars(repeating(client))]
    assert "xoxb-" not in repr(kept)


def test_a_workspace_that_left_is_told_from_one_that_is_away(store: Store, tmp_path: Path) -> None:
    found = opened(store, tmp_path)
    kept = install(found, store, tmp_path, "T1", "xoxb-one")
    there = found.of("T1")
    kept.delete_all(enterprise_id=None, team_id="T1")
    with pytest.raises(NotInstalled):
        found.of("T1")
    with pytest.raises(NoToken):
        there.client.auth_test()
    with pytest.raises(SlackUnreachable), ours("auth.test"):
        there.client.auth_test()
    there.slack.react(ThreadKey("T1", "C1", "1.0"), "1.0", "eyes")  # what an answer does not need fails nobody


def test_few_workspaces_are_remembered(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces_module, "MOST_WORKSPACES", 2)
    found = opened(store, tmp_path)
    for team in ("T1", "T2", "T3"):
        install(found, store, tmp_path, team, f"xoxb-{team}")
        found.of(team)
    assert list(found._opened) == ["T2", "T3"]
