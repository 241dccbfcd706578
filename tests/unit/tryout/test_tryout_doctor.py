"""The doctor names every part, whatever one of them does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.settings import Settings, load_settings
from playground import Options, running
from tryout import doctor


def settings(tmp_path: Path, **environment: str) -> Settings:
    return load_settings({"THREADBOOK_HOME": str(tmp_path / "home"), **environment}, tmp_path)


@pytest.fixture
def two_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the checks of Python and of the file store."""
    monkeypatch.setattr(doctor, "CHECKS", {"Python": doctor.python, "Files": doctor.files})


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


@pytest.mark.parametrize(
    ("secrets", "state", "says"),
    [
        ({}, "missing", "SLACK_APP_TOKEN"),
        ({"SLACK_APP_TOKEN": "xapp-playground"}, "ok", "Socket Mode"),
        ({"SLACK_SIGNING_SECRET": "a-signing-secret"}, "ok", "HTTP mode"),
    ],
)
def test_http_mode_needs_no_app_token(tmp_path: Path, secrets: dict[str, str], state: str, says: str) -> None:
    with running(options=Options()) as slack:
        environment = {"SLACK_API_URL": f"{slack.url}/api/", "SLACK_BOT_TOKEN": "xoxb-playground", **secrets}
        found = doctor.slack(settings(tmp_path, **environment))
    assert found.state == state
    assert says in found.what + found.fix
