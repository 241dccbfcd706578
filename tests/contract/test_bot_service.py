"""The bot as a process: its messages when it cannot start, and how it stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import PATIENCE_S, eventually, reserved_port
from slack_bolt import BoltRequest
from slack_sdk.socket_mode.builtin import SocketModeClient

from bot import running_bot
from bot.connection.catch_up import CatchUp
from core.errors import SettingsError
from core.settings import Settings, load_settings
from playground import Address, running

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address() -> Iterator[Address]:
    with running() as started:
        yield started


def settings_for(folder: Path, api_url: str, **changes: str) -> Settings:
    environment = {"SLACK_API_URL": api_url, "SLACK_BOT_TOKEN": "xoxb-playground", "SLACK_APP_TOKEN": "xapp-playground"}
    environment["REDIS_URL"] = "redis://127.0.0.1:1"  # nobody listens there: the machine's own Redis is not ours
    return load_settings(environment | changes, folder)


@pytest.mark.parametrize("missing", ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"])
def test_a_missing_token_is_named_and_nothing_starts(tmp_path: Path, missing: str) -> None:
    settings = settings_for(tmp_path, "http://127.0.0.1:9/api/", **{missing: ""})
    with pytest.raises(SettingsError, match=missing), running_bot(settings):
        pytest.fail("must not start")


def test_a_refused_token_is_named_without_showing_it(tmp_path: Path, address: Address) -> None:
    settings = settings_for(tmp_path, address.api_url, SLACK_BOT_TOKEN="xoxb-wrong-token")
    with pytest.raises(SettingsError, match=r"SLACK_BOT_TOKEN.*invalid_auth") as caught, running_bot(settings):
        pytest.fail("must not start")
    assert "xoxb-wrong-token" not in str(caught.value)


def test_variables_that_would_make_bolt_forget_the_token_are_refused(
    tmp_path: Path, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_CLIENT_ID", "1.2")
    monkeypatch.setenv("SLACK_CLIENT_SECRET", "secret")
    with (
        pytest.raises(SettingsError, match="SLACK_CLIENT_ID"),
        running_bot(settings_for(tmp_path, address.api_url)),
    ):
        pytest.fail("must not start")


@pytest.mark.parametrize(
    "body",
    [
        {"type": "event_callback", "event": {"type": "agent_session_stopped", "channel": "C0SALES001", "user": "U1"}},
        {"type": "event_callback", "event": {"type": "member_joined_channel", "channel": "C0SALES001", "user": "U1"}},
        {"type": "event_callback", "event": {"type": "reaction_added", "user": "U1", "reaction": "eyes"}},
        {"type": "event_callback", "event": {"type": "message", "subtype": "message_deleted", "channel": "C0SALES001"}},
        {"type": "event_callback", "event": {"type": "something_of_next_year"}},
        {"type": "app_rate_limited", "minute_rate_limited": 1},
        {"type": "block_actions", "actions": [{"type": "button", "action_id": "other", "block_id": "b"}]},
        {"type": "block_actions", "actions": [{"type": "button", "action_id": "answer:0", "block_id": "b"}]},
        {"type": "view_submission", "view": {"type": "modal", "callback_id": "other", "state": {"values": {}}}},
        {"type": "message_action", "callback_id": "other"},
        {"type": "shortcut", "callback_id": "other"},
        {"command": "/other", "text": ""},
    ],
    ids=str,
)
def test_whatever_slack_sends_is_acked(tmp_path: Path, address: Address, body: dict[str, Any]) -> None:
    envelope = {"team_id": "T0PLAYGRND", "team": {"id": "T0PLAYGRND"}, "user": {"id": "U0ANA00001"}}
    with running_bot(settings_for(tmp_path, address.api_url)) as app:
        assert app.dispatch(BoltRequest(body=envelope | body, mode="socket_mode")).status == 200


def test_a_bot_hears_that_slack_drops_events(tmp_path: Path, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[tuple[str, float]] = []
    monkeypatch.setattr(CatchUp, "note_dropped", lambda _, team, since: noted.append((team, since)))
    minute = int(time.time()) // 60 * 60
    with running_bot(settings_for(tmp_path, address.api_url)) as app:
        for said in (minute, 1, 1e300, "now", True, None, minute + 10_000):
            body = {"type": "app_rate_limited", "team_id": "T0PLAYGRND", "minute_rate_limited": said}
            assert app.dispatch(BoltRequest(body=body, mode="socket_mode")).status == 200
    assert noted[0] == ("T0PLAYGRND", minute)
    assert {team for team, _ in noted} == {"T0PLAYGRND"}
    assert all(minute - 120 <= since <= time.time() for _, since in noted)
    assert len(noted) == 7


def test_the_bot_waits_for_a_slack_that_starts_later(tmp_path: Path) -> None:
    listening, leave = threading.Event(), threading.Event()

    def run(api_url: str) -> None:
        with running_bot(settings_for(tmp_path, api_url)):
            listening.set()
            leave.wait(PATIENCE_S)

    with reserved_port() as port, ThreadPoolExecutor(1) as pool:
        bot = pool.submit(run, f"http://127.0.0.1:{port}/api/")
        assert not listening.wait(1.0)
        with running(port=port):
            assert listening.wait(PATIENCE_S)
            leave.set()
            bot.result(PATIENCE_S)


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
@pytest.mark.parametrize(
    "trouble",
    [
        {"kind": "http_error", "status": 503},
        {"kind": "error", "error": "internal_error"},
        {"kind": "ratelimited", "retry_after": 1},
        {"kind": "drop_call"},
        {"kind": "drop_reply"},
    ],
    ids=lambda trouble: str(trouble["kind"]),
)
def test_the_bot_waits_for_a_slack_that_has_a_bad_moment(
    tmp_path: Path, address: Address, method: str, trouble: dict[str, Any]
) -> None:
    order = {"method": method, "times": 2, **trouble}
    httpx.post(f"{address.url}/control/faults", json=order, trust_env=False).raise_for_status()
    with running_bot(settings_for(tmp_path, address.api_url)):
        connections = httpx.get(f"{address.url}/control/connections", trust_env=False).json()["connections"]
        assert len(connections) == 1


def test_a_refused_app_token_is_named_without_showing_it(tmp_path: Path, address: Address) -> None:
    settings = settings_for(tmp_path, address.api_url, SLACK_APP_TOKEN="xapp-wrong-token")
    with pytest.raises(SettingsError, match=r"SLACK_APP_TOKEN.*invalid_auth") as caught, running_bot(settings):
        pytest.fail("must not start")
    assert "xapp-wrong-token" not in str(caught.value)


def test_the_bot_ends_even_when_its_connection_starts_at_that_moment(
    tmp_path: Path, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK's reader finds its session alive, is delayed, and then sets `terminated` back."""
    begun = threading.Event()

    def late(client: SocketModeClient) -> None:
        session = client.current_session
        if session is None or not session.is_active():
            return
        begun.set()
        eventually(lambda: client.current_session_state.terminated, "the end of the session")
        client.current_session_state.terminated = False
        session.run_until_completion(client.current_session_state)

    monkeypatch.setattr(SocketModeClient, "_run_current_session", late)
    with running_bot(settings_for(tmp_path, address.api_url)):
        assert begun.wait(PATIENCE_S)


def test_a_failed_first_handshake_is_repeated(
    tmp_path: Path, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK only logs the failure; without a retry the bot would get no events until the SDK's next check."""
    connect, connections = SocketModeClient.connect, list[SocketModeClient]()

    def failing_once(client: SocketModeClient) -> None:
        connections.append(client)
        if len(connections) > 1:
            connect(client)

    monkeypatch.setattr(SocketModeClient, "connect", failing_once)
    with running_bot(settings_for(tmp_path, address.api_url)):
        assert connections[0].is_connected()
    assert len(connections) == 2


@pytest.mark.parametrize("numbers", [[signal.SIGTERM], [signal.SIGINT], [signal.SIGINT, signal.SIGINT]])
def test_a_signal_ends_the_process_cleanly(tmp_path: Path, address: Address, numbers: list[signal.Signals]) -> None:
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "SLACK_API_URL": address.api_url,
        "SLACK_BOT_TOKEN": address.bot_token,
        "SLACK_APP_TOKEN": address.app_token,
    }
    program = "import bot; from core.settings import load_settings; bot.main(load_settings())"

    def connections() -> list[int]:
        held: list[int] = httpx.get(f"{address.url}/control/connections", trust_env=False, timeout=PATIENCE_S).json()[
            "connections"
        ]
        return held

    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            errors = ""
            for line in process.stderr:  # it ends with the process, too
                errors += line
                if "bot_listens" in line:
                    break
            eventually(connections, "the bot's connection")
            for number in numbers:
                process.send_signal(number)
            errors += process.stderr.read()
            process.wait(PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert "bot_listens" in errors
    assert "bot_stopped" in errors
    assert "Traceback" not in errors
    assert address.bot_token not in errors
    eventually(lambda: not connections(), "the end of the connection")
