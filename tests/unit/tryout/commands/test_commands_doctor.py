"""The doctor names every part, whatever one of them does."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import fakeredis
import pytest
from cryptography.fernet import Fernet
from tools_world import table

from core.installations.cipher import BotTokens
from core.installations.tokens import cipher_of
from core.queue import Wakes
from core.release import version
from core.settings import Settings, load_settings
from core.store import Store
from core.store.installations import Installed
from playground import Options, running
from tryout.commands import doctor
from workers.builder.sandbox.toolchains import Toolchain
from workers.repositories.cloning import GitHere


def settings(tmp_path: Path, **environment: str) -> Settings:
    return load_settings({"THREADBOOK_HOME": str(tmp_path / "home"), **environment}, tmp_path)


@pytest.fixture
def two_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the checks of Python and of the file store."""
    monkeypatch.setattr(doctor, "CHECKS", {"Python": doctor.python, "Files": doctor.files})


@pytest.mark.usefixtures("two_checks")
def test_each_source_is_a_row_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute("CREATE TABLE orders (id int)")
    toml = '[sources.shop]\nurl_env = "SHOP"\n[sources.gone]\nurl_env = "GONE"\n'
    (tmp_path / "threadbook.toml").write_text(toml)
    monkeypatch.setenv("SHOP", f"sqlite:///{tmp_path}/shop.db")
    monkeypatch.setenv("GONE", "postgresql://reader:planted-p4ssw0rd@127.0.0.1:1/x")
    assert doctor.run(settings(tmp_path), as_json=True) == 0
    told = capsys.readouterr().out
    found = {each["part"]: each for each in json.loads(told)}
    assert found["Source shop"]["what"].startswith("sqlite, read-only, 1 tables, ")
    assert (found["Source shop"]["state"], found["Source gone"]["state"]) == ("ok", "note")
    assert "cannot be reached" in found["Source gone"]["what"]
    assert "planted" not in told


@pytest.mark.usefixtures("two_checks")
def test_each_server_of_tools_is_a_row_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = table("tickets", tmp_path, "search close", more='env = ["TICKETS_TOKEN"]\n')
    lacking = table("lacking", tmp_path, "search vanished")
    nowhere = '[mcp.nowhere]\ncommand = ["/no/such/program"]\ntools = ["any"]\n'
    unset = '[mcp.unset]\nurl = "https://x.example"\ntoken_env = "UNSET_TOKEN"\ntools = ["any"]\n'
    (tmp_path / "threadbook.toml").write_text(good + lacking + nowhere + unset)
    monkeypatch.setenv("TICKETS_TOKEN", "planted-t0ken-4711")
    assert doctor.run(settings(tmp_path), as_json=True) == 0
    told = capsys.readouterr().out
    found = {each["part"]: each for each in json.loads(told)}
    assert (found["Tools tickets"]["state"], found["Tools tickets"]["what"]) == ("ok", "answers, 2 tools")
    assert found["Tools lacking"]["what"] == "answers; it has no tool vanished"
    assert "does not answer" in found["Tools nowhere"]["what"]
    assert "UNSET_TOKEN is empty" in found["Tools unset"]["what"]
    assert "planted" not in told


@pytest.mark.usefixtures("two_checks")
def test_a_file_store_that_is_away_is_a_row_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("no folder")
    assert doctor.run(settings(tmp_path, THREADBOOK_FILES=str(tmp_path / "taken" / "files")), as_json=True) == 1
    found = {each["part"]: each for each in json.loads(capsys.readouterr().out)}
    assert (found["Python"]["state"], found["Files"]["state"]) == ("ok", "missing")
    assert "bucket" in found["Files"]["fix"]


def test_a_check_that_fails_in_an_unknown_way_is_a_row_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(settings: Settings) -> doctor.Finding:
        raise LookupError("nobody thought of sesame-street\nsecond line")

    monkeypatch.setattr(doctor, "CHECKS", {"Python": doctor.python, "Files": broken})
    given = settings(tmp_path, SLACK_SIGNING_SECRET="sesame-street")
    assert doctor.run(given, as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["part"] for each in found] == ["Python", "Files"]
    assert "nobody thought of" in found[1]["what"]
    assert "sesame-street" not in found[1]["what"]
    assert "second line" not in found[1]["what"]


def test_what_a_check_quotes_is_shown_without_our_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def quoting(settings: Settings) -> doctor.Finding:
        return doctor.Finding("Files", "note", "the server says: Bearer sesame-street")

    monkeypatch.setattr(doctor, "CHECKS", {"Files": quoting})
    assert doctor.run(settings(tmp_path, SLACK_SIGNING_SECRET="sesame-street"), as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert "the server says" in found[0]["what"]
    assert "sesame-street" not in found[0]["what"]


@pytest.mark.parametrize(
    ("secrets", "state", "says"),
    [
        ({}, "note", "`threadbook worker` starts, `threadbook bot` does not"),
        ({"SLACK_APP_TOKEN": "xapp-playground"}, "ok", "Socket Mode"),
        ({"SLACK_SIGNING_SECRET": "a-signing-secret"}, "ok", "HTTP mode"),
    ],
)
def test_http_mode_and_a_worker_service_need_no_app_token(
    tmp_path: Path, secrets: dict[str, str], state: str, says: str
) -> None:
    with running(options=Options()) as slack:
        environment = {"SLACK_API_URL": f"{slack.url}/api/", "SLACK_BOT_TOKEN": "xoxb-playground", **secrets}
        found = doctor.slack(settings(tmp_path, **environment))
    assert found.state == state
    assert says in found.what + found.fix


def test_a_workspace_that_gave_too_few_scopes_is_named(tmp_path: Path) -> None:
    given = settings(
        tmp_path,
        SLACK_CLIENT_ID="123.456",
        SLACK_CLIENT_SECRET="client-secret",
        SLACK_SIGNING_SECRET="signing-secret",
        THREADBOOK_TOKEN_KEYS=Fernet.generate_key().decode(),
    )
    with closing(Store(given.database_url)) as store:
        store.migrate()
        for team, scopes in (("T1", doctor.SCOPES), ("T2", doctor.SCOPES - {"files:read"})):
            secret = cipher_of(given).encrypt("", team, BotTokens(f"xoxb-{team}", ""))
            about = {"scopes": sorted(scopes)}
            store.save_installation(Installed("", team, secret, datetime.now(UTC), None, about))
    found = doctor.slack(given)
    assert found.state == "note"
    assert found.what == "scopes missing in T2 (files:read)"


GITS = [
    (GitHere(), "note", "not installed"),
    (GitHere("/usr/bin/git", "2.30.2"), "note", "2.30.2"),
    (GitHere("/usr/bin/git", "2.39.5", new_enough=True), "note", "2.39.5, but its jail cannot be used here"),
    (
        GitHere("/usr/bin/git", "2.39.5", new_enough=True, lacks="seccomp"),
        "note",
        "2.39.5, but its jail cannot be used here (no seccomp)",
    ),
    (GitHere("/usr/bin/git", "2.39.5", new_enough=True, jail=True), "ok", "2.39.5, runs in its jail"),
]


@pytest.mark.parametrize(("here", "state", "what"), GITS, ids=["none", "old", "no jail", "no filter", "fine"])
def test_git_is_a_row_with_its_version_and_its_jail_and_never_keeps_a_service_from_starting(
    here: GitHere, state: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "look_for_git", lambda: here)
    found = doctor.git(settings(tmp_path))
    assert (found.part, found.state) == ("Git", state)
    assert found.what == f"{what}; no host is allowed under [repositories], so no link is cloned"
    assert ("upload archives" in found.fix) == (state == "note")


def test_a_toolchain_that_no_sandbox_shows_is_named_with_its_place_and_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = (
        Toolchain("python", "python", "/usr/bin/python3", shown=True),
        Toolchain("rust", "rustc", "/home/ana/.cargo/bin/rustc"),
        Toolchain("go", "go"),
    )
    monkeypatch.setattr(doctor, "toolchains", lambda own: here)
    found = doctor.languages(settings(tmp_path))
    assert (found.part, found.state) == ("Languages", "note")
    assert "rustc in /home/ana/.cargo/bin/rustc is not used: the sandbox shows the system's folders" in found.what
    assert found.what.endswith("not installed: go")
    assert found.fix == "install rustc below /usr, or name its folder in [sandbox] toolchains"
    monkeypatch.setattr(doctor, "toolchains", lambda own: here[:1])
    assert (doctor.languages(settings(tmp_path)).state, doctor.languages(settings(tmp_path)).fix) == ("ok", "")


def test_a_node_of_another_version_is_named_with_what_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redis = fakeredis.FakeRedis()
    monkeypatch.setattr("redis.Redis.from_url", lambda *_, **__: redis)
    wakes = Wakes(redis, Store("sqlite://"))
    wakes.announce_node("host-a", about={"version": version()})
    assert doctor.nodes_beside(settings(tmp_path)).state == "ok"
    wakes.announce_node("host-b")
    found = doctor.nodes_beside(settings(tmp_path))
    assert (found.state, found.fix) == ("note", "upgrade the others too, as docs/upgrade.md says")
    assert "an older one on host-b" in found.what


def test_a_redis_that_is_away_hides_the_versions_of_nodes_and_is_missing_once(tmp_path: Path) -> None:
    found = doctor.nodes_beside(settings(tmp_path, REDIS_URL="redis://127.0.0.1:1/0"))
    assert (found.state, "does not answer" in found.what) == ("note", True)
