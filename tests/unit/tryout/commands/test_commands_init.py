"""`threadbook init` writes what the settings' own reader reads, and never over what was there."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

from bot.connection.app_manifest import manifest_text
from core.settings import load_settings
from playground import Options, running
from tryout.commands import doctor, init

GOOD = ["xoxb-playground", "xapp-playground", "", "", ""]


class Person:
    """Answers one question after another, and then is gone."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, bool]] = []

    def __call__(self, question: str, *, secret: bool = False) -> str:
        self.asked.append((question, secret))
        if not self.answers:
            raise init.NoMoreAnswers
        return self.answers.pop(0)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Slack is the playground, and the doctor looks at Slack alone."""
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "OPENAI_API_KEY", "DATABASE_URL", "THREADBOOK_HOME"):
        monkeypatch.delenv(name, raising=False)
    with running(options=Options()) as slack:
        monkeypatch.setenv("SLACK_API_URL", f"{slack.url}/api/")
        monkeypatch.setattr(doctor, "CHECKS", {"Slack": doctor.slack})
        yield


def test_five_questions_make_a_private_env_and_the_teams_file_and_end_with_the_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = Person("xoxb-playground", "xapp-playground", "http://127.0.0.1:1/v1 my-model", "data here", "")
    assert init.run(tmp_path, person) == 0
    assert [question[:3] for question, _ in person.asked] == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert [secret for _, secret in person.asked] == [True, True, True, False, True]
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    settings = load_settings({}, tmp_path)
    assert settings.slack_bot_token is not None
    assert settings.slack_bot_token.get_secret_value() == "xoxb-playground"
    assert (settings.openai_base_url, settings.openai_model) == ("http://127.0.0.1:1/v1", "my-model")
    assert settings.home == tmp_path / "data here"
    assert settings.checkpoint_key is not None
    assert (tmp_path / "threadbook.toml").is_file()
    told = capsys.readouterr().out
    assert manifest_text().rstrip() in told
    assert "Socket Mode works with it" in told
    assert "xoxb-playground" not in told
    assert told.rstrip().endswith("mention it.")


def test_a_token_that_slack_refuses_is_asked_for_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    person = Person("xoxb-wrong", "not a token", *GOOD)
    assert init.run(tmp_path, person) == 0
    told = capsys.readouterr().err
    assert "Slack refuses it: invalid_auth" in told
    assert "begins with xoxb-" in told


def test_nothing_is_written_when_the_person_leaves_or_stays_wrong(tmp_path: Path) -> None:
    assert init.run(tmp_path, Person(*GOOD[:3])) == 2
    assert init.run(tmp_path, Person("xoxb-wrong", "xoxb-wrong", "xoxb-wrong", *GOOD)) == 2
    assert list(tmp_path.iterdir()) == []


def test_an_init_that_is_killed_leaves_no_half_of_the_teams_file_that_the_next_one_would_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def half(path: Path, text: str, **_: str) -> None:
        path.write_bytes(text.encode()[: len(text) // 2])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", half)
        with pytest.raises(Killed):
            init.run(tmp_path, Person(*GOOD))
    assert not (tmp_path / "threadbook.toml").exists()
    init.run(tmp_path, Person(*GOOD, "y"))
    assert (tmp_path / "threadbook.toml").read_text(encoding="utf-8") == init.example_toml()
    assert [path.name for path in tmp_path.glob("*threadbook.toml*")] == ["threadbook.toml"]


@pytest.mark.parametrize("answer", ["", "n", "no", "sure"])
def test_an_env_that_is_there_stays_unless_the_person_says_yes(tmp_path: Path, answer: str) -> None:
    (tmp_path / ".env").write_text("REDIS_URL=redis://kept\n")
    assert init.run(tmp_path, Person(*GOOD, answer)) == 2
    assert (tmp_path / ".env").read_text() == "REDIS_URL=redis://kept\n"
    assert not (tmp_path / "threadbook.toml").exists()


def test_with_a_yes_only_the_answered_values_change(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text("[workers]\ncount = 2\n")
    kept = "# ours\nREDIS_URL=redis://kept\nexport SLACK_BOT_TOKEN=old\nTHREADBOOK_CHECKPOINT_KEY=sixteen-characters\n"
    (tmp_path / ".env").write_text(kept)
    (tmp_path / ".env").chmod(0o644)
    assert init.run(tmp_path, Person(*GOOD, "y")) == 0
    values = dotenv_values(tmp_path / ".env")
    assert (values["REDIS_URL"], values["SLACK_BOT_TOKEN"]) == ("redis://kept", "xoxb-playground")
    assert values["THREADBOOK_CHECKPOINT_KEY"] == "sixteen-characters"
    assert (tmp_path / ".env").read_text().startswith("# ours\n")
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert (tmp_path / "threadbook.toml").read_text() == "[workers]\ncount = 2\n"


def test_a_link_in_the_place_of_env_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("A=1\n")
    (tmp_path / ".env").symlink_to(tmp_path / "elsewhere")
    assert init.run(tmp_path, Person(*GOOD, "y")) == 0
    assert (tmp_path / "elsewhere").read_text() == "A=1\n"
    assert not (tmp_path / ".env").is_symlink()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (init.model, "http://127.0.0.1:8000/v1"),
        (init.model, "two words"),
        (init.database, "mysql://u:p@h/d"),
        (init.app_token, "xoxb-0"),
    ],
)
def test_an_answer_that_cannot_be_right_is_refused_with_a_sentence(question: init.Question, answer: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        question(answer)  # type: ignore[operator]


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40).filter(str.isprintable))
def test_every_value_comes_back_as_it_was_given(value: str) -> None:
    from io import StringIO

    text = init.merged("", {"OPENAI_API_KEY": value})
    assert (dotenv_values(stream=StringIO(text)).get("OPENAI_API_KEY") or "") == value


def test_what_a_killed_init_left_is_removed_and_files_of_people_stay(tmp_path: Path) -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    kept = [tmp_path / name for name in (".env-production", ".env-1-mine", f".env-{os.getpid()}-a.part")]
    left = tmp_path / f".env-{ended.pid}-abcdefgh.part"
    for path in (*kept, left):
        path.write_text("SLACK_BOT_TOKEN=1")
    init.write_private(tmp_path / ".env", "A=1\n")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / ".env"])
