"""`threadbook init`: five questions, tokens tried, `.env` and `threadbook.toml` written, and the doctor at the end."""

from __future__ import annotations

import getpass
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from slack_sdk.errors import SlackApiError, SlackClientError

from bot.connection.app_manifest import manifest_text
from core.errors import SettingsError
from core.settings import Settings, environment_with, load_settings
from core.settings_page import example_toml
from core.slack.client import web_client
from tryout.commands import doctor
from tryout.commands.show import printable
from tryout.commands.whole_files import sweep_parts

TRIES = 3
ANSWER_CHARS = 2_000
PASTE = """\
Make the app: api.slack.com/apps → Create New App → From a manifest → paste the lines between the rules.
Then: Install App → Install to Workspace, and Basic Information → App-Level Tokens → Generate, with connections:write.
"""
_NAME = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=")


class NoMoreAnswers(Exception):
    """Whoever was asked is gone."""


class Ask(Protocol):
    """Asks a person."""

    def __call__(self, question: str, *, secret: bool = False) -> str:
        """The answer without spaces around it; "" for none. Raises NoMoreAnswers."""


class Question(NamedTuple):
    """What is asked, and what makes variables of the answer. It raises ValueError with a sentence for a bad one."""

    text: str
    read: Callable[[str], Mapping[str, str]]
    secret: bool = False


@dataclass(frozen=True)
class Terminal:
    """Asks in the terminal, or reads a line per question from a pipe."""

    def __call__(self, question: str, *, secret: bool = False) -> str:
        """See Ask."""
        try:
            if secret and sys.stdin.isatty():
                return getpass.getpass(f"{question} (not shown): ").strip()
            return input(f"{question}: ").strip()
        except EOFError:
            raise NoMoreAnswers from None


def bot_token(answer: str) -> Mapping[str, str]:
    """SLACK_BOT_TOKEN."""
    if answer and not answer.startswith("xoxb-"):
        raise ValueError("a bot token begins with xoxb- (OAuth & Permissions → Bot User OAuth Token)")
    return {"SLACK_BOT_TOKEN": answer}


def app_token(answer: str) -> Mapping[str, str]:
    """SLACK_APP_TOKEN."""
    if answer and not answer.startswith("xapp-"):
        raise ValueError("an app-level token begins with xapp- (Basic Information → App-Level Tokens)")
    return {"SLACK_APP_TOKEN": answer}


def model(answer: str) -> Mapping[str, str]:
    """A key of OpenAI, or the address of an endpoint and the model's name."""
    if not answer:
        return {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "OPENAI_MODEL": ""}
    if answer.startswith(("http://", "https://")):
        address, _, name = answer.partition(" ")
        if not name.strip():
            raise ValueError("give the model's name after the address: http://127.0.0.1:8000/v1 my-model")
        return {"OPENAI_BASE_URL": address, "OPENAI_MODEL": name.strip()}
    if " " in answer:
        raise ValueError("a key has no spaces; an address begins with http:// or https://")
    return {"OPENAI_API_KEY": answer}


def home(answer: str) -> Mapping[str, str]:
    """THREADBOOK_HOME."""
    return {"THREADBOOK_HOME": str(Path(answer).expanduser()) if answer else ""}


def database(answer: str) -> Mapping[str, str]:
    """DATABASE_URL."""
    if not answer:
        return {"DATABASE_URL": ""}
    scheme = answer.partition(":")[0].partition("+")[0]
    if scheme not in ("sqlite", "postgres", "postgresql"):
        raise ValueError("the Store is SQLite or Postgres: postgresql+psycopg://USER:PASSWORD@HOST:5432/DATABASE")
    return {"DATABASE_URL": answer}


QUESTIONS = (
    Question("1/5  Bot token, xoxb-…", bot_token, secret=True),
    Question("2/5  App-level token, xapp-…", app_token, secret=True),
    Question(
        "3/5  Model: a key of OpenAI, or ADDRESS MODEL of your own endpoint; empty for the built-in analyst",
        model,
        secret=True,
    ),
    Question("4/5  Folder for what this machine keeps; empty for .threadbook here", home),
    Question("5/5  Database: an address of Postgres; empty for SQLite in that folder", database, secret=True),
)


def run(folder: Path, ask: Ask | None = None) -> int:
    """Do it in `folder`. Returns 0 when the doctor finds nothing missing, 1 when something is, 2 when nothing was
    written."""
    ask = ask or Terminal()
    _manifest()
    env = folder / ".env"
    try:
        answers: dict[str, str] = {}
        for question in QUESTIONS:
            answers |= _answer(ask, question, answers, folder)
        if env.exists() and ask(f"{env} exists. Change these values in it, and keep the rest? [y/N]").lower() not in (
            "y",
            "yes",
        ):
            print("Nothing was written.", file=sys.stderr)
            return 2
    except NoMoreAnswers:
        print("threadbook init: no answer, so nothing was written.", file=sys.stderr)
        return 2
    before = env.read_text(encoding="utf-8") if env.exists() else ""
    if "THREADBOOK_CHECKPOINT_KEY" not in _names(before):
        answers["THREADBOOK_CHECKPOINT_KEY"] = secrets.token_urlsafe(32)
    write_private(env, merged(before, answers))
    print(f"wrote {env}, readable by you alone")
    team = folder / "threadbook.toml"
    if team.exists():
        print(f"left {team} as it is")
    else:
        part = team.with_name(f".{team.name}.part")  # the next `init` keeps whatever has the file's own name
        part.write_text(example_toml(), encoding="utf-8")
        os.replace(part, team)
        print(f"wrote {team}: every line is a default; change what your team decides")
    try:
        settings = load_settings(cwd=folder)
    except SettingsError as error:
        print(f"threadbook init: a setting is wrong.\n{error}", file=sys.stderr)
        return 2
    code = doctor.run(settings)
    print("Start it: `threadbook bot` and `threadbook worker`. Then invite the bot to a channel and mention it.")
    return code


def _manifest() -> None:
    print(PASTE)
    print("-" * 78)
    print(manifest_text().rstrip())
    print("-" * 78)


def _answer(ask: Ask, question: Question, before: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """The variables of an answer. A bad one is asked for again; the last time the person decides by giving none."""
    for _ in range(TRIES):
        try:
            return _tried(question, ask(question.text, secret=question.secret), before, folder)
        except ValueError as error:
            print(f"     {error}", file=sys.stderr)
    raise NoMoreAnswers


def _tried(question: Question, given: str, before: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """The variables of an answer that Slack does not refuse. Raises ValueError."""
    if len(given) > ANSWER_CHARS or not given.isprintable():
        raise ValueError("an answer is one line of ordinary characters")
    values = question.read(given)
    if given and question.read in CHECKED:
        print(f"     {CHECKED[question.read](_settings({**before, **values}, folder))}")
    return values


def _settings(values: Mapping[str, str], folder: Path) -> Settings:
    """Settings to try a token with: the answers so far, and where Slack is."""
    try:
        return load_settings(environment_with(**{name: value for name, value in values.items() if value}), folder)
    except SettingsError as error:
        raise ValueError(str(error).splitlines()[0]) from None


def try_bot_token(settings: Settings) -> str:
    """Ask Slack whose token it is. Raises ValueError when Slack refuses it."""
    try:
        reply = web_client(settings).auth_test()
    except SlackApiError as error:
        raise ValueError(f"Slack refuses it: {printable(str(error.response['error']))}") from None
    except (SlackClientError, OSError) as error:
        return f"not tried: Slack does not answer at {settings.slack_api_url} ({type(error).__name__})"
    return f"{printable(str(reply['user']))} in {printable(str(reply['team']))}"


def try_app_token(settings: Settings) -> str:
    """Ask Slack for a Socket Mode connection, which is not opened. Raises ValueError when Slack refuses it."""
    token = settings.slack_app_token
    try:
        web_client(settings).apps_connections_open(app_token=token.get_secret_value() if token else "")
    except SlackApiError as error:
        raise ValueError(f"Slack refuses it: {printable(str(error.response['error']))}") from None
    except (SlackClientError, OSError) as error:
        return f"not tried: Slack does not answer at {settings.slack_api_url} ({type(error).__name__})"
    return "Socket Mode works with it"


CHECKED: Mapping[Callable[[str], Mapping[str, str]], Callable[[Settings], str]] = {
    bot_token: try_bot_token,
    app_token: try_app_token,
}


def merged(before: str, answers: Mapping[str, str]) -> str:
    """The text of `.env` with these values. Other lines stay; an empty answer leaves the line that was there."""
    given = {name: value for name, value in answers.items() if value}
    lines = [line for line in before.splitlines() if _name(line) not in given]
    written = [f"{name}={quoted(value)}" for name, value in given.items()]
    return "\n".join([*lines, *written]) + "\n"


def quoted(value: str) -> str:
    """A value as `.env` files write it, so that no sign in it means anything."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _name(line: str) -> str:
    found = _NAME.match(line)
    return found[1] if found else ""


def _names(text: str) -> set[str]:
    return {_name(line) for line in text.splitlines()}


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else can read at any moment, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep_parts(path.parent, ".env-", "-*.part")
    # mode 0600, a name nobody has taken
    descriptor, partial = tempfile.mkstemp(prefix=f".env-{os.getpid()}-", suffix=".part", dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
