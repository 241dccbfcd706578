"""The token of a workspace: read when it is used, exchanged by one process, gone when the workspace leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.token_rotation import TokenRotator

from core.errors import SettingsError
from core.installations import tokens as tokens_module
from core.installations.cipher import BotTokens, TokenCipher, Undecipherable
from core.installations.stores import StoredInstallations, StoredStates
from core.installations.tokens import NotInstalled, Tokens, check_settings
from core.settings import load_settings
from core.store import Store, StoreUnreachable

KEY = Fernet.generate_key().decode()
CIPHER = TokenCipher(KEY)


class Slack(WebClient):
    """Answers oauth.v2.access: each refresh token counts once."""

    def __init__(self) -> None:
        super().__init__()
        self.given = {"xoxe-1": ("xoxb-new", "xoxe-2")}
        self.asked: list[str] = []

    def oauth_v2_access(self, **given: Any) -> Any:
        self.asked.append(given["refresh_token"])
        if given["refresh_token"] not in self.given:
            raise SlackApiError("refused", {"ok": False, "error": "invalid_refresh_token"})
        token, refresh = self.given.pop(given["refresh_token"])
        return {"token_type": "bot", "access_token": token, "refresh_token": refresh, "expires_in": 43_200}


class Place:
    """A Store, and processes that read tokens from it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.slack = Slack()
        self.tokens = self.process()
        self.installations = StoredInstallations(store, CIPHER, self.tokens)

    def process(self) -> Tokens:
        return Tokens(self.store, CIPHER, TokenRotator(client_id="1.2", client_secret="s", client=self.slack))

    def install(self, team: str | None = "T1", token: str = "xoxb-one", **more: Any) -> None:
        self.installations.save(
            Installation(
                team_id=team, bot_token=token, bot_id="B1", bot_user_id="U0BOT", user_id="U1", bot_scopes="a,b", **more
            )
        )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(tokens_module, "FRESH_S", 0.0)
    store = Store(f"sqlite:///{tmp_path}/store.db")
    store.migrate()
    yield Place(store)
    store.close()


@contextmanager
def nothing_stored(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The Store goes away whenever an exchanged token is to be stored."""

    def away(*_: object) -> bool:
        raise StoreUnreachable("away")

    with monkeypatch.context() as outage:
        outage.setattr(place.store, "replace_secret", away)
        yield


def test_each_workspace_has_its_own_token_and_the_database_has_none_of_them(place: Place, tmp_path: Path) -> None:
    place.install("T1", "xoxb-one")
    place.install("T2", "xoxb-two")
    assert (place.tokens.token_of("T1"), place.tokens.token_of("T2")) == ("xoxb-one", "xoxb-two")
    place.store.scrub()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"U0BOT" in stored
    assert b"xoxb-" not in stored


def test_a_workspace_that_did_not_install_has_none(place: Place) -> None:
    place.install("T1")
    for team in ("T2", "", "E1"):
        with pytest.raises(NotInstalled):
            place.tokens.token_of(team)


def test_a_token_that_was_read_counts_for_a_moment_and_not_after_it_was_forgotten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_module, "FRESH_S", 1e9)
    place.install("T1")
    assert place.tokens.token_of("T1") == "xoxb-one"
    place.store.forget_installation("", "T1", datetime.now(UTC) + timedelta(days=1))
    assert place.tokens.token_of("T1") == "xoxb-one"
    place.tokens.forget("T1")
    with pytest.raises(NotInstalled):
        place.tokens.token_of("T1")


def test_few_tokens_are_remembered(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "MOST_TEAMS", 2)
    for team in ("T1", "T2", "T3"):
        place.install(team)
        place.tokens.token_of(team)
    assert list(place.tokens._known) == ["T2", "T3"]


def test_a_token_counts_on_while_the_store_is_away(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.install("T1")
    place.tokens.token_of("T1")

    def away(team: str) -> None:
        raise StoreUnreachable("away")

    monkeypatch.setattr(place.store, "installation_for", away)
    assert place.tokens.token_of("T1") == "xoxb-one"
    with pytest.raises(StoreUnreachable):
        place.tokens.token_of("T2")


def test_a_token_that_ends_soon_is_exchanged_once_for_all_processes(place: Place) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=3_600)
    other = place.process()
    assert place.tokens.token_of("T1") == "xoxb-new"
    assert other.token_of("T1") == "xoxb-new"
    assert place.slack.asked == ["xoxe-1"]
    installed = place.store.installation_for("T1")
    assert installed is not None
    assert CIPHER.decrypt("", "T1", installed.secret) == BotTokens("xoxb-new", "xoxe-2")
    assert installed.expires_at is not None
    assert installed.expires_at > datetime.now(UTC) + timedelta(hours=11)


def test_while_one_process_exchanges_a_token_the_others_use_the_old_one(place: Place) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=3_600)
    assert place.store.claim_refresh("", "T1", datetime.now(UTC) + timedelta(minutes=1))
    assert place.tokens.token_of("T1") == "xoxb-one"
    assert place.slack.asked == []


def test_a_token_that_counts_for_long_is_left_alone(place: Place) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=43_200)
    assert place.tokens.token_of("T1") == "xoxb-one"
    assert place.slack.asked == []


def test_a_token_that_seems_to_count_for_days_is_exchanged_since_its_end_came_from_a_wrong_clock(place: Place) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=43_200 + 24 * 3_600)
    assert place.tokens.token_of("T1") == "xoxb-new"
    assert place.tokens.token_of("T1") == "xoxb-new"
    assert place.slack.asked == ["xoxe-1"]


def test_an_exchange_that_slack_refuses_leaves_the_old_token(place: Place) -> None:
    place.install("T1", bot_refresh_token="xoxe-used", bot_token_expires_in=3_600)
    assert place.tokens.token_of("T1") == "xoxb-one"


def test_a_token_that_was_exchanged_just_as_the_store_went_away_is_stored_when_it_is_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=3_600)
    with nothing_stored(place, monkeypatch):
        assert [place.tokens.token_of("T1") for _ in range(2)] == ["xoxb-new"] * 2
    assert place.process().token_of("T1") == "xoxb-one", "another process knows the old one only"
    assert place.tokens.token_of("T1") == "xoxb-new"
    assert place.process().token_of("T1") == "xoxb-new"
    assert place.slack.asked == ["xoxe-1"]
    installed = place.store.installation_for("T1")
    assert installed is not None
    assert CIPHER.decrypt("", "T1", installed.secret) == BotTokens("xoxb-new", "xoxe-2")
    assert place.tokens._unstored == {}


def test_a_workspace_that_installs_again_before_an_exchanged_token_is_stored_keeps_its_newer_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=3_600)
    with nothing_stored(place, monkeypatch):
        place.tokens.token_of("T1")
    place.install("T1", "xoxb-newest")
    assert place.tokens.token_of("T1") == "xoxb-newest"


def test_a_workspace_that_installs_again_during_an_exchange_keeps_its_newer_token(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.install("T1", bot_refresh_token="xoxe-1", bot_token_expires_in=3_600)
    ask = place.slack.oauth_v2_access

    def meanwhile(**given: Any) -> Any:
        place.install("T1", "xoxb-newest")
        return ask(**given)

    monkeypatch.setattr(place.slack, "oauth_v2_access", meanwhile)
    place.tokens.token_of("T1")
    assert place.tokens.token_of("T1") == "xoxb-newest"


def test_a_secret_that_was_moved_to_another_row_opens_nothing(place: Place) -> None:
    place.install("T1", "xoxb-one")
    place.install("T2", "xoxb-two")
    one, two = place.store.installation_for("T1"), place.store.installation_for("T2")
    assert one is not None
    assert two is not None
    place.store.replace_secret(two, one.secret, None)
    with pytest.raises(Undecipherable, match="T2"):
        place.tokens.token_of("T2")


# --- what Bolt sees


def test_bolt_finds_exactly_the_workspace_or_the_organisation_and_never_a_refresh_token(place: Place) -> None:
    place.install("T1", "xoxb-t", enterprise_id="E1", bot_refresh_token="xoxe-9")
    place.install("T9", "xoxb-e", enterprise_id="E1", is_enterprise_install=True)
    find = place.installations.find_bot
    mine = find(enterprise_id="E1", team_id="T1")
    org = find(enterprise_id="E1", team_id="T1", is_enterprise_install=True)
    assert mine is not None
    assert org is not None
    assert (mine.bot_token, mine.bot_refresh_token, mine.is_enterprise_install) == ("xoxb-t", None, False)
    assert (org.bot_token, org.team_id, org.is_enterprise_install) == ("xoxb-e", None, True)
    assert find(enterprise_id="E2", team_id="T1") is None
    assert find(enterprise_id=None, team_id="T1") is None
    found = place.installations.find_installation(enterprise_id="E1", team_id="T1")
    assert found is not None
    assert found.bot_token == "xoxb-t"
    assert place.installations.find_installation(enterprise_id="E1", team_id="T1", user_id="U1") is None


def test_an_organisation_serves_a_workspace_from_its_first_event_on(place: Place) -> None:
    place.install(None, "xoxb-e", enterprise_id="E1", is_enterprise_install=True)
    with pytest.raises(NotInstalled):
        place.tokens.token_of("T5")
    assert place.installations.serving("E2", "T5") is None
    found = place.installations.serving("E1", "T5")
    assert found is not None
    assert place.process().token_of("T5") == "xoxb-e", "the worker knows it too"


def test_a_workspace_that_went_to_another_organisation_is_not_served_by_the_first(place: Place) -> None:
    place.install(None, "xoxb-e", enterprise_id="E1", is_enterprise_install=True)
    assert place.installations.serving("E1", "T5") is not None
    assert place.installations.serving("E2", "T5") is None
    place.install(None, "xoxb-e2", enterprise_id="E2", is_enterprise_install=True)
    assert place.installations.serving("E2", "T5") is not None
    assert place.process().token_of("T5") == "xoxb-e2"


def test_deleting_is_told_in_the_audit_and_may_be_asked_again(place: Place) -> None:
    place.install("T1")
    later = datetime.now(UTC) + timedelta(seconds=5)
    assert place.installations.delete("", "T1", later) == ["T1"]
    assert place.installations.delete("", "T1", later) == ["T1"]
    with pytest.raises(NotInstalled):
        place.tokens.token_of("T1")
    lines = place.store.audit_lines(resource="T1")
    assert [(line.actor, line.action) for line in lines][:2] == [("U1", "install"), ("slack", "uninstall")]


def test_a_late_uninstallation_leaves_the_newer_installation(place: Place) -> None:
    place.install("T1")
    assert place.installations.delete("", "T1", datetime.now(UTC) - timedelta(minutes=5)) == []
    assert place.tokens.token_of("T1") == "xoxb-one"


@pytest.mark.parametrize("how", ["delete_bot", "delete_installation", "delete_all"])
def test_bolts_ways_to_delete_delete_the_token(place: Place, how: str) -> None:
    place.install("T1")
    getattr(place.installations, how)(enterprise_id=None, team_id="T1")
    with pytest.raises(NotInstalled):
        place.tokens.token_of("T1")


def test_a_state_counts_once_and_the_store_has_only_its_hash(place: Place, tmp_path: Path) -> None:
    states = StoredStates(place.store)
    first, second = states.issue(), states.issue()
    assert first != second
    place.store.scrub()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert first.encode() not in stored
    assert [states.consume(first), states.consume(first), states.consume("x"), states.consume(second)] == [
        *(True, False, False, True)
    ]


# --- settings


ALL = {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "secret-of-app", "THREADBOOK_TOKEN_KEYS": KEY}


def test_settings_that_fit_together_are_accepted(tmp_path: Path) -> None:
    settings = load_settings(ALL, tmp_path)
    check_settings(settings)
    assert settings.many_workspaces
    assert {KEY, "secret-of-app"} <= set(settings.secrets())
    assert KEY not in repr(settings)
    assert not load_settings({"SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path).many_workspaces


@pytest.mark.parametrize("changes", [{"SLACK_CLIENT_SECRET": ""}, {"THREADBOOK_TOKEN_KEYS": ""}])
def test_a_setting_that_is_missing_is_named(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(changes))):
        check_settings(load_settings(ALL | changes, tmp_path))


def test_one_token_and_many_workspaces_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="unset SLACK_BOT_TOKEN"):
        check_settings(load_settings(ALL | {"SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path))


TEAM = """
[access]
admins = ["U0OPERATOR"]
[budget]
day_tokens = 5000
[sources.sales]
url_env = "SALES_URL"
[sources.people]
url_env = "PEOPLE_URL"
[mcp.tracker]
url = "https://tracker.example.com/mcp"
tools = ["list"]
[mcp.people]
url = "https://people.example.com/mcp"
tools = ["list"]
[workspaces.T1]
sources = ["sales"]
mcp = ["tracker"]
admins = ["U0ANA00001"]
day_tokens = 100
"""


def test_a_workspace_has_what_its_table_gives_it_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(TEAM)
    settings = load_settings(ALL, tmp_path)
    one, two = settings.for_workspace("T1"), settings.for_workspace("T2")
    assert (set(one.sources), set(two.sources)) == ({"sales"}, set())
    assert (set(one.mcp), set(two.mcp)) == ({"tracker"}, set())
    assert (one.access.admins, two.access.admins) == (("U0ANA00001",), ())
    assert (one.budget.day_tokens, two.budget.day_tokens) == (100, 5000)
    assert one.memory_folder.name == "T1"
    assert two.memory_folder.parent == one.memory_folder.parent
    assert one.memory_folder.is_relative_to(settings.memory_folder)


def test_with_one_token_everything_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(TEAM)
    settings = load_settings({"SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path)
    assert settings.for_workspace("T2") is settings


@pytest.mark.parametrize("team", ["", "../T1", "T1/x", "T 1", "T1\n"])
def test_what_is_no_id_of_a_workspace_has_no_folder(tmp_path: Path, team: str) -> None:
    with pytest.raises(SettingsError):
        load_settings(ALL, tmp_path).for_workspace(team)


def test_a_source_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text('[workspaces.T1]\nsources = ["slaes"]\n')
    with pytest.raises(SettingsError, match="slaes"):
        load_settings(ALL, tmp_path)


def test_the_second_event_of_an_uninstallation_leaves_an_installation_that_came_between(place: Place) -> None:
    since = datetime.now(UTC)
    at = since + timedelta(minutes=1)  # the second that Slack names, so long that no machine is too slow for it
    place.install()
    assert place.installations.delete("", "T1", at, since) == ["T1"]
    place.install(token="xoxb-two")
    assert place.installations.delete("", "T1", at, since) == []
    assert place.process().token_of("T1") == "xoxb-two"


def test_an_uninstallation_after_another_one_counts(place: Place) -> None:
    before = datetime.now(UTC)
    place.install()
    assert place.installations.delete("", "T1", before + timedelta(minutes=1), before) == ["T1"]
    place.install(token="xoxb-two")
    after = datetime.now(UTC)
    assert place.installations.delete("", "T1", after + timedelta(minutes=1), after) == ["T1"]
