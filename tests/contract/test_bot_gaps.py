"""Gaps in what the bot hears: a connection that is open and silent, and words said while no bot ran."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fakeredis
import httpx
import pytest
from mute_proxy import MuteProxy, mute_proxy
from patience import PATIENCE_S, eventually, reserved_port
from pydantic import SecretStr
from slack_sdk.socket_mode.builtin import SocketModeClient

import bot.service
from bot import running_bot, running_web_bot
from core.settings import Settings, load_settings
from core.store import Store
from playground import Address, Options, running

CHANNEL, TEAM = "C0SALES001", "T0PLAYGRND"


@pytest.fixture
def address() -> Iterator[Address]:
    # An event that nobody acknowledged never comes again: what is found was looked up.
    with running(options=Options(retry_delays_s=(), ack_timeout_s=PATIENCE_S)) as started:
        yield started


@pytest.fixture
def settings(address: Address, tmp_path: Path) -> Settings:
    environment = {
        "SLACK_API_URL": address.api_url,
        "SLACK_BOT_TOKEN": address.bot_token,
        "SLACK_APP_TOKEN": address.app_token,
    }
    return load_settings(environment, tmp_path)


@pytest.fixture
def people(address: Address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{address.url}/control", trust_env=False, timeout=PATIENCE_S) as http:
        yield http


@pytest.fixture(autouse=True)
def _redis(monkeypatch: pytest.MonkeyPatch) -> None:
    server = fakeredis.FakeServer()
    monkeypatch.setattr(bot.service, "connect_redis", lambda url, timeout_s: fakeredis.FakeRedis(server=server))


def say(people: httpx.Client, text: str, thread: str = "") -> str:
    body = {"channel": "#sales", "user": "ana", "text": text, "thread_ts": thread}
    reply = people.post("/messages", json=body)
    assert reply.is_success, reply.text
    return str(reply.json()["ts"])


@contextmanager
def stored(settings: Settings) -> Iterator[Store]:
    store = Store(settings.database_url)
    try:
        yield store
    finally:
        store.close()


def texts(store: Store) -> list[str]:
    return [mail.text for thread in store.threads_needing_a_wake() for mail in store.unread(thread)]


# --- no bot ran


def test_words_said_in_our_thread_while_no_bot_ran_are_read_once(settings: Settings, people: httpx.Client) -> None:
    with running_bot(settings), stored(settings) as store:
        thread = say(people, "@Threadbook which region sold best?")
        eventually(lambda: texts(store) == ["which region sold best?"])
    say(people, "only 2023 please", thread)
    say(people, "and <@U0THREADBK>: net", thread)
    for _ in range(2):
        with running_bot(settings), stored(settings) as store:
            found = ["which region sold best?", "only 2023 please", "and : net"]
            eventually(lambda: len(texts(store)) == 3, "the words of the gap")
            assert [" ".join(text.split()) for text in texts(store)] == found


def test_a_bot_in_http_mode_reads_at_its_start_what_was_said_while_none_ran(
    settings: Settings, people: httpx.Client
) -> None:
    with running_bot(settings), stored(settings) as store:
        root = say(people, "@Threadbook how much was sold?")
        eventually(lambda: texts(store) == ["how much was sold?"])
    say(people, "only the north", root)
    web = settings.model_copy(update={"slack_signing_secret": SecretStr("of the app")})
    with running_web_bot(web, "127.0.0.1", 0), stored(settings) as store:
        eventually(lambda: texts(store) == ["how much was sold?", "only the north"])


def test_words_said_after_the_bot_left_are_not_read_however_often_it_starts(
    settings: Settings, people: httpx.Client
) -> None:
    with running_bot(settings), stored(settings) as store:
        thread = say(people, "@Threadbook which region sold best?")
        eventually(lambda: texts(store) == ["which region sold best?"])
        say(people, "leave", thread)
        eventually(lambda: store.stop_asked(f"{TEAM}:{CHANNEL}:{thread}"))
        before = texts(store)
    say(people, "between us: no idea", thread)
    other = say(people, "lunch?")
    say(people, "sure", other)
    with running_bot(settings), stored(settings) as store:
        calls = {"kind": "call", "method": "conversations.replies"}
        eventually(lambda: people.get("/wire", params=calls).json()["entries"], "the look-up")
        assert texts(store) == before


# --- a deaf connection


@pytest.fixture
def proxy(address: Address, monkeypatch: pytest.MonkeyPatch) -> Iterator[MuteProxy]:
    """The Socket Mode connections of the bot go through here."""
    issue = SocketModeClient.issue_new_wss_url
    with mute_proxy(int(urlsplit(address.url).port or 0)) as proxy:

        def through(client: SocketModeClient) -> str:
            url = urlsplit(issue(client))
            return url._replace(netloc=f"127.0.0.1:{proxy.port}").geturl()

        monkeypatch.setattr(SocketModeClient, "issue_new_wss_url", through)
        yield proxy


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the SDK leaves the socket of a failed handshake
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_deaf_bot_says_so_and_hears_again_what_was_said_meanwhile(
    settings: Settings, people: httpx.Client, proxy: MuteProxy
) -> None:
    with ExitStack() as parts:
        port = parts.enter_context(reserved_port())
        watched = settings.model_copy(update={"bot_health_port": port})
        parts.enter_context(running_bot(watched))
        store = parts.enter_context(stored(settings))
        outside = parts.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False))

        def slack_is_up() -> Any:
            try:
                return outside.get("/healthz", timeout=PATIENCE_S).json()["parts"]["slack"]["up"]
            except httpx.TransportError:
                return None

        thread = say(people, "@Threadbook which region sold best?")
        eventually(lambda: texts(store) == ["which region sold best?"])
        eventually(lambda: slack_is_up() is True, "health")
        proxy.mute()
        say(people, "only 2023 please", thread)
        eventually(lambda: slack_is_up() is False, "the truth")
        assert texts(store) == ["which region sold best?"]
        proxy.heal()
        eventually(lambda: len(texts(store)) == 2, "the words of the gap")
        eventually(lambda: slack_is_up() is True, "health again")
        say(people, "thanks", thread)
        eventually(lambda: texts(store)[1:] == ["only 2023 please", "thanks"], "what is said now")
