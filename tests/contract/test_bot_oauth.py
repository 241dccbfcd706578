"""Many workspaces over HTTP: the doors of OAuth, on the playground's consent page, with Bolt's own flow."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import fakeredis
import httpx
import pytest
from cryptography.fernet import Fernet
from patience import PATIENCE_S, eventually
from sqlalchemy import text as sql
from test_bot_web import signature

import bot.service
from bot import running_bot, running_web_bot
from bot.connection.oauth import SLACK_CONSENT, consent_address, scopes
from core.errors import SettingsError
from core.installations.tokens import NotInstalled, opened_tokens
from core.settings import Settings, load_settings
from core.store import Store, StoreUnreachable
from core.values import IncomingMessage, Lease, ThreadKey
from playground import Address, Options, running

TEAM, CHANNEL = "T0PLAYGRND", "C0SALES001"
CLIENT, SECRET = "123.456", "client-secret-of-the-app"
SIGNING = "signing-secret-of-the-app"
KEY = Fernet.generate_key().decode()


class Place:
    """A playground and a bot in HTTP mode that know each other, and a person's browser."""

    def __init__(self, slack: Address, port: int, settings: Settings) -> None:
        self.slack = slack
        self.settings = settings
        self.url = f"http://127.0.0.1:{port}"
        self.store = Store(settings.database_url)
        self.browser = httpx.Client(trust_env=False, timeout=PATIENCE_S)
        self.control("options", request_url=f"{self.url}/slack/events", redirect_url=f"{self.url}/slack/oauth_redirect")

    def close(self) -> None:
        self.browser.close()
        self.store.close()

    def control(self, door: str, **given: Any) -> dict[str, Any]:
        reply = self.browser.post(f"{self.slack.url}/control/{door}", json=given)
        found: dict[str, Any] = reply.raise_for_status().json()
        return found

    def begin(self) -> tuple[str, str]:
        """The consent page's address and the cookie of the browser that began."""
        page = self.browser.get(f"{self.url}/slack/install")
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        (address,) = re.findall(r'href="([^"]+/oauth/v2/authorize[^"]*)"', page.text)
        return address.replace("&amp;", "&"), page.headers["set-cookie"].partition(";")[0]

    def consent(self, address: str, answer: str = "allow") -> str:
        """Answer the consent page; returns where it leads."""
        assert "would like to be installed" in self.browser.get(address).text
        reply = self.browser.post(address, data={"answer": answer})
        assert reply.status_code == 302
        return str(reply.headers["location"])

    def finish(self, back: str, cookie: str) -> httpx.Response:
        self.browser.cookies.clear()
        return self.browser.get(back, headers={"Cookie": cookie})

    def install(self) -> httpx.Response:
        address, cookie = self.begin()
        return self.finish(self.consent(address), cookie)

    def token(self) -> str:
        """The token as a process that has just started reads it."""
        return opened_tokens(self.settings, self.store).token_of(TEAM)

    def is_gone(self) -> bool:
        try:
            self.token()
        except NotInstalled:
            return True
        return False

    def left(self) -> int:
        """How often an uninstallation was carried out: its token is gone, and that is noted."""
        return [line.action for line in self.store.audit_lines()].count("uninstall")

    def mail(self) -> list[str]:
        threads = self.store.threads_needing_a_wake()
        return [f"{mail.kind}:{mail.text}" for thread in threads for mail in self.store.unread(thread)]

    def say(self, text: str) -> str:
        return str(self.control("messages", channel=CHANNEL, text=text)["message"]["ts"])


def settings_for(slack: Address, folder: Path, **changes: str) -> Settings:
    environment = {
        "SLACK_API_URL": slack.api_url,
        "SLACK_CLIENT_ID": CLIENT,
        "SLACK_CLIENT_SECRET": SECRET,
        "SLACK_SIGNING_SECRET": SIGNING,
        "THREADBOOK_TOKEN_KEYS": KEY,
    }
    return load_settings(environment | changes, folder)


@pytest.fixture
def slack() -> Iterator[Address]:
    options = Options(client_id=CLIENT, client_secret=SECRET, signing_secret=SIGNING, retry_delays_s=(0.0,))
    with running(options=options) as started:
        yield started


@pytest.fixture
def place(slack: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    settings = settings_for(slack, tmp_path)
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        monkeypatch.setattr(bot.service, "connect_redis", lambda url, timeout_s: redis)
        with running_web_bot(settings, "127.0.0.1", 0) as port:
            found = Place(slack, port, settings)
            yield found
            found.close()


# --- installing


def test_a_workspace_installs_the_app_and_is_listened_to(place: Place) -> None:
    place.say("<@U0THREADBK> before")
    done = place.install()
    assert done.status_code == 200
    assert "Thank you" in done.text
    assert place.token().startswith("xoxb-")
    place.say("<@U0THREADBK> how much was sold?")
    eventually(lambda: "text:how much was sold?" in place.mail())
    assert "text:before" not in place.mail(), "nobody had installed it"
    assert [(line.action, line.resource) for line in place.store.audit_lines()] == [("install", TEAM)]


def test_the_token_stands_nowhere_in_the_database_or_the_page(place: Place, tmp_path: Path) -> None:
    done = place.install()
    token = place.token()
    with place.store._reading() as db:
        rows = [str(tuple(row)) for row in db.execute(sql("SELECT * FROM installations"))]
    assert len(rows) == 1
    assert token not in rows[0]
    assert token not in done.text
    wire = json.dumps(place.browser.get(f"{place.slack.url}/control/wire").json())
    assert token not in wire
    assert SECRET not in wire


def test_the_consent_page_asks_for_the_scopes_of_the_manifest(place: Place) -> None:
    address, _ = place.begin()
    given = parse_qs(urlsplit(address).query)
    assert given["scope"] == [",".join(scopes())]
    assert given["client_id"] == [CLIENT]
    assert "user_scope" not in given, "no token of a person is asked for"


def test_whoever_cancels_has_installed_nothing(place: Place) -> None:
    address, cookie = place.begin()
    back = place.consent(address, "cancel")
    assert "access_denied" in back
    place.finish(back, cookie)
    assert place.is_gone()


def test_a_state_counts_once(place: Place) -> None:
    address, cookie = place.begin()
    back = place.consent(address)
    assert place.finish(back, cookie).status_code == 200
    assert place.finish(back, cookie).status_code == 401
    again = place.consent(address)
    assert place.finish(again, cookie).status_code == 401, "a new code with the state of before"


def test_a_state_of_another_browser_is_refused(place: Place) -> None:
    address, _ = place.begin()
    _, cookie = place.begin()
    back = place.consent(address)
    assert place.finish(back, cookie).status_code == 400
    assert place.finish(back, "").status_code == 400
    assert place.is_gone()


@pytest.mark.parametrize("change", ["state=", "state=made-up", "code=", "code=made-up"])
def test_a_made_up_address_installs_nothing(place: Place, change: str) -> None:
    address, cookie = place.begin()
    name, _, value = change.partition("=")
    back = re.sub(rf"{name}=[^&]*", f"{name}={value}", place.consent(address))
    if name == "state":
        cookie = f"slack-app-oauth-state={value}"
    assert place.finish(back, cookie).status_code in (400, 401, 503)
    assert place.is_gone()


def test_an_expired_state_is_refused(place: Place) -> None:
    address, cookie = place.begin()
    with place.store._writing() as db:
        db.execute(sql("UPDATE oauth_states SET expires_at = '2020-01-01 00:00:00.000000'"))
    assert place.finish(place.consent(address), cookie).status_code == 401
    assert place.is_gone()


def test_while_the_store_is_away_a_person_gets_a_sentence_and_may_try_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnreachable("away")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "issue_state", away)
        reply = place.browser.get(f"{place.url}/slack/install")
    assert reply.status_code == 503
    assert "try again" in reply.text
    assert place.install().status_code == 200


# --- leaving


def waiting_turn(place: Place) -> str:
    """A thread whose turn waits for a person."""
    key = ThreadKey(TEAM, CHANNEL, "1700000000.000100")
    message = IncomingMessage(
        team=TEAM, channel=CHANNEL, channel_type="channel", ts=key.root_ts, root_ts=key.root_ts, user="U1", text="?"
    )
    place.store.record_message(message)
    lease = Lease(thread_id=key.id, token=place.store.raise_fence(key.id), owner="w")
    turn = place.store.open_turn(lease, "en", "offline")
    place.store.take_mail(lease, turn.id, [mail.id for mail in place.store.unread(key.id)], [])
    place.store.set_turn_status(lease, turn.id, "waiting")
    return key.id


def test_a_workspace_that_uninstalls_has_no_token_and_what_waits_is_woken(place: Place) -> None:
    place.install()
    token = place.token()
    thread = waiting_turn(place)
    place.control("uninstall")
    eventually(place.is_gone)
    eventually(lambda: [mail.kind for mail in place.store.unread(thread)][:1] == ["stop"])
    assert {mail.kind for mail in place.store.unread(thread)} == {"stop"}
    reply = place.browser.post(f"{place.slack.api_url}auth.test", headers={"Authorization": f"Bearer {token}"})
    assert reply.json()["error"] == "token_revoked"
    assert "uninstall" in [line.action for line in place.store.audit_lines()]


def test_after_it_left_nothing_of_it_is_taken_in_until_it_comes_back(place: Place) -> None:
    place.install()
    place.control("uninstall")
    eventually(lambda: place.left() > 0)
    signed(place, said("are you there?", "1700000001.000100"))
    place.install()
    signed(place, said("and now?", "1700000002.000100"))
    eventually(lambda: place.mail() == ["text:and now?"])


def signed(place: Place, body: dict[str, Any]) -> httpx.Response:
    raw, stamp = json.dumps(body).encode(), str(int(time.time()))
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature(SIGNING, stamp, raw)}
    return place.browser.post(
        f"{place.url}/slack/events", content=raw, headers={**headers, "Content-Type": "application/json"}
    )


def said(text: str, ts: str) -> dict[str, Any]:
    event = {"type": "app_mention", "channel": CHANNEL, "user": "U0ANA00001", "ts": ts, "event_ts": ts}
    return ended(event | {"text": f"<@U0THREADBK> {text}"}, int(ts.partition(".")[0]))


def ended(event: dict[str, Any], at: int, **more: Any) -> dict[str, Any]:
    return {"type": "event_callback", "team_id": TEAM, "event_id": "Ev9", "event_time": at, "event": event, **more}


def test_a_late_repetition_of_an_uninstallation_leaves_the_newer_installation(place: Place) -> None:
    place.install()
    assert signed(place, ended({"type": "app_uninstalled"}, 1_700_000_000)).status_code == 200
    assert not place.is_gone()


def test_tokens_of_people_that_are_revoked_change_nothing(place: Place) -> None:
    place.install()
    event = {"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}}
    assert signed(place, ended(event, 4_000_000_000)).status_code == 200
    assert not place.is_gone()


def test_a_revoked_bot_token_is_deleted(place: Place) -> None:
    place.install()
    event = {"type": "tokens_revoked", "tokens": {"bot": ["U0THREADBK"]}}
    assert signed(place, ended(event, 4_000_000_000)).status_code == 200
    assert place.is_gone()


def test_another_workspace_that_leaves_takes_nobody_along(place: Place) -> None:
    place.install()
    event = ended({"type": "app_uninstalled"}, 4_000_000_000)
    assert signed(place, event | {"team_id": "T0OTHER"}).status_code == 200
    assert not place.is_gone()


def test_an_unsigned_uninstallation_is_refused(place: Place) -> None:
    place.install()
    body = ended({"type": "app_uninstalled"}, 4_000_000_000)
    assert place.browser.post(f"{place.url}/slack/events", json=body).status_code == 401
    assert not place.is_gone()


def test_an_event_of_a_workspace_that_did_not_install_is_acknowledged_and_left_alone(place: Place) -> None:
    place.install()
    event = {"type": "app_mention", "user": "U1", "channel": CHANNEL, "ts": "1.000100", "text": "hello"}
    assert signed(place, ended(event, 1_700_000_000) | {"team_id": "T0OTHER"}).status_code == 200
    assert place.mail() == []


# --- tokens that end


def test_a_token_that_rotates_is_exchanged_before_it_ends(place: Place) -> None:
    place.control("options", rotates_tokens=True)
    place.install()
    first = place.token()
    with place.store._writing() as db:
        db.execute(sql("UPDATE installations SET expires_at = '2020-01-01 00:00:00.000000'"))
    second = place.token()
    assert first.startswith("xoxe.xoxb-1-")
    assert second != first
    assert place.token() == second
    place.say("<@U0THREADBK> how much was sold?")
    eventually(lambda: "text:how much was sold?" in place.mail())


# --- starting


def test_socket_mode_says_that_oauth_needs_http(slack: Address, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="needs HTTP mode"), running_bot(settings_for(slack, tmp_path)):
        pytest.fail("must not start")


@pytest.mark.parametrize("missing", ["SLACK_SIGNING_SECRET", "SLACK_CLIENT_SECRET", "THREADBOOK_TOKEN_KEYS"])
def test_a_secret_that_is_missing_is_named(slack: Address, tmp_path: Path, missing: str) -> None:
    settings = settings_for(slack, tmp_path, **{missing: ""})
    with pytest.raises(SettingsError, match=missing), running_web_bot(settings, "127.0.0.1", 0):
        pytest.fail("must not start")


def test_a_token_beside_oauth_is_refused(slack: Address, tmp_path: Path) -> None:
    settings = settings_for(slack, tmp_path, SLACK_BOT_TOKEN="xoxb-1")
    with pytest.raises(SettingsError, match="unset SLACK_BOT_TOKEN"), running_web_bot(settings, "127.0.0.1", 0):
        pytest.fail("must not start")


def test_people_consent_at_slack_itself(tmp_path: Path) -> None:
    assert consent_address(load_settings({}, tmp_path)) == SLACK_CONSENT
    behind = load_settings({"SLACK_API_URL": "https://proxy.example/slack/"}, tmp_path)
    assert consent_address(behind) == SLACK_CONSENT
