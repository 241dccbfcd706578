"""HTTP mode: only recently signed requests are accepted, and then it works as Socket Mode does."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import fakeredis
import httpx
import pytest
import structlog
from patience import PATIENCE_S
from rq import Queue
from sqlalchemy.exc import OperationalError

import bot.service
from bot import running_web_bot
from bot.connection.web import MAX_BODY_BYTES
from core.errors import SettingsError
from core.queue import SERIALIZER, SHARED_QUEUE
from core.settings import Settings, load_settings
from core.store import Store, StoreUnreachable
from core.values import Lease
from playground import Address, running

SECRET = "s3cret-of-the-app"
TEAM = "T0PLAYGRND"
CHANNEL = "C0SALES001"


def signature(secret: str, stamp: str, body: bytes) -> str:
    """The signature as Slack documents it, computed without the SDK that checks it."""
    return "v0=" + hmac.new(secret.encode(), b"v0:%s:%s" % (stamp.encode(), body), hashlib.sha256).hexdigest()


class Web:
    """A bot in HTTP mode, and Slack's side of it."""

    def __init__(self, port: int, store: Store, redis: fakeredis.FakeRedis) -> None:
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S)
        self.store = store
        self.redis = redis

    def post(
        self, body: bytes, kind: str = "application/json", *, secret: str = SECRET, age_s: int = 0, **more: str
    ) -> httpx.Response:
        stamp = str(int(time.time()) - age_s)
        signed = {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(secret, stamp, body),
            "Content-Type": kind,
        }
        headers = signed | {name.replace("_", "-"): value for name, value in more.items()}
        return self.http.post("/slack/events", content=body, headers=headers)

    def event(self, event: dict[str, Any], **more: Any) -> httpx.Response:
        outer = {"type": "event_callback", "team_id": TEAM, "event_id": "Ev1", "api_app_id": "A1", "event": event}
        return self.post(json.dumps(outer).encode(), **more)

    def press(self, payload: dict[str, Any], **more: Any) -> httpx.Response:
        form = urlencode({"payload": json.dumps(payload)}).encode()
        return self.post(form, "application/x-www-form-urlencoded", **more)

    def mail(self) -> list[str]:
        threads = self.store.threads_needing_a_wake()
        return [f"{mail.kind}:{mail.text}" for thread in threads for mail in self.store.unread(thread)]


def mentioned(ts: str = "1700000000.000100", text: str = "<@U0THREADBK> how much was sold?") -> dict[str, Any]:
    return {"type": "app_mention", "user": "U0ANA00001", "channel": CHANNEL, "ts": ts, "event_ts": ts, "text": text}


@pytest.fixture
def address() -> Iterator[Address]:
    with running() as started:
        yield started


def settings_for(address: Address, folder: Path, **changes: str) -> Settings:
    environment = {
        "SLACK_API_URL": address.api_url,
        "SLACK_BOT_TOKEN": address.bot_token,
        "SLACK_SIGNING_SECRET": SECRET,
    }
    return load_settings(environment | changes, folder)


@pytest.fixture
def web(address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    settings = settings_for(address, tmp_path)
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        monkeypatch.setattr(bot.service, "connect_redis", lambda url, timeout_s: redis)
        with running_web_bot(settings, "127.0.0.1", 0) as port:
            store = Store(settings.database_url)
            found = Web(port, store, redis)
            yield found
            found.http.close()
            store.close()


def test_a_signed_event_is_stored_wakes_and_is_acked(web: Web) -> None:
    reply = web.event(mentioned())
    assert reply.status_code == 200
    assert web.mail() == ["text:how much was sold?"]
    jobs = Queue(SHARED_QUEUE, connection=web.redis, serializer=SERIALIZER).jobs
    assert [job.args for job in jobs] == [[f"{TEAM}:{CHANNEL}:1700000000.000100"]]


def test_a_delivery_that_slack_repeats_is_the_same_message(web: Web) -> None:
    assert web.event(mentioned()).status_code == 200
    again = web.event(mentioned(), X_Slack_Retry_Num="1", X_Slack_Retry_Reason="http_timeout")
    assert again.status_code == 200
    assert web.mail() == ["text:how much was sold?"]


def test_a_message_that_could_not_be_stored_is_not_acked(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any, **keywords: Any) -> None:
        raise OperationalError("INSERT", {}, Exception("disk full"))

    with monkeypatch.context() as patch:
        patch.setattr(Store, "record_message", failing)
        assert web.event(mentioned()).status_code == 500
    assert web.event(mentioned(), X_Slack_Retry_Num="1").status_code == 200
    assert web.mail() == ["text:how much was sold?"]


def test_a_message_that_the_store_refuses_is_one_line_in_the_log_with_what_to_do(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **keywords: Any) -> None:
        raise StoreUnreachable("DiskFull", "Make room.")

    with monkeypatch.context() as patch, structlog.testing.capture_logs() as lines:
        patch.setattr(Store, "record_message", full)
        assert web.event(mentioned()).status_code == 500
    (line,) = [line for line in lines if line["event"] == "not_acked"]
    assert line["advice"] == "Make room."
    assert "exc_info" not in line


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": "another"},
        {"age_s": 301},
        {"age_s": -400},
        {"X_Slack_Signature": ""},
        {"X_Slack_Signature": "v0=00"},
        {"X_Slack_Request_Timestamp": ""},
        {"X_Slack_Request_Timestamp": "now"},
        {"X_Slack_Request_Timestamp": "-1"},
        {"X_Slack_Request_Timestamp": "9" * 30},
    ],
    ids=str,
)
def test_a_request_without_a_recent_signature_is_refused(web: Web, wrong: dict[str, Any]) -> None:
    assert web.event(mentioned(), **wrong).status_code == 401
    assert web.mail() == []


@pytest.mark.parametrize(
    ("wrong", "fix"), [({"secret": "another"}, "SLACK_SIGNING_SECRET"), ({"age_s": 301}, "set the clock")], ids=str
)
def test_refused_requests_are_told_once_in_a_while_with_what_to_do(web: Web, wrong: dict[str, Any], fix: str) -> None:
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            web.event(mentioned(), **wrong)
    (told,) = [line for line in lines if line["event"] == "request_refused"]
    assert (told["log_level"], fix in told["fix"]) == ("warning", True)


def test_a_signature_that_slack_could_not_have_made_is_refused_and_is_no_error_of_ours(web: Web) -> None:
    stamp = {"X-Slack-Request-Timestamp": str(int(time.time()))}
    signed = {**stamp, "X-Slack-Signature": "v0=é".encode("latin-1"), "Content-Type": "application/json"}
    assert web.http.post("/slack/events", content=b"{}", headers=signed).status_code == 401


def test_a_body_that_was_changed_on_its_way_is_refused(web: Web) -> None:
    stamp = str(int(time.time()))
    signed = signature(SECRET, stamp, b'{"type":"event_callback"}')
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signed, "Content-Type": "application/json"}
    body = json.dumps({"type": "event_callback", "team_id": TEAM, "event": mentioned()})
    assert web.http.post("/slack/events", content=body, headers=headers).status_code == 401
    assert web.mail() == []


def test_slack_can_check_the_address(web: Web) -> None:
    reply = web.post(b'{"type": "url_verification", "challenge": "c-1", "token": "t"}')
    assert reply.status_code == 200
    assert reply.json() == {"challenge": "c-1"}
    assert web.post(b'{"type": "url_verification", "challenge": "c-1"}', secret="another").status_code == 401


@pytest.fixture
def turn_id(web: Web) -> str:
    """A running turn."""
    web.event(mentioned())
    thread = f"{TEAM}:{CHANNEL}:1700000000.000100"
    lease = Lease(thread_id=thread, token=web.store.raise_fence(thread), owner="w")
    turn = web.store.open_turn(lease, "en", "offline")
    web.store.take_mail(lease, turn.id, [mail.id for mail in web.store.unread(thread)], [])
    return turn.id


def pressed(turn_id: str) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "team": {"id": TEAM, "domain": "playground"},
        "user": {"id": "U0BEN00001", "team_id": TEAM},
        "container": {"type": "message", "channel_id": CHANNEL, "message_ts": "1700000001.000100"},
        "actions": [{"action_id": "stop", "block_id": "b", "type": "button", "value": turn_id}],
    }


def test_a_press_comes_as_a_form_and_counts(web: Web, turn_id: str) -> None:
    assert web.press(pressed(turn_id)).status_code == 200
    assert web.mail() == ["stop:"]


def test_an_unsigned_press_does_nothing(web: Web, turn_id: str) -> None:
    assert web.press(pressed(turn_id), secret="another").status_code == 401
    assert web.mail() == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff\xfe", b'"text"', b"null"], ids=repr)
def test_a_malformed_body_breaks_nothing(web: Web, body: bytes) -> None:
    assert web.post(body).status_code in (200, 400, 401)
    assert web.event(mentioned()).status_code == 200


def test_a_body_that_is_too_long_is_not_read_to_its_end(web: Web) -> None:
    assert web.post(b" " * (MAX_BODY_BYTES + 1)).status_code == 413


def test_other_addresses_and_methods_are_not_served(web: Web) -> None:
    assert web.http.post("/").status_code == 404
    assert web.http.get("/slack/events").status_code == 405
    assert web.http.get("/slack/install").status_code == 404, "there is one workspace"
    assert web.http.get("/slack/oauth_redirect").status_code == 404


def test_without_its_secret_http_mode_does_not_start(address: Address, tmp_path: Path) -> None:
    settings = settings_for(address, tmp_path, SLACK_SIGNING_SECRET="")
    with pytest.raises(SettingsError, match="SLACK_SIGNING_SECRET"), running_web_bot(settings, "127.0.0.1", 0):
        pytest.fail("must not start")


def test_a_port_that_is_taken_is_named(web: Web, address: Address, tmp_path: Path) -> None:
    port = web.http.base_url.port or 0
    settings = settings_for(address, tmp_path)
    with pytest.raises(SettingsError, match=str(port)), running_web_bot(settings, "127.0.0.1", port):
        pytest.fail("must not start")
