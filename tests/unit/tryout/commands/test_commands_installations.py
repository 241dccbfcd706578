"""`threadbook installations`, and what the doctor says of many workspaces."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from core.errors import SettingsError
from core.installations.cipher import BotTokens, TokenCipher
from core.settings import Settings, load_settings
from core.store import Store
from core.store.installations import Installed
from tryout.commands import doctor, installations

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
TOKEN = "xoxb-ana-secret"


def settings(folder: Path, keys: str = OLD, **changes: str) -> Settings:
    environment = {
        "THREADBOOK_HOME": str(folder),
        "SLACK_CLIENT_ID": "1.2",
        "SLACK_CLIENT_SECRET": "secret-of-app",
        "SLACK_SIGNING_SECRET": "signing-secret",
        "THREADBOOK_TOKEN_KEYS": keys,
    }
    return load_settings(environment | changes, folder)


@pytest.fixture
def installed(tmp_path: Path) -> Settings:
    given = settings(tmp_path)
    store = Store(given.database_url)
    store.migrate()
    for enterprise, team, name in (("", "T1", "Herons"), ("E1", "", "")):
        secret = TokenCipher(OLD).encrypt(enterprise, team, BotTokens(TOKEN))
        at = datetime(2026, 1, 2, tzinfo=UTC)
        store.save_installation(Installed(enterprise, team, secret, at, about={"team_name": name}))
    store.close()
    return given


def test_the_list_names_workspaces_and_organisations_and_no_token(
    installed: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installations.run_list(installed) == 0
    printed = capsys.readouterr().out
    assert "T1 Herons · since 2026-01-02" in printed
    assert "E1 (the whole organisation)" in printed
    assert installations.run_list(installed, as_json=True) == 0
    found = capsys.readouterr().out
    assert [(each["team"], each["enterprise"]) for each in json.loads(found)] == [("T1", ""), ("", "E1")]
    assert TOKEN not in printed + found


def test_with_one_workspace_there_is_nothing_to_rotate_and_nothing_untrue_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="THREADBOOK_TOKEN_KEYS must be set") as refused:
        installations.run_rotate(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    assert "SLACK_CLIENT_ID is set" not in str(refused.value)


def test_rotating_lets_the_old_key_go(installed: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert installations.run_rotate(settings(tmp_path, f"{NEW},{OLD}")) == 0
    assert "2 tokens are encrypted" in capsys.readouterr().out
    assert doctor.slack(settings(tmp_path, NEW)).state == "ok"
    assert doctor.slack(settings(tmp_path, OLD)).state == "missing"


def test_a_key_that_is_gone_is_said(installed: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert installations.run_rotate(settings(tmp_path, NEW)) == 1
    said = capsys.readouterr().err
    assert "T1: " in said
    assert "Keep the old keys" in said
    assert TOKEN not in said


def test_the_doctor_counts_installations_and_names_http_mode(installed: Settings) -> None:
    found = doctor.slack(installed)
    assert found.state == "ok"
    assert "HTTP mode" in found.what
    assert "2 workspaces have" in found.what


@pytest.mark.parametrize("missing", ["SLACK_SIGNING_SECRET", "SLACK_CLIENT_SECRET", "THREADBOOK_TOKEN_KEYS"])
def test_the_doctor_names_what_is_missing(tmp_path: Path, missing: str) -> None:
    found = doctor.slack(settings(tmp_path, **{missing: ""}))
    assert found.state == "missing"
    assert missing in found.what
